"""A destroy takes the nodes with it: by the controller, without it, without an API server, and after it was killed.

Judged from outside by what AWS lists. The stages build on each other and run in this order; the last one
kills the API server, so nothing follows it.
"""

import json
import os
import signal
import subprocess
import time
from typing import Any

import boto3.session
import pytest
from tests.e2e.conftest import DAIKU, ROOT, Journey, wait

from daiku_local import inventory
from daiku_local.world import load

pytestmark = pytest.mark.e2e
CLUSTER = "daiku-local"
ONE_A_NODE: dict[str, Any] = {
    "apiVersion": "apps/v1",
    "kind": "Deployment",
    "metadata": {"name": "spread", "namespace": "default"},
    "spec": {
        "replicas": 3,
        "selector": {"matchLabels": {"app": "spread"}},
        "template": {
            "metadata": {"labels": {"app": "spread"}},
            "spec": {
                "terminationGracePeriodSeconds": 0,
                "affinity": {
                    "podAntiAffinity": {
                        "requiredDuringSchedulingIgnoredDuringExecution": [
                            {
                                "topologyKey": "kubernetes.io/hostname",
                                "labelSelector": {"matchLabels": {"app": "spread"}},
                            }
                        ]
                    }
                },
                "containers": [
                    {
                        "name": "pause",
                        "image": "registry.k8s.io/pause:3.10",
                        "resources": {"requests": {"cpu": "100m", "memory": "64Mi"}},
                    }
                ],
            },
        },
    },
}


def _instances(journey: Journey) -> set[str]:
    session = boto3.session.Session("local", "local", region_name=journey.here.region)
    ec2 = session.client("ec2", endpoint_url=journey.here.aws_endpoint)
    filters = [
        {"Name": "tag-key", "Values": ["karpenter.sh/nodepool"]},
        {"Name": f"tag:kubernetes.io/cluster/{CLUSTER}", "Values": ["owned"]},
        {"Name": "instance-state-name", "Values": ["pending", "running", "shutting-down"]},
    ]
    pages = ec2.get_paginator("describe_instances").paginate(Filters=filters)
    return {i["InstanceId"] for page in pages for r in page["Reservations"] for i in r["Instances"]}


def _up_with_nodes(journey: Journey, count: int) -> None:
    journey.run("pulumi", "stack", "select", "--create", "local", "--non-interactive")
    journey.run("pulumi", "up", "--stack", "local", "--yes", "--skip-preview", "--non-interactive")
    place = journey.folder / "spread.json"
    place.write_text(json.dumps({**ONE_A_NODE, "spec": {**ONE_A_NODE["spec"], "replicas": count}}))
    journey.run("kubectl", "apply", "-f", str(place))

    def all_run() -> bool:
        pods: Any = journey.kubectl("get", "pods", "-l", "app=spread")["items"]
        return sum(pod["status"].get("phase") == "Running" for pod in pods) == count

    wait(f"{count} pods on {count} nodes", all_run, 240)
    assert len(_instances(journey)) >= count


def _destroy(journey: Journey) -> float:
    began = time.monotonic()
    journey.run(
        "pulumi", "destroy", "--stack", "local", "--yes", "--skip-preview", "--non-interactive"
    )
    return time.monotonic() - began


def _left(journey: Journey) -> dict[str, list[str]]:
    after = inventory.take(journey.here.aws_endpoint, journey.here.region)
    return inventory.difference(journey.before, after)


def test_destroy_with_thirty_nodes_running_leaves_nothing(journey: Journey) -> None:
    _up_with_nodes(journey, 30)

    seconds = _destroy(journey)

    print(f"destroy with 30 nodes: {seconds:.0f} s")  # noqa: T201 - a figure for docs/performance.md
    assert _instances(journey) == set()
    assert _left(journey) == {}


def test_a_destroy_whose_engine_is_killed_is_undone_by_the_commands_that_doctor_names(
    journey: Journey,
) -> None:
    _up_with_nodes(journey, 3)
    _destroy_killed_while_it_drains(journey)

    found = _doctor(journey)

    assert {each["check"] for each in found} == {"stack-interrupted", "stack-nodepools-gone"}
    gone = next(each for each in found if each["check"] == "stack-nodepools-gone")
    assert gone["about"] == ["NodePool default", "NodePool spot"]
    for command in ("pulumi cancel --stack local", "pulumi up --refresh --stack local"):
        assert command in gone["remedy"]
        journey.run(*command.split(), "--yes", "--non-interactive")
    assert _doctor(journey) == []
    _up_with_nodes(journey, 3)


def _destroy_killed_while_it_drains(journey: Journey) -> None:
    """A destroy whose engine is gone when the cluster's NodePools are, and before its state knows."""
    engine = subprocess.Popen(
        [
            DAIKU,
            *[
                "local",
                "exec",
                "--",
                "pulumi",
                "destroy",
                "--stack",
                "local",
                "--yes",
                "--skip-preview",
            ],
        ],
        cwd=ROOT,
        env={**os.environ, "DAIKU_WORLD": str(journey.folder), "NO_COLOR": "1"},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    try:
        wait("no NodePools", lambda: journey.kubectl("get", "nodepools")["items"] == [], 60, 0.1)
    finally:
        # `daiku local exec` became the engine.
        engine.kill()
        engine.wait()


def _doctor(journey: Journey) -> list[dict[str, Any]]:
    """What `daiku doctor` finds in the stack; pods that wait and the like are not its business here."""
    said = json.loads(journey.run("daiku", "doctor", "--stack", "local", "--format", "json"))
    return [each for each in said["findings"] if each["check"].startswith("stack-")]


def test_destroy_without_a_controller_leaves_nothing(journey: Journey) -> None:
    journey.run("kubectl", "delete", "deployment", "spread", "--ignore-not-found")
    _up_with_nodes(journey, 3)
    journey.run("kubectl", "-n", "kube-system", "delete", "deployment", "daiku")
    wait("no controller", lambda: journey.controllers() == [], 60)

    _destroy(journey)

    assert _instances(journey) == set()
    assert _left(journey) == {}


def test_destroy_without_an_api_server_leaves_nothing(journey: Journey) -> None:
    journey.run("kubectl", "delete", "deployment", "spread", "--ignore-not-found")
    _up_with_nodes(journey, 3)
    [server] = [p for p in load(journey.folder).processes if p.name == "kube-apiserver"]
    for pid in journey.controllers():
        os.kill(pid, signal.SIGKILL)
    os.kill(server.pid, signal.SIGKILL)

    _destroy(journey)

    assert _instances(journey) == set()
    assert _left(journey) == {}
