import io
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml
from tests.unit.daiku_cli.reading import node_pool, pod, workload
from typer.testing import CliRunner, Result

from daiku.api.manifests import ManifestError
from daiku.cli import figures, planning, wording
from daiku.cli.main import app
from daiku.forecast import Forecast, PlannedNode

ROOT = Path(__file__).resolve().parents[3]
SHOP = ROOT / "tests" / "scenarios" / "shop"
TYPES = ROOT / "tests" / "scenarios" / "instance-types.json"
KEYS = [
    "schemaVersion", "newNodes", "placements", "unschedulable", "usdPerHour", "lowerBoundUsdPerHour", "gap", "seconds",
]  # fmt: skip


def plan(*arguments: str, given: bytes = b"") -> Result:
    return CliRunner().invoke(
        app, ["plan", "--built-in-nodepool", *arguments], input=given, obj=lambda: 0.0
    )


def _forecast(*, usd: float, bound: float) -> Forecast:
    node = PlannedNode(
        nodepool="default",
        instance_types=("c-4x",),
        capacity_type="spot",
        zones=("a",),
        pods=("default/a",),
        requests={},
        allocatable={},
        usd_per_hour=usd,
    )
    return Forecast(
        new_nodes=(node,),
        existing_nodes=(),
        unschedulable=(),
        workloads={},
        lower_bound_usd_per_hour=bound,
        notes=(),
    )


def as_yaml(*objects: Any) -> bytes:
    return yaml.safe_dump_all(objects).encode()


def test_a_time_box_of_nothing_still_plans_every_pod() -> None:
    result = plan(
        "--from", "-", "--format", "json", "--time-box", "0", given=as_yaml(workload(replicas=3))
    )

    found = json.loads(result.stdout)
    assert sum(len(node["pods"]) for node in found["newNodes"]) == 3
    assert not found["unschedulable"]


def test_json_has_exactly_the_keys_that_programs_rely_on() -> None:
    result = plan("--from", "-", "--format", "json", given=as_yaml(workload(replicas=3)))

    found = json.loads(result.stdout)
    assert list(found) == KEYS
    assert list(found["newNodes"][0]) == [
        "nodePool", "instanceTypes", "capacityType", "zones", "pods", "requests", "usdPerHour",
    ]  # fmt: skip
    assert list(found["usdPerHour"]) == ["existing", "new"]
    assert all(isinstance(amount, int) for amount in found["newNodes"][0]["requests"].values())


def test_json_of_a_comparison_holds_both_plans_and_the_difference(tmp_path: Path) -> None:
    other = tmp_path / "other.yaml"
    other.write_bytes(as_yaml(workload(replicas=9)))

    result = plan(
        "--from", "-", "--against", str(other), "--format", "json", given=as_yaml(workload())
    )

    found = json.loads(result.stdout)
    assert found["schemaVersion"] == 1
    assert (list(found["before"]), list(found["after"])) == (KEYS[1:], KEYS[1:])
    assert list(found["difference"]) == [
        "nodePools", "total", "becomeUnschedulable", "becomeSchedulable",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        pytest.param((), 0, id="a plan is made, although a pod fits nowhere"),
        pytest.param(("--strict",), 3, id="with --strict that is an error"),
        pytest.param(("--instance-types", "nowhere.json"), 2, id="the input cannot be used"),
    ],
)
def test_the_exit_code_tells_what_came_of_it(arguments: tuple[str, ...], code: int) -> None:
    huge = pod(spec={"containers": [{"name": "a", "resources": {"requests": {"cpu": "5000"}}}]})

    assert plan("--from", "-", *arguments, given=as_yaml(huge)).exit_code == code


def test_with_strict_a_plan_in_which_all_fits_is_fine() -> None:
    assert plan("--from", "-", "--strict", given=as_yaml(pod())).exit_code == 0


def test_a_folder_is_read_with_those_in_it_but_without_what_is_hidden(tmp_path: Path) -> None:
    for name in ("a.yaml", "deep/b.yml", ".git/c.yaml", "notes.txt"):
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(as_yaml(workload(name=path.stem)))

    result = plan("--from", str(tmp_path), "--format", "json")

    pods = [each for node in json.loads(result.stdout)["newNodes"] for each in node["pods"]]
    assert sorted(each.split("-")[0] for each in pods) == ["default/a", "default/b"]


@pytest.mark.parametrize(
    ("given", "message"),
    [
        pytest.param(b"", "standard input: holds no object", id="nothing"),
        pytest.param(b"# nothing", "standard input: holds no object", id="a comment"),
        pytest.param(as_yaml(5, [1]), "is the value '5'", id="nothing of Kubernetes"),
    ],
)
def test_input_that_holds_too_little_says_what_to_do(given: bytes, message: str) -> None:
    result = plan("--from", "-", given=given)

    assert result.exit_code == 2
    assert result.stdout == ""
    assert message in result.stderr


def test_an_empty_folder_says_what_is_looked_for(tmp_path: Path) -> None:
    assert "holds no file that ends in .yaml, .yml, .json" in plan("--from", str(tmp_path)).stderr


def test_standard_input_is_read_once() -> None:
    assert "can be read once" in plan("--from", "-", "--nodepools", "-").stderr


def test_types_made_up_on_request_stand_in_for_those_of_ec2() -> None:
    given = as_yaml(node_pool(kind="EC2NodeClass"), pod())

    result = plan("--from", "-", "--instance-types", "built-in", "--format", "json", given=given)

    assert json.loads(result.stdout)["newNodes"][0]["instanceTypes"][0] == "c-2x-amd64-linux"


def test_notes_go_to_standard_error_where_json_has_no_place_for_them() -> None:
    result = plan("--from", "-", "--format", "json", given=as_yaml(pod()))

    assert "note: no NodePool in the input" in result.stderr
    assert "note" not in result.stdout


def test_a_table_has_colours_only_on_a_terminal() -> None:
    def text(*, colour: bool) -> str:
        request = planning.Request(sources=("-",), colour=colour, built_in_node_pool=True)
        given = io.BytesIO(as_yaml(pod()))
        return planning.answer(request, given, lambda *_: None, lambda: 0.0).text

    assert "\x1b[" in text(colour=True)
    assert "\x1b[" not in text(colour=False)


def test_the_order_of_documents_does_not_change_the_plan() -> None:
    documents = [
        each
        for name in ("workloads.yaml", "nodepools.yaml")
        for each in yaml.safe_load_all((SHOP / name).read_text())
    ]

    def answer(objects: list[Any]) -> str:
        options = ("--instance-types", str(TYPES), "--format", "json")
        return plan("--from", "-", *options, given=as_yaml(*objects)).stdout

    assert answer(documents) == answer(documents[::-1])


def test_two_hash_seeds_make_the_same_text() -> None:
    def answer(seed: str) -> str:
        program = (
            f"import sys; from daiku.cli.main import app; app({['plan', '--from', str(SHOP)]!r}"
        )
        program += f"+ {['--instance-types', str(TYPES), '--format', 'markdown']!r})"
        done = subprocess.run(
            [sys.executable, "-c", program],
            check=True,
            capture_output=True,
            text=True,
            env={**os.environ, "PYTHONHASHSEED": seed},
        )
        return done.stdout

    first = answer("1")

    assert "Daiku plan" in first
    assert answer("2") == first


def test_all_problems_of_all_files_are_told_at_once(tmp_path: Path) -> None:
    broken = tmp_path / "a.yaml"
    broken.write_text("a: [")
    request = planning.Request(
        sources=(str(broken), "-", "nowhere.yaml"), instance_types="nowhere.json"
    )
    given = io.BytesIO(as_yaml(node_pool(limits={"cpu": "x"})))

    with pytest.raises(ManifestError) as caught:
        planning.answer(request, given, lambda *_: None, lambda: 0.0)

    assert len(caught.value.problems) == 4


@pytest.mark.parametrize(
    ("names", "text"),
    [
        ((), ""),
        (("us-west-2a",), "us-west-2a"),
        (("us-west-2a", "us-west-2b", "us-west-2c"), "us-west-2a,b,c"),
        (("a", "b"), "a,b"),
    ],
)
def test_zones_say_once_what_they_have_in_common(names: tuple[str, ...], text: str) -> None:
    assert wording.zones(names) == text


@pytest.mark.parametrize(
    ("bound", "words"),
    [
        pytest.param(1.0, "This is the least possible", id="a bound that is met"),
        pytest.param(0.9999, "Within 0.1 % of", id="nearly met is not met"),
        pytest.param(0.95, "Within 5.3 % of", id="near"),
        pytest.param(0.5, "At most 100.0 % more than", id="far"),
        pytest.param(0.0, "How little it could cost is not known", id="no bound"),
    ],
)
def test_the_gap_is_said_without_claiming_more_than_is_proven(bound: float, words: str) -> None:
    assert wording.bound(_forecast(usd=1.0, bound=bound)).startswith(words)


def test_a_pod_that_asks_for_devices_fits_nowhere_and_the_plan_is_not_sound() -> None:
    claim = [{"name": "v", "resourceClaimName": "gpu"}]
    given = as_yaml(pod(spec={"resourceClaims": claim, "containers": [{"name": "c"}]}))

    for output in ("table", "markdown"):
        result = plan("--from", "-", "--strict", "--format", output, given=given)

        assert result.exit_code == 3
        assert "1 pod fits nowhere." in result.stdout
        assert "devices of ResourceClaim v; Daiku does not allocate devices" in result.stdout


@pytest.mark.parametrize(
    ("figure", "text"),
    [("0.0000", "="), ("-0", "="), ("1,234", "+1,234"), ("-0.5000", "-0.5000")],
)
def test_a_difference_has_a_sign(figure: str, text: str) -> None:
    assert figures.signed(figure) == text


def test_repack_says_what_the_nodes_that_run_could_become() -> None:
    asked = ("--from", str(ROOT / "tests" / "scenarios" / "live.json"), "--repack")

    table, found = plan(*asked), plan(*asked, "--format", "json")

    assert "repacking any of 0 nodes saves nothing" in table.stdout
    assert json.loads(found.stdout)["repack"]["steps"] == []
