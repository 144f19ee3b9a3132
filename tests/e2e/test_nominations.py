"""Pods go to the nodes that were made for them: with the real kube-scheduler, on nodes of several shapes at once."""

from collections.abc import Iterator
from typing import Any

import pytest
from tests import manifests
from tests.e2e import kwok
from tests.e2e.conftest import Journey, wait
from tests.running import Controller

pytestmark = pytest.mark.e2e
SHAPES = {"cpus": ("1500m", "256Mi"), "memory": ("250m", "6Gi"), "even": ("700m", "2800Mi")}
EACH = 16


@pytest.fixture(scope="module")
def controller(journey: Journey, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Controller]:
    # What is packed is looked at, not what consolidation makes of it later.
    pool = manifests.node_pool(consolidationPolicy="WhenEmpty", consolidateAfter="Never")
    yield from kwok.run(journey, tmp_path_factory, pool)


@pytest.mark.usefixtures("controller")
def test_most_pods_run_where_they_were_packed_although_nodes_come_up_one_after_the_other(
    journey: Journey,
) -> None:
    api = kwok.Api(journey)
    for app, (cpu, memory) in SHAPES.items():
        body = manifests.deployment(app, EACH, cpu=cpu, memory=memory)
        api.client.create(manifests.PATHS["Deployment"], body)

    def running() -> list[Any]:
        return [p for app in SHAPES for p in api.pods(app) if kwok.is_ready(p)]

    wait("all pods running", lambda: len(running()) == EACH * len(SHAPES), 120)

    told = [p for p in running() if p["status"].get("nominatedNodeName")]
    there = [p for p in told if p["status"]["nominatedNodeName"] == p["spec"]["nodeName"]]
    # It is a race: pods that kube-scheduler is trying just then go to room to spare, or lose their nomination. The
    # slower the machine, the more do.
    assert len(told) >= len(running()) / 2
    assert len(there) >= len(told) / 2
