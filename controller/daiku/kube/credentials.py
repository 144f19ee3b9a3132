"""Where the API server is and how to prove who we are: from $KUBECONFIG, else from the pod's ServiceAccount.

The `kubernetes` library reads the configuration and speaks every way of authentication. It reads the token file of a
kubeconfig only once, though, and such tokens live an hour; so the configuration is loaded again every minute where
a token file is named, and at once after a 401.
"""

# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false
# The library has no types; this module is where it is wrapped.

import os
import threading
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import yaml
from kubernetes import config
from kubernetes.client.configuration import Configuration

RELOAD_SECONDS: Final = 60.0
"""How often a token file is read again; kubelet rotates it when 80 % of its life is over."""
NAMESPACE_FILE: Final = Path("/var/run/secrets/kubernetes.io/serviceaccount/namespace")


class NoClusterError(Exception):
    """Nothing says where the API server is."""


class Credentials:
    """The way to the API server, and a fresh Authorization header for every request."""

    def __init__(self, environ: Mapping[str, str]) -> None:
        self._files = environ.get("KUBECONFIG", "")
        self._lock = threading.Lock()
        self._rotates = not self._files or _names_token_file(self._files)
        self._loaded = time.monotonic()
        self._configuration = self._load()

    @property
    def configuration(self) -> Any:
        """The library's Configuration, for its transport."""
        return self._configuration

    @property
    def host(self) -> str:
        """URL of the API server."""
        return str(self._configuration.host).rstrip("/")

    def header(self) -> str | None:
        """Value of the Authorization header; None when a client certificate is all there is."""
        with self._lock:
            if self._rotates and time.monotonic() - self._loaded > RELOAD_SECONDS:
                self._reload()
            header: str | None = self._configuration.get_api_key_with_prefix(
                "authorization", alias="BearerToken"
            )
            return header

    def renew(self) -> None:
        """Read everything again, because the API server did not know us."""
        with self._lock:
            self._reload()

    def _reload(self) -> None:
        self._loaded = time.monotonic()
        fresh = self._load()
        self._configuration.api_key = fresh.api_key
        self._configuration.refresh_api_key_hook = fresh.refresh_api_key_hook

    def _load(self) -> Any:
        made: Any = Configuration()
        try:
            if self._files:
                config.load_kube_config(
                    config_file=self._files, client_configuration=made, persist_config=False
                )
            else:
                config.load_incluster_config(client_configuration=made)
        except (config.ConfigException, OSError) as error:
            tried = (
                f"KUBECONFIG={self._files} does not lead to an API server"
                if self._files
                else "no cluster is named: KUBECONFIG is not set, there is no ~/.kube/config, and this is no pod"
            )
            raise NoClusterError(
                f"{tried} ({str(error).rstrip('.')}). "
                "Set KUBECONFIG to a kubeconfig file, or run in a pod with a ServiceAccount token"
            ) from error
        return made


def namespace(environ: Mapping[str, str]) -> str:
    """The namespace we run in: POD_NAMESPACE, else the ServiceAccount's, else kube-system."""
    if given := environ.get("POD_NAMESPACE"):
        return given
    try:
        return NAMESPACE_FILE.read_text().strip() or "kube-system"
    except OSError:
        return "kube-system"


def _names_token_file(files: str) -> bool:
    for name in files.split(os.pathsep):
        try:
            content: Any = yaml.safe_load(Path(name).read_text())
        except (OSError, yaml.YAMLError):
            continue
        users = content.get("users") or [] if isinstance(content, dict) else []
        if any((user.get("user") or {}).get("tokenFile") for user in users):
            return True
    return False
