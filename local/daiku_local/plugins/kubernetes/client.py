"""The API server as this plugin needs it: any kind of object, by four verbs, over raw JSON.

`kubernetes` reads the kubeconfig and holds the connections; its models are not used, since an
object here may be of any kind.
"""

# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false
# pyright: reportUnknownArgumentType=false

import ipaddress
import json
import os
import threading
import urllib.parse
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import kubernetes.config
import urllib3
import yaml

from daiku_local.plugins.errors import ProviderError
from daiku_local.plugins.values import Plain

APPLY = "application/apply-patch+yaml"
REQUEST_SECONDS = 30.0


class UnreachableError(ProviderError):
    """Nothing answers at the API server's address."""


class ApiError(ProviderError):
    """The API server said no."""

    def __init__(self, status: int, body: Plain) -> None:
        self.status = status
        self.body = body
        self.reason = str(body.get("reason") or status)
        super().__init__(self._sentence())

    def _sentence(self) -> str:
        message = str(self.body.get("message") or self.reason)
        causes = (self.body.get("details") or {}).get("causes") or ()
        lines = [
            f"{cause.get('field') or '(object)'}: {cause.get('message') or cause.get('reason')}"
            for cause in causes
        ]
        fresh = [line for line in lines if line.split(": ", 1)[1] not in message]
        return "\n  ".join([f"{self.reason}: {message}", *fresh])


@dataclass(frozen=True, slots=True, kw_only=True)
class Resource:
    """How the API server names a kind."""

    path: str
    """Beginning of its URLs, such as "/apis/apps/v1"."""
    plural: str
    """Its name there, such as "deployments"."""
    namespaced: bool
    """Its objects live in namespaces."""

    def url(self, namespace: str | None, name: str) -> str:
        """Give the path of one object."""
        where = f"/namespaces/{namespace}" if self.namespaced else ""
        return f"{self.path}{where}/{self.plural}/{urllib.parse.quote(name)}"


def _parse(kubeconfig: str | None) -> Plain:
    """Give the kubeconfig as an object: given as text, as a path, or found as kubectl finds it."""
    text = kubeconfig
    if not text:
        first = os.environ.get("KUBECONFIG", "").split(os.pathsep)[0]
        text = first or str(Path.home() / ".kube" / "config")
    if "\n" not in text and not text.lstrip().startswith("{"):
        try:
            text = Path(text).expanduser().read_text()
        except OSError as error:
            raise ProviderError(
                f"no kubeconfig was given to the kubernetes provider, and {text!r} cannot be read "
                f"({error.strerror}): run the command through `daiku local exec -- …`"
            ) from error
    parsed = yaml.safe_load(text)
    if not isinstance(parsed, dict) or "clusters" not in parsed:
        raise ProviderError("the kubeconfig of the kubernetes provider has no `clusters`")
    return parsed


class Client:
    """One API server, as one user."""

    def __init__(self, kubeconfig: str | None, context: str | None = None) -> None:
        parsed = _parse(kubeconfig)
        try:
            api: Any = kubernetes.config.new_client_from_config_dict(parsed, context=context)
        except kubernetes.config.ConfigException as error:
            raise ProviderError(f"the kubeconfig cannot be used: {error}") from error
        self._configuration: Any = api.configuration
        self._pool: urllib3.PoolManager = api.rest_client.pool_manager
        self.host = str(self._configuration.host)
        self.namespace = _namespace_of(parsed, context)
        self._kinds: dict[str, dict[str, Resource]] = {}
        self._lock = threading.Lock()
        _refuse_distant(self.host)

    def call(
        self,
        method: str,
        path: str,
        *,
        query: dict[str, str] | None = None,
        body: Plain | None = None,
        content_type: str = "application/json",
    ) -> Plain:
        """Do one request; give its answer.

        Raises:
            ApiError: The answer was no.
            UnreachableError: There was no answer.
        """
        url = self.host + path + (f"?{urllib.parse.urlencode(query)}" if query else "")
        headers = {"Accept": "application/json", "Content-Type": content_type}
        if token := self._configuration.get_api_key_with_prefix("authorization"):
            headers["Authorization"] = token
        try:
            response = self._pool.request(
                method,
                url,
                body=None if body is None else json.dumps(body),
                headers=headers,
                timeout=REQUEST_SECONDS,
                retries=urllib3.Retry(2, status=3, status_forcelist=(429,), redirect=False),
            )
        except urllib3.exceptions.HTTPError as error:
            raise UnreachableError(
                f"the Kubernetes API server {self.host} cannot be reached ({error}): "
                f"`daiku local status` tells whether the laptop world is up"
            ) from error
        try:
            answer = json.loads(response.data or b"{}")
        except ValueError:
            answer = {"message": response.data.decode(errors="replace")}
        if response.status >= 400:
            raise ApiError(response.status, answer)
        return answer

    def resource(self, api_version: str, kind: str) -> Resource | None:
        """Give how the server names a kind, None if it does not know it (yet)."""
        known = self._kinds.get(api_version, {})
        if kind not in known:
            # A CustomResourceDefinition may have come since the last look.
            known = self._discover(api_version)
            with self._lock:
                self._kinds[api_version] = known
        return known.get(kind)

    def _discover(self, api_version: str) -> dict[str, Resource]:
        path = f"/apis/{api_version}" if "/" in api_version else f"/api/{api_version}"
        try:
            listed = self.call("GET", path)
        except ApiError as error:
            if error.status == 404:
                return {}
            raise
        return {
            item["kind"]: Resource(path=path, plural=item["name"], namespaced=item["namespaced"])
            for item in listed["resources"]
            if "/" not in item["name"]
        }

    def get(self, path: str) -> Plain | None:
        """Give the object at `path`, None if there is none."""
        try:
            return self.call("GET", path)
        except ApiError as error:
            if error.status == 404:
                return None
            raise

    def apply(
        self, path: str, body: Plain, *, manager: str, force: bool, dry_run: bool = False
    ) -> Plain:
        """Apply `body` to the object at `path` as field manager `manager`; give the object.

        Raises:
            ApiError: Among others status 409, when another manager holds a field and not `force`.
        """
        query = {"fieldManager": manager, "force": str(force).lower(), "fieldValidation": "Strict"}
        if dry_run:
            query["dryRun"] = "All"
        return self.call("PATCH", path, query=query, body=body, content_type=APPLY)


def _namespace_of(kubeconfig: Plain, context: str | None) -> str:
    wanted = context or kubeconfig.get("current-context")
    for item in kubeconfig.get("contexts") or ():
        if item.get("name") == wanted:
            return str((item.get("context") or {}).get("namespace") or "default")
    return "default"


def _refuse_distant(host: str) -> None:
    name = urllib.parse.urlsplit(host).hostname or ""
    try:
        local = name == "localhost" or ipaddress.ip_address(name).is_loopback
    except ValueError:
        local = False
    if not local:
        raise ProviderError(
            f"this `pulumi-resource-kubernetes` is Daiku's stand-in for the laptop world and speaks "
            f"to this machine only, but the kubeconfig names {host}: for a real cluster run "
            f"the command outside of `daiku local exec`, with local/bin on no PATH"
        )
