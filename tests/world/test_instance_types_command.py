"""`daiku instance-types` against the stand-in AWS."""

import json
import os
import subprocess
import sys
from collections.abc import Generator
from pathlib import Path

import pytest
from tests.world import aws_account
from tests.world.aws_account import Account

pytestmark = pytest.mark.world


@pytest.fixture(scope="module")
def account(tmp_path_factory: pytest.TempPathFactory) -> Generator[Account]:
    with aws_account.running(tmp_path_factory.mktemp("aws") / "world") as running:
        yield running


def _run(account: Account, *arguments: str) -> subprocess.CompletedProcess[str]:
    code = "from daiku.cli import main; main()"
    environment = {
        "AWS_ENDPOINT_URL": account.world.aws_endpoint,
        "AWS_REGION": account.world.region,
        "AWS_ACCESS_KEY_ID": "local",
        "AWS_SECRET_ACCESS_KEY": "local",
    }
    return subprocess.run(
        [sys.executable, "-c", code, "instance-types", *arguments],
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        check=False,
    )


def test_json_has_plain_integers_and_prices(account: Account) -> None:
    done = _run(account, "--format", "json")

    assert done.returncode == 0, done.stderr
    (m5,) = [t for t in json.loads(done.stdout) if t["name"] == "m5.large"]
    assert (m5["capacity"]["cpu"], m5["allocatable"]["pods"]) == (2000, 29)
    assert m5["labels"]["karpenter.k8s.aws/instance-family"] == "m5"
    assert {o["capacityType"] for o in m5["offerings"]} == {"on-demand", "spot"}
    assert all(o["priceUsdPerHour"] > 0 for o in m5["offerings"] if o["available"])


def test_the_table_has_a_line_for_each_type(account: Account) -> None:
    lines = _run(account).stdout.splitlines()

    assert lines[0].split()[:3] == ["TYPE", "CPU", "MEMORY"]
    assert any(line.startswith("m5.large ") for line in lines)


def test_options_choose_among_the_types_of_the_account(account: Account) -> None:
    chosen = ["--family", "m5", "--family", "c6g", "--cpu", "..2", "--memory", "8Gi.."]

    assert [line.split()[0] for line in _run(account, *chosen).stdout.splitlines()[1:]] == [
        "m5.large"
    ]
    none = _run(account, "--family", "m5", "--arch", "arm64", "--format", "json")
    assert json.loads(none.stdout) == []
    assert "none of " in none.stderr
    assert "meets karpenter.k8s.aws/instance-family In [m5]" in none.stderr


def test_a_file_that_is_no_node_class_is_an_error_that_says_so(
    account: Account, tmp_path: Path
) -> None:
    file = tmp_path / "pod.json"
    file.write_text('{"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "a"}}')

    done = _run(account, "--node-class", str(file))

    assert done.returncode == 1
    assert "holds 0 objects of kind EC2NodeClass" in done.stderr
