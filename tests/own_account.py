"""The controller's own ServiceAccount in a test's cluster, with the very roles that `pulumi up` gives it and no other.

Tests that start the controller under it notice every right that it needs and has not got.
"""

import json
from pathlib import Path
from typing import Any

import yaml

from daiku.kube.client import Client
from daiku_infra import manifests

NAMESPACE = "kube-system"
CONTROLLER = manifests.Controller(
    namespace=NAMESPACE,
    image="",
    replicas=1,
    cluster="",
    region="",
    role_arn=None,
    queue_name="",
    cpu_request="",
    memory="",
    environment={"CLOUD": "kwok"},
)
OF_ROLES = "/apis/rbac.authorization.k8s.io/v1"


def kubeconfig(admin: Client, of_admin: Path, target: Path) -> Path:
    """Make the account with a client that may do everything; a kubeconfig with a token of it.

    Args:
        admin: May do everything.
        of_admin: Its kubeconfig, which says where the API server is.
        target: The file to write.
    """
    accounts = f"/api/v1/namespaces/{NAMESPACE}/serviceaccounts"
    own = f"{OF_ROLES}/namespaces/{NAMESPACE}"
    admin.create(accounts, manifests.service_account(CONTROLLER))
    admin.create(f"{OF_ROLES}/clusterroles", manifests.cluster_role(CONTROLLER))
    admin.create(f"{OF_ROLES}/clusterrolebindings", manifests.cluster_role_binding(CONTROLLER))
    admin.create(f"{own}/roles", manifests.role(CONTROLLER))
    admin.create(f"{own}/rolebindings", manifests.role_binding(CONTROLLER))
    asked = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {}}
    given = json.loads(admin.create(f"{accounts}/{manifests.NAME}/token", asked))
    found: dict[str, Any] = yaml.safe_load(of_admin.read_text())
    for user in found["users"]:
        user["user"] = {"token": given["status"]["token"]}
    target.touch(mode=0o600)
    target.write_text(yaml.safe_dump(found))
    return target
