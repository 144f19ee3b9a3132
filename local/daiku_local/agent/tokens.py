"""ServiceAccount tokens of a pod in files, renewed before they end, as a kubelet does it.

A token is bound to its pod: the API server stops taking it when the pod is gone. Tokens are never
logged, and their files are readable only for the user.
"""

import base64
import json
import logging
from dataclasses import dataclass
from pathlib import Path

from daiku_local.agent import files
from daiku_local.agent.kubernetes_api import KubernetesApi
from daiku_local.agent.objects import dig
from daiku_local.agent.pods import Key

API_LIFE_SECONDS = 3600
"""Life of the token for the API server."""
AWS_LIFE_SECONDS = 86400
"""Life of the token for AWS, which EKS' webhook asks for."""
AWS_AUDIENCE = "sts.amazonaws.com"
REFRESH_PART = 0.8
"""Part of its life after which a token is renewed; a kubelet's own choice."""

_log = logging.getLogger(__name__)


@dataclass(slots=True, kw_only=True)
class TokenFile:
    """A file that always holds a good token."""

    path: Path
    """Where it is."""
    service_account: str
    """Whose token it is."""
    pod: Key
    """The pod that the token is bound to."""
    audience: str | None
    """Who is meant to take it; None for the API server."""
    life_seconds: int
    """How long a token shall live."""
    refresh_seconds: float | None = None
    """Age at which it is renewed, when not the usual part of its life."""
    renew_at: float = 0.0
    """Monotonic time at which the next token is due."""

    def refresh(self, kubernetes: KubernetesApi, now: float) -> bool:
        """Write a new token if one is due; tell whether one was.

        Raises:
            KubernetesError: The API server gave none; the old one stays.
        """
        if now < self.renew_at:
            return False
        accounts = f"/api/v1/namespaces/{self.pod.namespace}/serviceaccounts"
        answer = kubernetes.create(
            f"{accounts}/{self.service_account}/token",
            {
                "apiVersion": "authentication.k8s.io/v1",
                "kind": "TokenRequest",
                "spec": {
                    "audiences": [self.audience] if self.audience else [],
                    "expirationSeconds": self.life_seconds,
                    "boundObjectRef": {
                        "apiVersion": "v1",
                        "kind": "Pod",
                        "name": self.pod.name,
                        "uid": self.pod.uid,
                    },
                },
            },
        )
        files.write_private(self.path, dig(answer, "status", "token"))
        life = dig(answer, "spec", "expirationSeconds") or self.life_seconds
        age = self.refresh_seconds if self.refresh_seconds is not None else life * REFRESH_PART
        self.renew_at = now + age
        _log.info("pod %s: new token in %s, good for %d s", self.pod, self.path.name, life)
        return True


def write_kubeconfig(
    path: Path, *, endpoint: str, authority: bytes, token: Path, namespace: str
) -> None:
    """Write a kubeconfig that reads its token from a file; JSON is YAML."""
    certificate = base64.b64encode(authority).decode()
    content = {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [
            {
                "name": "cluster",
                "cluster": {"server": endpoint, "certificate-authority-data": certificate},
            }
        ],
        "users": [{"name": "pod", "user": {"tokenFile": str(token)}}],
        "contexts": [
            {
                "name": "pod",
                "context": {"cluster": "cluster", "user": "pod", "namespace": namespace},
            }
        ],
        "current-context": "pod",
    }
    files.write_private(path, json.dumps(content, indent=2) + "\n")
