"""Kubeconfig files: where the API server is, whom to trust, and who asks.

Certificates and keys are embedded, so that a file can be handed around alone. JSON is YAML.
"""

import base64
import json
from pathlib import Path

from daiku_local.control_plane import certificates

CONTEXT = "daiku-local"
"""Name of the one cluster, user and context in each file."""


def write(path: Path, endpoint: str, pki: Path, client: str) -> None:
    """Write the kubeconfig of `client` (a name in certificates.CLIENTS), mode 0600."""

    def embedded(name: str) -> str:
        return base64.b64encode((pki / name).read_bytes()).decode()

    content = {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [
            {
                "name": CONTEXT,
                "cluster": {
                    "server": endpoint,
                    "certificate-authority-data": embedded("ca.crt"),
                },
            }
        ],
        "users": [
            {
                "name": CONTEXT,
                "user": {
                    "client-certificate-data": embedded(f"{client}.crt"),
                    "client-key-data": embedded(f"{client}.key"),
                },
            }
        ],
        "contexts": [{"name": CONTEXT, "context": {"cluster": CONTEXT, "user": CONTEXT}}],
        "current-context": CONTEXT,
    }
    certificates.write_private(path, json.dumps(content, indent=2).encode() + b"\n")
