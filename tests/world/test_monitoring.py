"""Dashboards and alerts against what a controller really serves, asked by a real Prometheus; how many series it is."""

import json
import shutil
import socket
import subprocess
import time
import urllib.parse
import urllib.request
from collections.abc import Generator
from pathlib import Path
from typing import Any

import pytest
import yaml
from tests.world import kwok_cluster
from tests.world.kwok_cluster import Cluster, until

import daiku

pytestmark = pytest.mark.world
FOLDER = Path(daiku.__file__).parent / "monitoring"
PROMETHEUS = shutil.which("prometheus")
SERIES_MAX = 200
NOT_OF_KWOK = ("interruption", "launch_failures", "batcher")
"""Parts of the names of metrics that only AWS has."""
SILENT_WHEN_WELL = (
    "eviction", "errors_total", "watch_failures", "watch_relists", "disruption_initiated", "decisions_total",
    "savings", "disrupted_total", "terminated_total", "gap_to_lower_bound", "nodes_kept",
)  # fmt: skip
"""Parts of the names of metrics that have no series before something of the kind has happened."""


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Generator[Cluster]:
    with kwok_cluster.cluster(tmp_path_factory.mktemp("monitoring") / "world") as made:
        yield made


@pytest.fixture(scope="module")
def prometheus(cluster: Cluster, tmp_path_factory: pytest.TempPathFactory) -> Generator[str]:
    """Address of a Prometheus that scrapes the controller and knows the alerts."""
    if PROMETHEUS is None:
        pytest.skip("no prometheus here: apt-get install prometheus")
    folder = tmp_path_factory.mktemp("prometheus")
    rules = yaml.safe_load((FOLDER / "alerts.yaml").read_text())["spec"]
    (folder / "rules.json").write_text(json.dumps(rules))
    config = {
        "global": {"scrape_interval": "1s", "evaluation_interval": "1s"},
        "rule_files": ["rules.json"],
        "scrape_configs": [
            {"job_name": "daiku", "static_configs": [{"targets": [f"127.0.0.1:{cluster.metrics}"]}]}
        ],
    }
    (folder / "prometheus.json").write_text(json.dumps(config))
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        address = f"127.0.0.1:{probe.getsockname()[1]}"
    flags = [
        f"--config.file={folder / 'prometheus.json'}",
        f"--storage.tsdb.path={folder / 'tsdb'}",
        f"--web.listen-address={address}",
    ]
    with (folder / "log").open("w") as log:
        process = subprocess.Popen([PROMETHEUS, *flags], cwd=folder, stdout=log, stderr=log)
    try:
        until(lambda: _is_scraped(address))
        # A rate needs a few values.
        time.sleep(8)
        yield address
    finally:
        process.terminate()
        process.wait(30)


def test_a_small_cluster_has_fewer_series_than_200(cluster: Cluster) -> None:
    with urllib.request.urlopen(
        f"http://127.0.0.1:{cluster.metrics}/metrics", timeout=10
    ) as answer:
        lines = answer.read().decode().splitlines()

    series = [line for line in lines if line and not line.startswith("#")]

    assert len(series) < SERIES_MAX, "\n".join(series)


@pytest.mark.parametrize(
    "path", sorted((FOLDER / "dashboards").glob("*.json")), ids=lambda p: p.stem
)
def test_every_query_of_a_dashboard_has_an_answer(prometheus: str, path: Path) -> None:
    for panel in json.loads(path.read_text())["panels"]:
        for target in panel["targets"]:
            expression = target["expr"].replace("$nodepool", ".*").replace("[1h]", "[1m]")
            found = _ask(prometheus, "query", query=expression)["result"]

            silent = any(part in expression for part in (*NOT_OF_KWOK, *SILENT_WHEN_WELL))
            assert found or silent, f"{panel['title']}: {expression}"


def test_the_variables_of_dashboards_find_values(prometheus: str) -> None:
    found = _ask(prometheus, "label/nodepool/values", **{"match[]": "karpenter_nodepools_usage"})

    assert found == ["kwok"]


def test_prometheus_takes_every_alert_and_none_fires_while_all_is_well(prometheus: str) -> None:
    groups = _ask(prometheus, "rules")["groups"]

    rules = [rule for group in groups for rule in group["rules"]]
    assert {rule["health"] for rule in rules} == {"ok"}
    assert [rule["name"] for rule in rules if rule["state"] != "inactive"] == []


def _is_scraped(address: str) -> bool:
    try:
        return bool(_ask(address, "query", query="daiku_ticks_total")["result"])
    except OSError:
        return False


def _ask(address: str, path: str, **query: str) -> Any:
    url = f"http://{address}/api/v1/{path}?{urllib.parse.urlencode(query)}"
    with urllib.request.urlopen(url, timeout=10) as answer:
        return json.loads(answer.read())["data"]
