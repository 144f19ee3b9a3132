"""The stand-in for the plugin `kubernetes` under the real Pulumi engine and API server."""

from collections.abc import Generator
from pathlib import Path

import pytest
from tests.world import plugin_stack
from tests.world.plugin_stack import Stack

from daiku_local.world import World

pytestmark = pytest.mark.world

NODE = """
apiVersion: v1
kind: Node
metadata: {name: n1, annotations: {kwok.x-k8s.io/node: fake}}
status:
  capacity: {cpu: "8", memory: 16Gi, pods: "50"}
  allocatable: {cpu: "8", memory: 16Gi, pods: "50"}
"""


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Generator[World]:
    with plugin_stack.world_in(tmp_path_factory.mktemp("plugins")) as made:
        yield made


@pytest.fixture
def stack(world: World, tmp_path: Path) -> Generator[Stack]:
    with plugin_stack.stack_in(tmp_path, world) as made:
        yield made


OBJECTS = """
    space = k8s.core.v1.Namespace("space")
    where = {"namespace": space.metadata.name}
    conf = k8s.core.v1.ConfigMap("conf", metadata=where, data={"a": "%(a)s"})
    definition = k8s.apiextensions.v1.CustomResourceDefinition(
        "definition",
        metadata={"name": "widgets.plugins.example"},
        spec={
            "group": "plugins.example",
            "scope": "Namespaced",
            "names": {"kind": "Widget", "plural": "widgets"},
            "versions": [
                {
                    "name": "v1",
                    "served": True,
                    "storage": True,
                    "schema": {
                        "openAPIV3Schema": {
                            "type": "object",
                            "properties": {
                                "spec": {
                                    "type": "object",
                                    "properties": {"size": {"type": "integer"}},
                                }
                            },
                        }
                    },
                }
            ],
        },
    )
    widget = k8s.apiextensions.CustomResource(
        "widget",
        api_version="plugins.example/v1",
        kind="Widget",
        metadata=where,
        spec={"size": %(size)s},
        opts=ResourceOptions(depends_on=[definition]),
    )
    labels = {"app": "x"}
    limits = {"requests": {"cpu": "1000m"}}
    deployment = k8s.apps.v1.Deployment(
        "deployment",
        metadata=where,
        spec={
            "replicas": %(replicas)s,
            "selector": {"match_labels": labels},
            "template": {
                "metadata": {"labels": labels},
                "spec": {"containers": [{"name": "c", "image": "pause", "resources": limits}]},
            },
        },
        opts=ResourceOptions(custom_timeouts=pulumi.CustomTimeouts(create="5s")),
    )
    service = k8s.core.v1.Service(
        "service", metadata=where, spec={"selector": labels, "ports": [{"port": 80}]}
    )
    account = k8s.core.v1.ServiceAccount("account", metadata=where)
    role = k8s.rbac.v1.ClusterRole(
        "role", rules=[{"api_groups": [""], "resources": ["pods"], "verbs": ["get"]}]
    )
    k8s.rbac.v1.ClusterRoleBinding(
        "binding",
        role_ref={
            "api_group": "rbac.authorization.k8s.io",
            "kind": "ClusterRole",
            "name": role.metadata.name,
        },
        subjects=[{"kind": "ServiceAccount", "name": account.metadata.name, **where}],
    )
    pulumi.export("space", space.metadata.name)
    pulumi.export("ready", deployment.status.ready_replicas)
"""


def test_objects_are_applied_awaited_set_right_and_removed(stack: Stack) -> None:
    first = OBJECTS % {"a": 1, "size": 3, "replicas": 2}
    stack.write(first)
    assert set(stack.steps().values()) == {"create"}

    waited = stack.up(check=False)
    assert "0 of 2 replicas are available; pod deployment-" in waited
    stack.kubectl("apply", "-f", "-", given=NODE)
    assert stack.steps() == {"deployment": "update"}
    stack.up()
    assert stack.steps() == {}
    stack.run("refresh", "--yes", "--skip-preview", "--expect-no-changes")

    stack.write(OBJECTS % {"a": 2, "size": 4, "replicas": 3})
    assert stack.steps() == {"conf": "replace", "widget": "update", "deployment": "update"}
    stack.up()
    made = stack.outputs()
    assert made["ready"] == 3

    widget = stack.state()["widget"]["id"].split("/")[1]
    deployment = stack.state()["deployment"]["id"].split("/")[1]
    here = ("-n", made["space"])
    stack.kubectl("delete", "widgets", widget, *here)
    stack.kubectl("scale", "deployment", deployment, "--replicas=1", *here)
    stack.run("refresh", "--yes", "--skip-preview")
    conflict = stack.run("preview", check=False)
    assert 'conflict with "kubectl"' in conflict
    assert "pulumi.com/patchForce" in conflict

    stack.run("destroy", "--yes", "--skip-preview")
    assert made["space"] not in stack.kubectl("get", "namespaces", "-o", "name")


def test_an_object_that_exists_is_not_taken_over_unasked(stack: Stack) -> None:
    stack.kubectl("create", "configmap", "taken", "--from-literal=a=b")
    program = """
        k8s.core.v1.ConfigMap(
            "c", metadata={{"name": "taken", "annotations": {notes}}}, data={{"a": "c"}}
        )
    """

    assert "exists already" in stack.refuses(program.format(notes={}))

    stack.up(program.format(notes={"pulumi.com/patchForce": "true"}))
    assert "c" in stack.kubectl("get", "configmap", "taken", "-o", "jsonpath={.data.a}")


def test_a_deletion_that_a_finalizer_holds_says_so(stack: Stack) -> None:
    stack.up(
        """
        k8s.core.v1.ConfigMap(
            "held",
            metadata={"name": "held", "finalizers": ["plugins.example/hold"]},
            opts=ResourceOptions(custom_timeouts=pulumi.CustomTimeouts(delete="2s")),
        )
        """
    )

    said = stack.run("destroy", "--yes", "--skip-preview", check=False)

    assert "held by the finalizers ['plugins.example/hold']" in said
    patch = '{"metadata":{"finalizers":null}}'
    stack.kubectl("patch", "configmap", "held", "--type=merge", "-p", patch)
