"""The controller's alerts and dashboards as Kubernetes objects.

They belong to the controller and lie beside its code, as files that a person can use without this program. No Pulumi in
here.
"""

from pathlib import Path
from typing import Any

import yaml

FOLDER = "monitoring"
"""Name of their folder, beside that of the CustomResourceDefinitions."""
SIDECAR_LABEL = "grafana_dashboard"
"""What Grafana's sidecar (kube-prometheus-stack, the chart of Grafana) looks for on ConfigMaps."""


def manifests(folder: Path, namespace: str) -> dict[str, dict[str, Any]]:
    """Every object, by a short name.

    Args:
        folder: Holds alerts.yaml and dashboards/*.json.
        namespace: Where they are made.

    Raises:
        FileNotFoundError: The folder has no alerts.
    """
    rules: dict[str, Any] = yaml.safe_load((folder / "alerts.yaml").read_text())
    rules["metadata"] = {**rules["metadata"], "namespace": namespace}
    found = {"alerts": rules}
    for path in sorted((folder / "dashboards").glob("*.json")):
        found[f"dashboard-{path.stem}"] = {
            "apiVersion": "v1",
            "kind": "ConfigMap",
            "metadata": {
                "name": f"{path.stem}-dashboard",
                "namespace": namespace,
                "labels": {SIDECAR_LABEL: "1"},
            },
            "data": {path.name: path.read_text()},
        }
    return found
