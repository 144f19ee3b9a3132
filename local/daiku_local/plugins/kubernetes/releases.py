"""Helm releases of the stand-in for `kubernetes`: judged and recorded as Helm does, and not rendered.

Charts lie where a laptop world does not reach, so what a release would install is not there. Its record is: the
Secret that Helm keeps per release and revision. What can be known without the chart is checked: names, where it
comes from, the namespace, and that no other release has the name. Everything else goes to the provider of objects.
"""

import base64
import json
import re
from collections.abc import Iterator
from typing import Any, Final

from daiku_local.plugins import sdk, values
from daiku_local.plugins.errors import Failure, ProviderError
from daiku_local.plugins.kubernetes.client import ApiError, Client, UnreachableError
from daiku_local.plugins.kubernetes.provider import KubernetesProvider
from daiku_local.plugins.servicer import Difference, Subject
from daiku_local.plugins.values import UNKNOWN, Plain

RELEASE: Final = "kubernetes:helm.sh/v3:Release"
_FIXED: Final = frozenset({"name", "namespace"})
_NAME: Final = re.compile(r"[a-z0-9]([-a-z0-9]{0,51}[a-z0-9])?")
_VERSION: Final = re.compile(r"v?\d+\.\d+\.\d+([-+].+)?")
_MANAGER: Final = "helm"


class WithReleases(KubernetesProvider):
    """Serves objects and, beside them, releases."""

    def check(
        self, subject: Subject, old: Plain, new: Plain, seed: bytes
    ) -> tuple[Plain, list[Failure]]:
        """Fill in name and namespace of a release, and judge it."""
        if subject.type != RELEASE:
            return super().check(subject, old, new, seed)
        shape = sdk.shape_in("kubernetes", "helm/v3/Release.py", "ReleaseArgs")
        inputs = {key: value for key, value in new.items() if value is not None}
        # What the SDK sends with every release.
        inputs = {key: value for key, value in inputs.items() if key != "compat"}
        inputs.setdefault("name", old.get("name") or f"{subject.name}-{seed.hex()[:8]}")
        inputs.setdefault("namespace", self.namespace)
        return inputs, [*sdk.check("kubernetes", shape, inputs), *_failures(inputs)]

    def diff(self, subject: Subject, *, old: Plain, new: Plain, state: Plain) -> Difference:
        """Another name or namespace is another release."""
        if subject.type != RELEASE:
            return super().diff(subject, old=old, new=new, state=state)
        paths = dict(values.changes(old, new))
        return Difference(paths=paths, replaces=frozenset(paths) & _FIXED, delete_first=True)

    def preview_create(self, subject: Subject, inputs: Plain) -> Plain:
        """Give the inputs; what a release installs is known after."""
        if subject.type != RELEASE:
            return super().preview_create(subject, inputs)
        return {**inputs, "status": UNKNOWN, "resourceNames": UNKNOWN}

    def create(self, subject: Subject, inputs: Plain, timeout: float) -> tuple[str, Plain]:
        """Record its first revision."""
        if subject.type != RELEASE:
            return super().create(subject, inputs, timeout)
        client = self.client()
        try:
            if client.get(_place(inputs, 1)) is not None:
                raise ProviderError(
                    f"creating {subject}: cannot re-use a name that is still in use: "
                    f"{inputs['namespace']}/{inputs['name']}"
                )
            if inputs.get("createNamespace"):
                _make_namespace(client, inputs["namespace"])
            return _identifier(inputs), _record(client, inputs, 1)
        except ApiError as error:
            raise ProviderError(f"creating {subject}: {error}") from error

    def read(
        self, subject: Subject, identifier: str, inputs: Plain, state: Plain
    ) -> tuple[Plain, Plain] | None:
        """Look whether its record is there."""
        if subject.type != RELEASE:
            return super().read(subject, identifier, inputs, state)
        found = self.client().get(_place(inputs or state, _revision(state)))
        return None if found is None else (inputs, state)

    def preview_update(self, subject: Subject, *, old: Plain, new: Plain, state: Plain) -> Plain:
        """Give the inputs; what changes in the cluster is known after."""
        if subject.type != RELEASE:
            return super().preview_update(subject, old=old, new=new, state=state)
        return self.preview_create(subject, new)

    def update(
        self,
        subject: Subject,
        identifier: str,
        *,
        old: Plain,
        new: Plain,
        state: Plain,
        timeout: float,
    ) -> Plain:
        """Record the next revision."""
        if subject.type != RELEASE:
            return super().update(
                subject, identifier, old=old, new=new, state=state, timeout=timeout
            )
        try:
            return _record(self.client(), new, _revision(state) + 1)
        except ApiError as error:
            raise ProviderError(f"updating {subject}: {error}") from error

    def delete(self, subject: Subject, identifier: str, state: Plain, timeout: float) -> None:
        """Remove every revision; the namespace stays, as it does with Helm."""
        if subject.type != RELEASE:
            super().delete(subject, identifier, state, timeout)
            return
        try:
            for revision in range(1, _revision(state) + 1):
                if self.client().get(_place(state, revision)) is not None:
                    self.client().call("DELETE", _place(state, revision))
        except UnreachableError:
            if not self.may_forget:
                raise


def _failures(inputs: Plain) -> Iterator[Failure]:
    """Say what Helm would refuse in what is known of the inputs."""
    name, version = inputs["name"], inputs.get("version")
    place: Plain = inputs.get("repositoryOpts") or {}
    repository = place.get("repo")
    if name is not UNKNOWN and not _NAME.fullmatch(str(name)):
        reason = f"{name!r} is no name of a release: up to 53 of a-z, 0-9 and -"
        yield Failure(path="name", reason=reason)
    if isinstance(version, str) and not _VERSION.fullmatch(version):
        yield Failure(path="version", reason=f"{version!r} is no version such as 1.2.3")
    if isinstance(repository, str) and not repository.startswith(("https://", "http://")):
        yield Failure(
            path="repositoryOpts.repo", reason=f"{repository!r} is no URL of a repository"
        )


def _identifier(inputs: Plain) -> str:
    return f"{inputs['namespace']}/{inputs['name']}"


def _revision(state: Plain) -> int:
    status: Plain = state.get("status") or {}
    return int(status.get("revision") or 1)


def _place(inputs: Plain, revision: int) -> str:
    name = f"sh.helm.release.v1.{inputs['name']}.v{revision}"
    return f"/api/v1/namespaces/{inputs['namespace']}/secrets/{name}"


def _make_namespace(client: Client, name: str) -> None:
    path = f"/api/v1/namespaces/{name}"
    if client.get(path) is None:
        body: Plain = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}
        client.apply(path, body, manager=_MANAGER, force=True)


def _record(client: Client, inputs: Plain, revision: int) -> Plain:
    """Write the Secret of a revision; the outputs of the release."""
    path = _place(inputs, revision)
    status: Plain = {
        "name": inputs["name"],
        "namespace": inputs["namespace"],
        "chart": str(inputs["chart"]).rsplit("/", 1)[-1],
        "version": inputs.get("version"),
        "revision": revision,
        "status": "deployed",
    }
    content: dict[str, Any] = {**status, "config": inputs.get("values") or {}}
    body: Plain = {
        "apiVersion": "v1",
        "kind": "Secret",
        "type": "helm.sh/release.v1",
        "metadata": {
            "name": path.rsplit("/", 1)[-1],
            "namespace": inputs["namespace"],
            "labels": {
                "owner": "helm",
                "name": inputs["name"],
                "version": str(revision),
                "status": "deployed",
            },
        },
        "data": {"release": base64.b64encode(json.dumps(content).encode()).decode()},
    }
    client.apply(path, body, manager=_MANAGER, force=True)
    return {**inputs, "status": status, "resourceNames": {}}
