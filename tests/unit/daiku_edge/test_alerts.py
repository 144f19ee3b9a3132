"""Alerts ask only for what the controller measures: an expression without a metric never fires, and nobody notices."""

import re
from pathlib import Path
from typing import Any, cast

import pytest
import yaml
from prometheus_client import Counter, Histogram
from prometheus_client.metrics import MetricWrapperBase

from daiku import commands
from daiku.telemetry import metrics

FILE = Path(__file__).resolve().parents[3] / "examples" / "alerts.yaml"
METRIC = re.compile(r"\b((?:daiku|karpenter)_[a-z0-9_]+)(?:\{([^}]*)\})?")
LABEL = re.compile(r'(\w+)\s*(?:=~|!~|!=|=)\s*"([^"]*)"')


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
