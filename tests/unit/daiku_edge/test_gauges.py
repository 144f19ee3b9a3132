"""What is counted of commands that were carried out."""

import pytest
from prometheus_client import REGISTRY
from tests import build

from daiku.commands import CreateNodeClaim
from daiku.model import labels
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
