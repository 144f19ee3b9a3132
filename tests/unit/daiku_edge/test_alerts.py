"""Alerts and dashboards ask only for what the controller measures: an expression without a metric is silent for ever.

What alerts do over time is tried by Prometheus' own promtool; tests/world/test_monitoring.py has a real Prometheus.
"""

import json
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any, cast

import pytest
import yaml
from prometheus_client import Counter, Histogram, Summary
from prometheus_client.metrics import MetricWrapperBase

from daiku import commands
from daiku.telemetry import metrics

FOLDER = Path(__file__).resolve().parents[3] / "controller" / "daiku" / "monitoring"
FILE = FOLDER / "alerts.yaml"
DASHBOARDS = sorted((FOLDER / "dashboards").glob("*.json"))
PROMTOOL = shutil.which("promtool")
METRIC = re.compile(r"\b((?:daiku|karpenter)_[a-z0-9_]+)(?:\{([^}]*)\})?")
LABEL = re.compile(r'(\w+)\s*(?:=~|!~|!=|=)\s*"([^"]*)"')


WELL = {
    'daiku_leader{instance="a",job="daiku"}': "1x60",
    'daiku_leader{instance="b",job="daiku"}': "0x60",
    'daiku_commands_total{command="Launch",outcome="done",instance="a",job="daiku"}': "0+1x60",
    'daiku_commands_total{command="Launch",outcome="failed",instance="a",job="daiku"}': "0x60",
    'karpenter_scheduler_unschedulable_pods_count{controller="provisioner",instance="a",job="daiku"}': "0x60",
    'daiku_watch_failures_total{kind="Pod",instance="a",job="daiku"}': "0+0x30 1x29",
    'daiku_nodes_kept_count{reason="Budget",instance="a",job="daiku"}': "3x60",
    'karpenter_nodepools_usage{nodepool="spot",resource_type="cpu",instance="a",job="daiku"}': "40x60",
    'karpenter_nodepools_limit{nodepool="spot",resource_type="cpu",instance="a",job="daiku"}': "100x60",
}
"""A cluster in which all is well, a value a minute."""
ILL = {
    "DaikuHasNoLeader": ({'daiku_leader{instance="a",job="daiku"}': "0x60"}, {}),
    "DaikuLaunchesFail": (
        {
            'daiku_commands_total{command="Launch",outcome="done",instance="a",job="daiku"}': "7x60",
            'daiku_commands_total{command="Launch",outcome="failed",instance="a",job="daiku"}': "0+1x60",
        },
        {},
    ),
    "DaikuPodsUnschedulable": (
        {'karpenter_scheduler_unschedulable_pods_count{controller="provisioner",instance="a",job="daiku"}': "2x60"},
        {},
    ),
    "DaikuWatchesFail": (
        {'daiku_watch_failures_total{kind="Pod",instance="a",job="daiku"}': "0+1x60"}, {"kind": "Pod"}
    ),
    "DaikuDisruptionStopped": (
        {'daiku_nodes_kept_count{reason="DriftStopped",instance="a",job="daiku"}': "1x60"}, {}
    ),
    "DaikuNodePoolNearItsLimit": (
        {'karpenter_nodepools_usage{nodepool="spot",resource_type="cpu",instance="a",job="daiku"}': "95x60"},
        {"nodepool": "spot", "resource_type": "cpu"},
    ),
}  # fmt: skip
"""Alert -> what is otherwise in its scenario, and the labels that it fires with."""


def rules() -> list[dict[str, Any]]:
    content = cast("dict[str, Any]", yaml.safe_load(FILE.read_text()))
    return [rule for group in content["spec"]["groups"] for rule in group["rules"]]


def known() -> dict[str, set[str]]:
    """Names of the series that are served, with the labels of each."""
    found: dict[str, set[str]] = {}
    for each in vars(metrics).values():
        if isinstance(each, MetricWrapperBase):
            own: Any = each
            endings = ("_total",) if isinstance(each, Counter) else ("",)
            if isinstance(each, Histogram):
                endings = ("_bucket", "_count", "_sum")
            if isinstance(each, Summary):
                endings = ("_count", "_sum")
            for ending in endings:
                found[f"{own._name}{ending}"] = set(own._labelnames)
    return found


@pytest.mark.parametrize("rule", rules(), ids=lambda rule: rule["alert"])
def test_an_alert_asks_for_metrics_and_labels_that_exist(rule: dict[str, Any]) -> None:
    asked = METRIC.findall(rule["expr"])

    assert asked
    for name, selector in asked:
        assert name in known()
        for label, _ in LABEL.findall(selector):
            assert label in known()[name]


@pytest.mark.parametrize("rule", rules(), ids=lambda rule: rule["alert"])
def test_an_alert_says_what_is_wrong_and_what_to_do_with_metrics_that_exist(
    rule: dict[str, Any],
) -> None:
    said = rule["annotations"]

    assert said["summary"]
    assert {name for name, _ in METRIC.findall(said["action"])} <= known().keys()
    assert rule["labels"]["severity"] in {"critical", "warning"}


def test_commands_that_alerts_count_are_commands_of_the_controller() -> None:
    asked = [
        value
        for rule in rules()
        for _, selector in METRIC.findall(rule["expr"])
        for label, value in LABEL.findall(selector)
        if label == "command"
    ]

    assert asked
    assert all(hasattr(commands, name) for name in asked)


def queries(path: Path) -> list[tuple[str, str]]:
    """Title of each panel with each of its expressions."""
    board = cast("dict[str, Any]", json.loads(path.read_text()))
    return [(p["title"], t["expr"]) for p in board["panels"] for t in p["targets"]]


@pytest.mark.parametrize("path", DASHBOARDS, ids=lambda path: path.stem)
def test_a_dashboard_asks_for_metrics_and_labels_that_exist(path: Path) -> None:
    board = json.loads(path.read_text())
    served = known() | {"process_cpu_seconds_total": {"job"}}

    assert board["uid"] == path.stem
    assert queries(path)
    for title, expression in queries(path):
        asked = re.findall(
            r"\b((?:daiku|karpenter|process)_[a-z0-9_]+)(?:\{([^}]*)\})?", expression
        )
        assert asked, title
        for name, selector in asked:
            assert name in served, title
            for label, _ in LABEL.findall(selector):
                assert label in served[name] or label == "job", title


@pytest.mark.parametrize("path", DASHBOARDS, ids=lambda path: path.stem)
def test_panels_of_a_dashboard_lie_beside_each_other(path: Path) -> None:
    boxes = [panel["gridPos"] for panel in json.loads(path.read_text())["panels"]]

    cells = [
        (x, y)
        for box in boxes
        for x in range(box["x"], box["x"] + box["w"])
        for y in range(box["y"], box["y"] + box["h"])
    ]
    assert len(cells) == len(set(cells))
    assert all(box["x"] + box["w"] <= 24 for box in boxes)


def test_every_alert_has_a_scenario() -> None:
    assert {rule["alert"] for rule in rules()} == set(ILL)


@pytest.mark.parametrize("ill", ["", *ILL], ids=lambda name: name or "all is well")
def test_an_alert_fires_in_its_scenario_and_only_there(ill: str, tmp_path: Path) -> None:
    if PROMTOOL is None:
        pytest.skip("no promtool here: apt-get install prometheus")
    changed, labels = ILL[ill] if ill else ({}, {})
    series = [{"series": name, "values": values} for name, values in (WELL | changed).items()]
    severity = {rule["alert"]: rule["labels"]["severity"] for rule in rules()}
    fires = {"alertname": ill, "alertstate": "firing", "severity": severity.get(ill, ""), **labels}
    named = ",".join(f'{key}="{value}"' for key, value in fires.items())
    firing = [{"labels": f"ALERTS{{{named}}}", "value": 1}] if ill else []
    (tmp_path / "rules.json").write_text(json.dumps(yaml.safe_load(FILE.read_text())["spec"]))
    trial = {
        "rule_files": ["rules.json"],
        "evaluation_interval": "1m",
        "tests": [
            {
                "interval": "1m",
                "input_series": series,
                "promql_expr_test": [
                    {
                        "expr": 'ALERTS{alertstate="firing"}',
                        "eval_time": "50m",
                        "exp_samples": firing,
                    }
                ],
            }
        ],
    }
    (tmp_path / "trial.json").write_text(json.dumps(trial))

    done = subprocess.run(
        [PROMTOOL, "test", "rules", "trial.json"], cwd=tmp_path, capture_output=True, text=True, check=False
    )  # fmt: skip

    assert done.returncode == 0, done.stdout + done.stderr
