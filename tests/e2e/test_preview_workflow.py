"""What a pull request is told: the very shell steps of the workflow, against a stack that is up on the laptop.

The checkout is a small repository of its own, with the stack file as it was in one commit and changed after it.
"""

import os
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml
from tests.e2e.conftest import DAIKU, ROOT, Journey, wait

pytestmark = pytest.mark.e2e
WORKFLOW = yaml.safe_load((ROOT / ".github" / "workflows" / "preview.yml").read_text())
SNAPSHOT = "a snapshot of the cluster"
COMMENT = "fixed cost, and what the NodePools would do"


def _script(name: str) -> str:
    """The shell of one step of the workflow."""
    steps = WORKFLOW["jobs"]["preview"]["steps"]
    [script] = [step["run"] for step in steps if step.get("name") == name]
    return script


@pytest.fixture(scope="module")
def checkout(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A pull request: the program and the local stack's file, which a second version changes."""
    folder = tmp_path_factory.mktemp("checkout")
    (folder / "stacks").mkdir()
    for name in ("Pulumi.yaml", "__main__.py", "stacks/Pulumi.local.yaml"):
        shutil.copy(ROOT / name, folder / name)
    (folder / ".venv").symlink_to(ROOT / ".venv")
    author = ("-c", "user.name=Test", "-c", "user.email=test@example.com")
    for command in (("init", "-q"), ("add", "."), (*author, "commit", "-q", "-m", "base")):
        subprocess.run(["git", *command], cwd=folder, check=True)
    return folder


def _change(checkout: Path, **changes: Any) -> None:
    """Write another version of the stack file."""
    place = checkout / "stacks" / "Pulumi.local.yaml"
    content = yaml.safe_load((ROOT / "stacks" / "Pulumi.local.yaml").read_text())
    content["config"] |= {f"daiku:{key}": value for key, value in changes.items()}
    place.write_text(yaml.safe_dump(content))


def _run(
    journey: Journey, checkout: Path, step: str, **more: str
) -> subprocess.CompletedProcess[str]:
    """Run a step as a runner would, in the environment that `daiku local exec` gives a command."""
    environment = {
        "STACK": "local",
        "BASE": "HEAD",
        "SNAPSHOT_URL": "",
        "GITHUB_STEP_SUMMARY": str(checkout / "summary.md"),
        "DAIKU_WORLD": str(journey.folder),
        **more,
    }
    return subprocess.run(
        [DAIKU, "local", "exec", "--", "bash", "-c", _script(step)],
        cwd=checkout,
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        check=False,
    )


def _comment(journey: Journey, checkout: Path) -> str:
    # A runner begins with nothing.
    for command in (
        ("worktree", "prune"),
        ("clean", "-fdxq", "-e", "snapshot.json", "-e", ".venv"),
    ):
        shutil.rmtree(checkout / "base", ignore_errors=True)
        subprocess.run(["git", *command], cwd=checkout, check=True)
    done = _run(journey, checkout, COMMENT)
    assert done.returncode == 0, done.stderr[-3000:]
    return (checkout / "comment.md").read_text()


def test_the_stack_comes_up_and_has_nodes(journey: Journey) -> None:
    journey.run("pulumi", "stack", "select", "--create", "local", "--non-interactive")
    journey.run("pulumi", "up", "--stack", "local", "--yes", "--skip-preview", "--non-interactive")
    journey.run("kubectl", "apply", "-f", str(ROOT / "examples" / "inflate.yaml"))
    journey.run("kubectl", "scale", "deployment/inflate", "--replicas=40")
    wait("40 pods run", lambda: journey.observer.look().running == 40, seconds=120)


def test_without_a_snapshot_the_comment_says_what_is_missing(
    journey: Journey, checkout: Path
) -> None:
    _change(checkout, nodePools=_on_demand_only())

    said = _comment(journey, checkout)

    assert "there is no snapshot of the\ncluster" in said


def test_the_snapshot_holds_the_catalogue_of_the_account(journey: Journey, checkout: Path) -> None:
    done = _run(journey, checkout, SNAPSHOT)

    assert done.returncode == 0, done.stderr[-3000:]
    assert "no instance types" not in done.stderr
    assert "m6i.large" in (checkout / "snapshot.json").read_text()


def test_the_comment_says_what_changed_node_pools_cost(journey: Journey, checkout: Path) -> None:
    _change(checkout, nodePools=_on_demand_only())

    said = _comment(journey, checkout)

    assert "| EKS control plane | 1 | 73.00 |" in said
    assert "| system node m6i.large | 2 | 140.16 |" in said
    assert "not known" not in said
    assert "NodePool spot: is taken away; its nodes go: " in said
    spot = next(line for line in said.splitlines() if line.startswith("| spot |"))
    assert "→ 0 |" in spot
    default = next(line for line in said.splitlines() if line.startswith("| default |"))
    assert "| 0 → " in default


def test_what_does_not_change_is_said_in_a_line(journey: Journey, checkout: Path) -> None:
    _change(checkout, controllerReplicas=3)

    assert _comment(journey, checkout).endswith("The NodePools do not change.\n")


def _on_demand_only() -> list[dict[str, Any]]:
    """The stack's NodePools without the one of spot."""
    content = yaml.safe_load((ROOT / "stacks" / "Pulumi.local.yaml").read_text())
    return [pool for pool in content["config"]["daiku:nodePools"] if pool["name"] != "spot"]
