"""Every stack of this repository, previewed by the real engine against the policy pack, offline.

The pack is mandatory for every stack here; `policies/advisory.json` softens it for those who ask.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from tests.e2e.conftest import ROOT, Journey

pytestmark = pytest.mark.e2e


@pytest.fixture(autouse=True)
def untouched() -> Iterator[None]:
    """A new stack writes its salt into its file: what is in the checkout stays as it was."""
    kept = {path: path.read_bytes() for path in (ROOT / "stacks").glob("*.yaml")}
    yield
    for path, content in kept.items():
        path.write_bytes(content)


def _stack_file(stack: str) -> dict[str, Any]:
    return yaml.safe_load((ROOT / "stacks" / f"Pulumi.{stack}.yaml").read_text())


def _preview(
    journey: Journey,
    stack: str,
    folder: Path,
    *more: str,
    before: tuple[str, ...] = (),
    **changes: Any,
) -> str:
    """Preview a stack with a copy of its file, in which some values are changed; `before` is before the command."""
    content = _stack_file(stack)
    content["config"] |= {f"daiku:{key}": value for key, value in changes.items()}
    place = folder / f"Pulumi.{stack}.yaml"
    place.write_text(yaml.safe_dump(content))
    journey.run("pulumi", "stack", "select", "--create", stack, "--non-interactive")
    options = ("--stack", stack, "--config-file", str(place), "--non-interactive", *more)
    done = journey.daiku(
        "local",
        "exec",
        "--",
        *before,
        "pulumi",
        "preview",
        *options,
        "--policy-pack",
        "policies",
        check=False,
    )
    return f"{done.stdout}{done.stderr}\nexit code {done.returncode}"


@pytest.mark.parametrize("stack", ["local", "dev", "prod"])
def test_a_stack_of_this_repository_holds_to_every_policy(
    journey: Journey, stack: str, tmp_path: Path
) -> None:
    said = _preview(journey, stack, tmp_path)

    assert "exit code 0" in said, said[-3000:]
    assert "daiku@v" in said
    assert "[mandatory]" not in said


def test_a_mandatory_policy_stops_an_open_endpoint(journey: Journey, tmp_path: Path) -> None:
    said = _preview(journey, "dev", tmp_path, publicAccessCidrs=[])

    assert "exit code 0" not in said
    assert "no-open-endpoint" in said
    assert "list who may in daiku:publicAccessCidrs" in said


def test_an_advisory_policy_only_says_so(journey: Journey, tmp_path: Path) -> None:
    softer = ("--policy-pack-config", "policies/advisory.json")

    said = _preview(journey, "dev", tmp_path, *softer, publicAccessCidrs=[])

    assert "exit code 0" in said, said[-3000:]
    assert "no-open-endpoint" in said


@pytest.mark.parametrize(
    ("changes", "part"),
    [
        pytest.param({"kubernetesVersion": "1.28"}, "EKS makes no cluster of 1.28", id="version"),
        pytest.param({"accountId": "999999999999"}, "choose another AWS profile", id="account"),
        pytest.param(
            {"zones": ["us-west-2a", "us-west-2q"]}, "us-west-2q cannot be had", id="zone"
        ),
        pytest.param({"vpcCidr": "10.0.0.0/26"}, "/16 to /24", id="a range too small"),
    ],
)
def test_what_cannot_be_is_said_before_anything_is_made(
    journey: Journey, tmp_path: Path, changes: dict[str, Any], part: str
) -> None:
    said = _preview(journey, "dev", tmp_path, **changes)

    assert "exit code 0" not in said
    assert part in said
    assert "nothing was changed" in said


def test_without_credentials_that_is_said_and_what_to_do(journey: Journey, tmp_path: Path) -> None:
    nobody = ("env", "-u", "AWS_ACCESS_KEY_ID", "-u", "AWS_SECRET_ACCESS_KEY")

    said = _preview(journey, "dev", tmp_path, before=nobody)

    assert "exit code 0" not in said
    assert "No valid credential sources found" in said
    assert "AWS cannot be asked what it offers; nothing was changed" in said
    assert "aws sso login" in said
    assert "Traceback" not in said
