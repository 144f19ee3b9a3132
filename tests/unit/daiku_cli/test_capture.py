import json

from daiku.api import kinds
from daiku.cli import capture

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
