"""Node classes that cannot be launched, from outside: each says why, what to do, and nothing is asked hot or made.

A real control plane and `daiku run` as a process; the AWS side is the stand-in over HTTP.
"""

import time
from collections.abc import Generator
from typing import Any

import pytest
from tests.world import launch_stage
from tests.world.launch_stage import Lead, Stage, items, until

pytestmark = pytest.mark.world

CLASSES = "/apis/karpenter.k8s.aws/v1/ec2nodeclasses"
POOLS = "/apis/karpenter.sh/v1/nodepools"
NO_SUCH = [{"tags": {"no": "such"}}]
ARM64 = {"key": "kubernetes.io/arch", "operator": "In", "values": ["arm64"]}
QUIET_SECONDS = 20.0

CASES: dict[str, tuple[dict[str, Any], str, str, tuple[str, ...]]] = {
    "no-subnet": ({"subnetSelectorTerms": NO_SUCH}, "SubnetsReady", "SubnetsNotFound", ("no=such", "tag")),
    "no-group": (
        {"securityGroupSelectorTerms": NO_SUCH}, "SecurityGroupsReady", "SecurityGroupsNotFound", ("no=such", "tag"),
    ),
    "no-image": (
        {"amiSelectorTerms": [{"name": "none"}], "amiFamily": "AL2023"}, "AMIsReady", "AMINotFound",
        ("name=none", "change the terms"),
    ),
    "no-alias": (
        {"amiSelectorTerms": [{"alias": "al2@latest"}]}, "AMIsReady", "UnsupportedAlias", ("al2023@latest",),
    ),
    "no-role": (
        {"instanceProfile": None, "role": "nobody"}, "InstanceProfileReady", "RoleNotFound",
        ("NoSuchEntity", "Create the role"),
    ),
    "no-profile": (
        {"instanceProfile": "nobody"}, "ValidationSucceeded", "InstanceProfileNotFound",
        ("InvalidParameterValue", "create it"),
    ),
    "no-group-of-machines": (
        {"placementGroupSelector": {"name": "nowhere"}}, "PlacementGroupReady", "PlacementGroupNotFound",
        ("nowhere", "create it"),
    ),
    "bad-user-data": (
        {"userData": "[", "amiSelectorTerms": [{"alias": "bottlerocket@latest"}]}, "ValidationSucceeded",
        "InvalidUserData", ("TOML",),
    ),
    "long-user-data": (
        {"userData": "x" * 17_000}, "ValidationSucceeded", "UserDataSizeLimitExceeded", ("16384",),
    ),
    "bad-kubelet": (
        {"kubelet": {"maxPod": 5}}, "ValidationSucceeded", "InvalidKubeletConfiguration", ("maxPod",),
    ),
    "other-machines": ({}, "ValidationSucceeded", "NoInstanceTypes", ("amd64", "select images")),
}  # fmt: skip
"""Name -> what its spec says, the condition, its reason, and words of its message."""


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Generator[Stage]:
    with launch_stage.standing(tmp_path_factory.mktemp("bad") / "world") as stage:
        controller = Lead(stage, tmp_path_factory.mktemp("controller"))
        controller.be("bad")
        good = items(stage.client, CLASSES)[0]["spec"]
        for name, (changed, *_) in CASES.items():
            spec = {k: v for k, v in {**good, **changed}.items() if v is not None}
            if name == "other-machines":
                spec |= _of_amd64(stage, name)
            body = {
                "apiVersion": "karpenter.k8s.aws/v1",
                "kind": "EC2NodeClass",
                "metadata": {"name": name},
                "spec": spec,
            }
            stage.client.create(CLASSES, body)
        yield stage
        controller.stop()


def _of_amd64(stage: Stage, name: str) -> dict[str, Any]:
    """Images of one architecture, and a NodePool that wants machines of another."""
    pool = items(stage.client, POOLS)[0]
    template: dict[str, Any] = {**pool["spec"]["template"]["spec"], "requirements": [ARM64]}
    template["nodeClassRef"] = {**template["nodeClassRef"], "name": name}
    stage.client.create(
        POOLS,
        {
            "apiVersion": "karpenter.sh/v1",
            "kind": "NodePool",
            "metadata": {"name": name},
            "spec": {"template": {"spec": template}},
        },
    )
    return {"amiSelectorTerms": [{"id": stage.place.image}], "amiFamily": "AL2023"}


def _conditions(stage: Stage, name: str) -> dict[str, dict[str, Any]]:
    found = next(c for c in items(stage.client, CLASSES) if c["metadata"]["name"] == name)
    return {c["type"]: c for c in found.get("status", {}).get("conditions", [])}


@pytest.mark.parametrize("name", CASES)
def test_a_node_class_says_what_is_wrong_and_what_to_do(running: Stage, name: str) -> None:
    _, kind, reason, words = CASES[name]

    said = until(
        lambda: _conditions(running, name) if kind in _conditions(running, name) else None,
        "its conditions",
    )

    assert (said[kind]["status"], said[kind]["reason"]) == ("False", reason)
    assert all(word in said[kind]["message"] for word in words), said[kind]["message"]
    assert said["Ready"]["status"] == "False"
    assert said[kind]["message"] in said["Ready"]["message"]


def test_nothing_is_asked_hot_and_nothing_is_left_half_made(running: Stage) -> None:
    before = running.account.ask("GET", "/_usage")
    time.sleep(QUIET_SECONDS)
    after = running.account.ask("GET", "/_usage")

    made = ("CreateFleet", "RunInstances", "CreateLaunchTemplate", "CreateInstanceProfile")
    for operation in made:
        for service in ("ec2", "iam"):
            key = f"{service}:{operation}"
            assert after.get(key, 0) - before.get(key, 0) <= len(CASES), key
    assert running.account.client("ec2").describe_instances()["Reservations"] == []
    assert running.claims() == {}
    templates = running.account.client("ec2").describe_launch_templates()["LaunchTemplates"]
    assert [t["LaunchTemplateName"] for t in templates] == [running.place.template]
