import json

import pytest

from daiku.api import kinds
from daiku.cli import capture, cluster_name

SECRET = "hunter2"  # noqa: S105  (what must not be found)


def test_nothing_of_a_pod_that_could_be_secret_is_kept() -> None:
    pod = {
        "metadata": {
            "name": "a",
            "labels": {"app": "a"},
            "managedFields": [{"manager": SECRET}],
            "annotations": {capture.LAST_APPLIED: SECRET, "karpenter.sh/do-not-disrupt": "true"},
        },
        "spec": {
            "nodeName": "n",
            "initContainers": [{"name": "i", "command": [SECRET]}],
            "containers": [
                {
                    "name": "c",
                    "image": "x",
                    "args": [SECRET],
                    "env": [{"name": "PASSWORD", "value": SECRET}],
                    "livenessProbe": {"httpGet": {"httpHeaders": [{"value": SECRET}]}},
                    "resources": {"requests": {"cpu": "1"}},
                    "ports": [{"hostPort": 80}],
                }
            ],
            "volumes": [
                {"name": "v", "persistentVolumeClaim": {"claimName": "p"}},
                {"name": "s", "csi": {"volumeAttributes": {"token": SECRET}}},
            ],
        },
        "status": {"phase": "Running", "containerStatuses": [{"image": SECRET}]},
    }

    kept = capture.clean(pod, kinds.PODS)

    assert SECRET not in json.dumps(kept)
    assert kept == {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "name": "a",
            "labels": {"app": "a"},
            "annotations": {"karpenter.sh/do-not-disrupt": "true"},
        },
        "spec": {
            "nodeName": "n",
            "initContainers": [{"name": "i"}],
            "containers": [
                {
                    "name": "c",
                    "image": "x",
                    "resources": {"requests": {"cpu": "1"}},
                    "ports": [{"hostPort": 80}],
                }
            ],
            "volumes": [{"name": "v", "persistentVolumeClaim": {"claimName": "p"}}, {"name": "s"}],
        },
        "status": {"phase": "Running"},
    }


def test_templates_of_daemon_sets_are_cleaned_too() -> None:
    containers = [{"name": "c", "env": [{"name": "A", "value": SECRET}]}]
    template = {"metadata": {"labels": {"app": "a"}}, "spec": {"containers": containers}}

    kept = capture.clean(
        {"metadata": {"name": "a"}, "spec": {"template": template}}, kinds.DAEMON_SETS
    )

    assert SECRET not in json.dumps(kept)


def test_user_data_of_node_classes_stays_behind() -> None:
    node_class = {"metadata": {"name": "a"}, "spec": {"userData": SECRET, "role": "r"}}

    kept = capture.clean(node_class, kinds.EC2_NODE_CLASSES)

    assert kept["spec"] == {"role": "r"}


def test_secrets_and_config_maps_are_not_among_what_is_read() -> None:
    assert not {"Secret", "ConfigMap"} & set(kinds.BY_NAME)


NOTHING: dict[str, object] = {}


def node_class(*names: str) -> dict[str, object]:
    terms = [{"tags": {"karpenter.sh/discovery": name}} for name in names]
    return {"spec": {"subnetSelectorTerms": terms, "securityGroupSelectorTerms": [{"id": "sg-1"}]}}


@pytest.mark.parametrize(
    ("environ", "classes", "name"),
    [
        ({"CLUSTER_NAME": "prod"}, [node_class("other")], "prod"),
        ({}, [node_class("prod"), node_class("prod"), node_class(), NOTHING], "prod"),
        ({"CLUSTER_NAME": ""}, [node_class("prod")], "prod"),
        ({}, [node_class("prod"), node_class("test")], ""),
        ({}, [node_class("*")], ""),
        ({}, [], ""),
    ],
)
def test_the_clusters_name_is_what_all_node_classes_select_by_unless_it_is_said(
    environ: dict[str, str], classes: list[dict[str, object]], name: str
) -> None:
    assert cluster_name.find(environ, classes) == name
