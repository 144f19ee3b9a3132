"""What a change of a value does to a stack that is up, by the real engine: made anew only where it must be.

Every row previews the local stack with one value changed, against the state of the stack as it was built.
"""

import json
from pathlib import Path
from typing import Any

import pytest
import yaml
from tests.e2e.conftest import ROOT, Journey

pytestmark = pytest.mark.e2e
LOCAL = yaml.safe_load((ROOT / "stacks" / "Pulumi.local.yaml").read_text())
NEWEST = LOCAL["config"]["daiku:kubernetesVersion"]
LOCAL["config"]["daiku:kubernetesVersion"] = "1.35"  # so that there is a next one
POOL, *OTHERS = LOCAL["config"]["daiku:nodePools"]


def _stack_file(folder: Path, **changes: Any) -> Path:
    """The local stack's file with changed values."""
    content = {
        **LOCAL,
        "config": LOCAL["config"] | {f"daiku:{key}": value for key, value in changes.items()},
    }
    place = folder / "Pulumi.local.yaml"
    place.write_text(yaml.safe_dump(content))
    return place


def _limited(cpu: str) -> list[dict[str, Any]]:
    """The stack's NodePools, with another limit of the first."""
    return [{**POOL, "spec": {**POOL["spec"], "limits": {"cpu": cpu}}}, *OTHERS]


def _steps(journey: Journey, folder: Path, **changes: Any) -> set[tuple[str, str]]:
    """Operation and type of every step that a preview with changed values would take, `same` left out."""
    place = str(_stack_file(folder, **changes))
    options = ("--stack", "local", "--config-file", place, "--non-interactive", "--json")
    said = journey.run("pulumi", "preview", *options)
    steps = json.loads(said[said.index("{") :])["steps"]
    return {
        (step["op"], step["urn"].split("::")[2].split("$")[-1].split(":")[-1])
        for step in steps
        if step["op"] != "same"
    }


def test_the_stack_comes_up(journey: Journey, tmp_path: Path) -> None:
    place = str(_stack_file(tmp_path))
    journey.run("pulumi", "stack", "select", "--create", "local", "--non-interactive")
    options = ("--stack", "local", "--config-file", place, "--yes", "--skip-preview")
    journey.run("pulumi", "up", *options, "--non-interactive")


def test_no_secret_is_in_the_state_or_in_what_is_printed(journey: Journey, tmp_path: Path) -> None:
    user = yaml.safe_load(journey.here.kubeconfig.read_text())["users"][0]["user"]
    secrets = [
        *user.values(),
        "PRIVATE KEY",
        "LS0tLS1CRUdJTiBSU0EgUFJJVkFURS",
        "LS0tLS1CRUdJTiBFQy",
    ]

    state = journey.run("pulumi", "stack", "export", "--stack", "local")
    shown = journey.run("pulumi", "stack", "output", "--stack", "local", "--json")
    options = ("--stack", "local", "--config-file", str(_stack_file(tmp_path)), "--non-interactive")
    changed = journey.run("pulumi", "preview", *options, "--diff", "--show-sames")

    assert "kubeconfig" in state
    for text in (state, shown, changed):
        assert [secret for secret in secrets if secret in text] == []


def test_a_refresh_finds_everything_as_it_was_left(journey: Journey) -> None:
    options = ("--stack", "local", "--yes", "--skip-preview", "--non-interactive")
    journey.run("pulumi", "refresh", "--expect-no-changes", *options)


@pytest.mark.parametrize(
    ("changes", "steps"),
    [
        pytest.param({}, set(), id="nothing"),
        pytest.param(
            {"nodePools": _limited("500")},
            {("update", "NodePool")},
            id="a limit",
        ),
        pytest.param(
            {"systemNodeGroup": {"instanceTypes": ["m6i.large"], "size": 3}},
            {("update", "NodeGroup")},
            id="one system node more",
        ),
        pytest.param(
            {"publicAccessCidrs": ["198.51.100.0/24"]},
            {("update", "Cluster")},
            id="who may reach the API server",
        ),
        pytest.param({"kubernetesVersion": NEWEST}, {("update", "Cluster")}, id="the next version"),
        pytest.param(
            {"controllerReplicas": 3}, {("update", "Deployment")}, id="one controller more"
        ),
        pytest.param({"flowLogDays": 7}, "creates only", id="a log of the traffic"),
        pytest.param({"vpcCidr": "10.8.0.0/16"}, "another network", id="another range"),
        pytest.param(
            {"systemNodeGroup": {"instanceTypes": ["m5.large"], "size": 2}},
            "another node group",
            id="another type of system nodes",
        ),
        pytest.param(
            {"nodeSecurity": {"own": True}}, "keeps nodes", id="a security group of the nodes' own"
        ),
        pytest.param(
            {"intraSubnets": True}, "moves the cluster", id="other subnets of the API server"
        ),
        pytest.param(
            {"zones": [f"us-west-2{letter}" for letter in "abcd"]},
            "keeps subnets",
            id="a zone more",
        ),
    ],
)
def test_a_change_does_what_it_must_and_no_more(
    journey: Journey, tmp_path: Path, changes: dict[str, Any], steps: Any
) -> None:
    taken = _steps(journey, tmp_path, **changes)

    if steps == "creates only":
        assert {operation for operation, _ in taken} == {"create"}
    elif steps == "keeps subnets":
        assert ("create", "Subnet") in taken
        assert not [kind for op, kind in taken if op in {"replace", "delete"} and kind == "Subnet"]
    elif steps == "another network":
        assert {("replace", "Vpc"), ("replace", "Subnet")} <= taken
    elif steps == "another node group":
        assert ("replace", "NodeGroup") in taken
        assert not {("replace", "Cluster"), ("replace", "Deployment")} & taken
    elif steps == "keeps nodes":
        assert {("create", "SecurityGroup"), ("update", "LaunchTemplate")} <= taken
        assert "replace" not in {operation for operation, _ in taken}
    elif steps == "moves the cluster":
        assert ("create", "Subnet") in taken
        assert ("update", "Cluster") in taken or ("replace", "Cluster") in taken
    else:
        assert taken == steps


def test_a_reviewed_plan_is_done_as_it_was_reviewed_or_not_at_all(
    journey: Journey, tmp_path: Path
) -> None:
    def limit() -> Any:
        pool: Any = journey.kubectl("get", "nodepool", POOL["name"])
        return pool["spec"]["limits"]["cpu"]

    plan = str(tmp_path / "plan.json")
    reviewed = str(_stack_file(tmp_path, nodePools=_limited("500")))
    options = ("--stack", "local", "--config-file", reviewed, "--non-interactive")
    journey.run("pulumi", "preview", "--save-plan", plan, *options)
    up = ("pulumi", "up", "--plan", plan, "--yes", "--skip-preview", *options)

    _stack_file(tmp_path, nodePools=_limited("600"), controllerReplicas=3)
    refused = journey.daiku("local", "exec", "--", *up, check=False)
    assert refused.returncode != 0
    assert "violates plan" in refused.stdout + refused.stderr
    assert limit() == POOL["spec"]["limits"]["cpu"]

    _stack_file(tmp_path, nodePools=_limited("500"))
    journey.run(*up)
    assert limit() == "500"


def test_it_goes_as_it_came(journey: Journey) -> None:
    options = ("--stack", "local", "--yes", "--skip-preview", "--non-interactive")
    journey.run("pulumi", "destroy", *options)
