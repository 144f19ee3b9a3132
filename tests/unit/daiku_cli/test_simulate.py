import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml
from typer.testing import CliRunner, Result

from daiku.cli.main import app

ROOT = Path(__file__).resolve().parents[3]
DAY = ROOT / "examples" / "simulate" / "day.yaml"
TYPES = [
    {
        "name": f"m-{cpu}x",
        "architecture": "amd64",
        "operatingSystems": ["linux"],
        "resources": {"cpu": str(cpu), "memory": f"{4 * cpu}Gi", "pods": "110"},
        "offerings": [
            {
                "Price": cpu * 0.05 * (0.5 if kind == "spot" else 1.0),
                "Available": True,
                "Requirements": [
                    {"key": "karpenter.sh/capacity-type", "operator": "In", "values": [kind]},
                    {"key": "topology.kubernetes.io/zone", "operator": "In", "values": [zone]},
                ],
            }
            for zone in ("a", "b")
            for kind in ("spot", "on-demand")
        ],
    }
    for cpu in (4, 8)
]
WEB = {"name": "web", "cpu": "900m", "memory": "1Gi", "replicas": 4}


def pool(*kinds: str, **disruption: Any) -> dict[str, Any]:
    return {
        "apiVersion": "karpenter.sh/v1",
        "kind": "NodePool",
        "metadata": {"name": "general"},
        "spec": {
            "template": {
                "spec": {
                    "nodeClassRef": {"group": "karpenter.kwok.sh", "kind": "KWOKNodeClass", "name": "default"},
                    "requirements": [
                        {"key": "karpenter.sh/capacity-type", "operator": "In", "values": list(kinds)}
                    ],
                }
            },
            "disruption": {"consolidateAfter": "1m", "budgets": [{"nodes": "100%"}], **disruption},
        },
    }  # fmt: skip


def scenario(*workloads: dict[str, Any], **spec: Any) -> dict[str, Any]:
    return {
        "apiVersion": "daiku.dev/v1alpha1",
        "kind": "Scenario",
        "metadata": {"name": "test"},
        "spec": {"duration": "2h", "workloads": list(workloads), **spec},
    }


class Desk:
    """A folder with files, and the command."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        (folder / "types.json").write_text(json.dumps(TYPES))

    def file(self, name: str, *objects: Any) -> str:
        (self.folder / name).write_text(yaml.safe_dump_all(objects))
        return str(self.folder / name)

    def run(self, *arguments: str) -> Result:
        types = ("--instance-types", str(self.folder / "types.json"))
        return CliRunner().invoke(app, ["simulate", *arguments, *types])

    def results(self, *objects: Any, arguments: tuple[str, ...] = ()) -> list[dict[str, Any]]:
        answer = self.run(self.file("in.yaml", *objects), *arguments, "--json")
        assert answer.exit_code == 0, answer.output
        return json.loads(answer.stdout)["results"]


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    return Desk(tmp_path)


def test_a_service_costs_its_node_for_as_long_as_it_runs(desk: Desk) -> None:
    (found,) = desk.results(scenario(WEB), pool("on-demand"))

    # Four pods of 900m fill one node of 4 cpus at $0.20/h, from a few seconds after the start.
    assert found["nodes"]["launched"] == 1
    assert 0.398 < found["usd"] < 0.4
    assert found["pods"]["bound"] == 4
    assert 40 < found["pods"]["waitSeconds"]["max"] < 60
    assert found["utilisation"]["cpu"] == pytest.approx(3.6 / 3.9, abs=0.001)


def test_the_same_seed_gives_the_same_day_and_another_one_another(desk: Desk) -> None:
    jobs = {
        "name": "jobs",
        "cpu": ["500m", "1"],
        "memory": "1Gi",
        "perHour": 60,
        "lasts": {"mean": "10m"},
    }
    day = (scenario(jobs, interruptions={"perHour": 0.5}), pool("spot"))

    first, again = desk.results(*day), desk.results(*day)
    other = desk.results(*day, arguments=("--seed", "2"))

    assert first == again
    assert first != other


def test_the_hash_seed_of_the_process_changes_nothing(desk: Desk) -> None:
    jobs = {
        "name": "jobs",
        "cpu": ["500m", "1"],
        "memory": "1Gi",
        "perHour": 60,
        "lasts": {"mean": "10m"},
    }
    day = scenario(jobs, {**WEB, "maxUnavailable": 1}, interruptions={"perHour": 2}, duration="40m")
    types = ("--instance-types", str(desk.folder / "types.json"), "--json")
    command = [
        str(Path(sys.executable).parent / "daiku"),
        "simulate",
        desk.file("in.yaml", day, pool("spot")),
    ]

    answers = [
        subprocess.run(
            [*command, *types], env={**os.environ, "PYTHONHASHSEED": seed}, capture_output=True, check=True
        ).stdout
        for seed in ("1", "2")
    ]  # fmt: skip

    assert answers[0] == answers[1]


def test_a_wave_of_interruptions_moves_every_pod_and_none_is_lost(desk: Desk) -> None:
    wave = {"interruptions": {"waves": [{"at": "1h", "share": 1.0}]}}
    (found,) = desk.results(scenario(WEB, **wave), pool("spot"))

    assert found["nodes"]["interrupted"] == 1
    assert found["pods"]["evicted"] == {"Forceful Termination": 4}
    assert found["pods"]["stillWaiting"] == 0
    assert found["samples"][-1]["pods"] == 4


def test_what_a_budget_forbids_to_evict_dies_with_its_machine(desk: Desk) -> None:
    wave = {"interruptions": {"waves": [{"at": "1h", "share": 1.0}]}}
    (found,) = desk.results(scenario({**WEB, "maxUnavailable": 0}, **wave), pool("spot"))

    assert found["pods"]["evicted"] == {}
    assert found["pods"]["killed"] == 4
    assert found["samples"][-1]["pods"] == 4


def test_pods_wait_while_everything_is_sold_out(desk: Desk) -> None:
    (found,) = desk.results(scenario(WEB, soldOut=[{"to": "30m"}]), pool("spot", "on-demand"))

    assert found["nodes"]["launchesRefused"] > 0
    assert 1800 < found["pods"]["waitSeconds"]["p50"] < 2100
    assert found["pods"]["stillWaiting"] == 0


def test_on_demand_is_bought_while_spot_is_sold_out(desk: Desk) -> None:
    sold_out = [{"capacityType": "spot"}]
    (found,) = desk.results(scenario(WEB, soldOut=sold_out), pool("spot", "on-demand"))

    assert [each["capacityType"] for each in found["costs"]] == ["on-demand"]


def test_a_price_that_doubles_halfway_costs_half_as_much_again(desk: Desk) -> None:
    (plain,) = desk.results(scenario(WEB), pool("on-demand"))
    (dearer,) = desk.results(scenario(WEB, prices=[{"at": "1h", "factor": 2}]), pool("on-demand"))

    assert dearer["usd"] == pytest.approx(plain["usd"] * 1.5, rel=0.01)


def test_nodes_go_when_a_batch_is_done(desk: Desk) -> None:
    batch = {
        "name": "etl",
        "cpu": "2",
        "memory": "2Gi",
        "batch": {"pods": 6, "at": "00:10"},
        "lasts": "15m",
    }
    (found,) = desk.results(scenario(batch), pool("on-demand"))

    assert found["pods"]["bound"] == 6
    assert set(found["nodes"]["ended"]) == {"Empty"}
    assert found["samples"][-1]["nodes"] == 0


def test_pods_that_keep_apart_get_nodes_of_their_own(desk: Desk) -> None:
    apart = {
        "metadata": {"labels": {"app": "db"}},
        "spec": {
            "containers": [{"name": "db", "resources": {"requests": {"cpu": "500m", "memory": "1Gi"}}}],
            "affinity": {
                "podAntiAffinity": {
                    "requiredDuringSchedulingIgnoredDuringExecution": [
                        {"labelSelector": {"matchLabels": {"app": "db"}}, "topologyKey": "kubernetes.io/hostname"}
                    ]
                }
            },
        },
    }  # fmt: skip
    (found,) = desk.results(
        scenario({"name": "db", "replicas": 3, "template": apart}), pool("on-demand")
    )

    assert found["samples"][-1]["nodes"] == 3
    assert found["samples"][-1]["pods"] == 3


def test_pods_without_any_place_are_counted_and_the_reason_is_said(desk: Desk) -> None:
    (found,) = desk.results(scenario({**WEB, "cpu": "64"}), pool("on-demand"))

    assert found["pods"]["stillWaiting"] == 4
    assert list(found["pods"]["whyNot"].values()) == [4]
    assert "cpu" in next(iter(found["pods"]["whyNot"]))


def test_configurations_stand_side_by_side_with_the_same_pods(desk: Desk) -> None:
    spot = desk.file("spot.yaml", pool("spot"))
    dear = desk.file("dear.yaml", pool("on-demand"))

    answer = desk.run(desk.file("in.yaml", scenario(WEB)), "--config", spot, "--config", dear)

    assert answer.exit_code == 0
    rows = {line.split("  ")[0]: line for line in answer.stdout.splitlines()}
    assert "(+100.0 %)" in rows["cost"]
    assert answer.stdout.splitlines()[0].split() == ["SPOT", "DEAR"]


def test_a_configuration_may_set_how_its_controller_decides(desk: Desk) -> None:
    slow = {
        "apiVersion": "daiku.dev/v1alpha1",
        "kind": "Settings",
        "metadata": {"name": "slow"},
        "spec": {"env": {"BATCH_IDLE_DURATION": "30s", "BATCH_MAX_DURATION": "60s"}},
    }
    (quick,) = desk.results(scenario(WEB), pool("spot"))
    (late,) = desk.results(scenario(WEB), pool("spot"), slow)

    more = late["pods"]["waitSeconds"]["p50"] - quick["pods"]["waitSeconds"]["p50"]
    assert 28 < more < 32


def test_a_trace_is_the_same_as_csv_and_as_json_lines(desk: Desk) -> None:
    lines = [{"time": t, "duration": 600, "cpu": "500m", "memory": "1Gi"} for t in (0, 60, 900)]
    header = ",".join(lines[0])
    rows = [",".join(str(value) for value in line.values()) for line in lines]
    (desk.folder / "pods.csv").write_text("\n".join([header, *rows]))
    (desk.folder / "pods.jsonl").write_text("\n".join(json.dumps(line) for line in lines))

    found = [
        desk.results(pool("spot"), arguments=("--trace", str(desk.folder / name)))
        for name in ("pods.csv", "pods.jsonl")
    ]

    assert found[0] == found[1]
    assert found[0][0]["pods"]["bound"] == 3


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        pytest.param({"wrkloads": []}, "wrkloads", id="a field that does not exist"),
        pytest.param({"duration": "a day"}, "'a day' is not a duration", id="no duration"),
        pytest.param({"workloads": [{"name": "a", "replicas": 1}]}, "say what its pods ask for", id="no size"),
        pytest.param({"workloads": [{"name": "a", "cpu": "1"}]}, "exactly one of", id="nothing comes"),
        pytest.param({"workloads": [{"name": "a", "cpu": "1", "perHour": 3}]}, "lasts: is missing", id="no end"),
        pytest.param({"workloads": [{"name": "a", "cpu": "x", "replicas": 1}]}, "'x' is not a quantity", id="no cpu"),
        pytest.param({"prices": [{"factor": 0}]}, "prices.factor", id="for nothing"),
        pytest.param({"trace": "nowhere.csv"}, "No such file", id="no trace"),
    ],
)  # fmt: skip
def test_a_mistake_is_named_with_its_place(desk: Desk, spec: dict[str, Any], message: str) -> None:
    answer = desk.run(desk.file("in.yaml", scenario(**{"workloads": [WEB], **spec}), pool("spot")))

    assert answer.exit_code == 2
    assert message in answer.stderr
    assert "in.yaml, document 1" in answer.stderr


def test_every_wrong_line_of_a_trace_is_named(desk: Desk) -> None:
    (desk.folder / "pods.csv").write_text(
        "time,duration,cpu,memory\n0,5,1,1Gi\n1,x,1,1Gi\n2,5,one,1Gi\n3,5,,1Gi\n"
    )

    answer = desk.run(desk.file("in.yaml", pool("spot")), "--trace", str(desk.folder / "pods.csv"))

    assert answer.exit_code == 2
    assert [re.findall(r"line (\d+)", line) for line in answer.stderr.splitlines()] == [
        ["3"],
        ["4"],
        ["5"],
    ]


def test_the_examples_can_be_read(desk: Desk) -> None:
    short = yaml.safe_load_all(DAY.read_text())
    documents = [each for each in short if each]
    documents[0]["spec"]["duration"] = "30m"

    for name in ("spot.yaml", "on-demand.yaml"):
        arguments = ("--config", str(DAY.with_name(name)), "--instance-types", "built-in")
        answer = CliRunner().invoke(
            app, ["simulate", desk.file("day.yaml", *documents), *arguments]
        )
        assert answer.exit_code == 0, answer.output


def test_the_report_needs_nothing_beside_itself_and_opens_in_a_browser(desk: Desk) -> None:
    report = desk.folder / "day.html"
    configs = [desk.file(f"{kind}.yaml", pool(kind)) for kind in ("spot", "on-demand")]
    answer = desk.run(
        desk.file("in.yaml", scenario(WEB)), "--config", configs[0], "--config", configs[1], "--report", str(report)
    )  # fmt: skip

    assert answer.exit_code == 0, answer.output
    page = report.read_text()
    assert page.count("<svg") == 7
    assert len(page) < 1_000_000
    # Namespaces are names; nothing is fetched.
    assert not re.findall(r"(?:src|(?<!xlink:)href)\s*=\s*[\"'](?!#)", page)
    assert "<script" not in page
    browser = shutil.which("chromium") or shutil.which("chromium-browser")
    if browser is None:
        pytest.skip("no chromium here: apt-get install chromium")
    picture = desk.folder / "day.png"
    seen = subprocess.run(
        [
            browser, "--headless", "--no-sandbox", "--disable-gpu", f"--user-data-dir={desk.folder / 'profile'}",
            f"--screenshot={picture}", "--dump-dom", report.as_uri(),
        ],
        capture_output=True, text=True, check=True, timeout=120,
    )  # fmt: skip
    assert picture.stat().st_size > 10_000
    assert seen.stdout.count("</svg>") == 7
    assert "Where the money went" in seen.stdout
