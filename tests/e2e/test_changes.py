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
POOL, *OTHERS = LOCAL["config"]["daiku:nodePools"]


def _steps(journey: Journey, folder: Path, **changes: Any) -> set[tuple[str, str]]:
    """Operation and type of every step that a preview with changed values would take, `same` left out."""
    content = {
        **LOCAL,
        "config": LOCAL["config"] | {f"daiku:{key}": value for key, value in changes.items()},
    }
    place = folder / "Pulumi.local.yaml"
    place.write_text(yaml.safe_dump(content))
    options = ("--stack", "local", "--config-file", str(place), "--non-interactive", "--json")
    said = journey.run("pulumi", "preview", *options)
    steps = json.loads(said[said.index("{") :])["steps"]
    return {
        (step["op"], step["urn"].split("::")[2].split("$")[-1].split(":")[-1])
        for step in steps
        if step["op"] != "same"
    }


def test_the_stack_comes_up(journey: Journey) -> None:
    journey.run("pulumi", "stack", "select", "--create", "local", "--non-interactive")
    journey.run("pulumi", "up", "--stack", "local", "--yes", "--skip-preview", "--non-interactive")


def test_a_refresh_finds_everything_as_it_was_left(journey: Journey) -> None:
    options = ("--stack", "local", "--yes", "--skip-preview", "--non-interactive")
    journey.run("pulumi", "refresh", "--expect-no-changes", *options)


@pytest.mark.parametrize(
    ("changes", "steps"),
    [
        pytest.param({}, set(), id="nothing"),
        pytest.param(
            {"nodePools": [{**POOL, "spec": {**POOL["spec"], "limits": {"cpu": "500"}}}, *OTHERS]},
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
        pytest.param({"kubernetesVersion": "1.35"}, {("update", "Cluster")}, id="the next version"),
        pytest.param(
            {"controllerReplicas": 3}, {("update", "Deployment")}, id="one controller more"
        ),
        pytest.param({"flowLogDays": 7}, "creates only", id="a log of the traffic"),
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
    elif steps == "moves the cluster":
        assert ("create", "Subnet") in taken
        assert ("update", "Cluster") in taken or ("replace", "Cluster") in taken
    else:
        assert taken == steps


def test_it_goes_as_it_came(journey: Journey) -> None:
    options = ("--stack", "local", "--yes", "--skip-preview", "--non-interactive")
    journey.run("pulumi", "destroy", *options)
