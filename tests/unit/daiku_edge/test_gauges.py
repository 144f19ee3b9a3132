"""What is counted of commands that were carried out, and of pods that wait."""

import pytest
from prometheus_client import REGISTRY
from tests import build

from daiku.commands import CreateNodeClaim
from daiku.model import labels
from daiku.report import Blocker, Report, Unschedulable
from daiku.runtime.gauges import Gauges


def created(**asked: str) -> float:
    found = REGISTRY.get_sample_value("karpenter_nodeclaims_created_total", asked)
    return found or 0.0


@pytest.mark.parametrize(
    ("reason", "counted"),
    [("provisioned", "provisioned"), ("Drifted", "drifted"), ("Underutilized", "underutilized")],
)
def test_a_new_claim_is_counted_by_why_it_was_made(reason: str, counted: str) -> None:
    claim = build.node_claim(
        pool=f"counted-{counted}", annotations={labels.MIN_VALUES_RELAXED: "true"}
    )
    asked = {"reason": counted, "nodepool": f"counted-{counted}", "min_values_relaxed": "true"}
    before = created(**asked)

    Gauges().carried(CreateNodeClaim(node_claim=claim, reason=reason))

    assert created(**asked) == before + 1


def test_pods_that_the_price_guard_holds_are_counted_by_node_pool_until_they_are_not() -> None:
    def waiting(pool: str, *pods: str, reason: str = "CapacityUnavailable") -> Unschedulable:
        blocker = Blocker(nodepool=pool, reason=reason, asked="", offered="")
        return Unschedulable(pods=pods, blockers=(blocker,))

    def held(pool: str) -> float | None:
        return REGISTRY.get_sample_value("daiku_price_guard_held_pods_count", {"nodepool": pool})

    cluster = build.cluster(build.node_pool("dear"), build.node_pool("plain"))
    snapshot, gauges = cluster.snapshot(build.NOW), Gauges()
    waits = (
        waiting("dear", "a", "b"),
        waiting("dear", "c"),
        waiting("plain", "d", reason="LimitExceeded"),
    )

    gauges.observe(snapshot, Report(unschedulable=waits), cluster.catalogue)
    assert (held("dear"), held("plain")) == (3, None)
    gauges.observe(snapshot, Report(), cluster.catalogue)
    assert held("dear") == 0
