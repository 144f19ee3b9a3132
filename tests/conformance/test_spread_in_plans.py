"""Where plans put pods that are to be spread, by the number of them in each domain.

Source: karpenter-core, provisioning/scheduling/topology_test.go (the rows of zones, hosts, capacity types, their
combinations, minDomains, matchLabelKeys, node policies); kube-scheduler's podtopologyspread where they differ: a
selector that selects everything counts nothing, and a domain without a node is one in which pods of the batch can have
one.
"""

from collections.abc import Sequence
from typing import Any

import pytest
from tests import build
from tests.conformance.spreading import (
    EXISTS,
    TAINT,
    TYPES,
    among,
    counted,
    full,
    pool,
    spread,
    web,
)
from tests.plans import Small

from daiku.events import Object
from daiku.model import labels
from daiku.model.nodepool import NodePool
from daiku.model.pod import Pod
from daiku.model.requirements import NO_REQUIREMENTS

EVEN = ["zone-a=1", "zone-b=1", "zone-c=1"]


@pytest.mark.parametrize(
    ("pods", "there", "pools", "found"),
    [
        pytest.param(web(3, spread()), [], [pool()], EVEN, id="one in each zone"),
        pytest.param(
            web(4, spread(max_skew=2)),
            [],
            [pool("zone-a", "zone-b")],
            None,
            id="a larger skew leaves a choice, and is kept",
        ),
        pytest.param(
            web(4, spread(selector=build.needs(build.require("app", "Exists")))),
            [],
            [pool("zone-a", "zone-b")],
            ["zone-a=2", "zone-b=2"],
            id="a selector of expressions",
        ),
        pytest.param(
            web(4, spread()),
            [],
            [pool("zone-a", "zone-b")],
            ["zone-a=2", "zone-b=2"],
            id="the zones of the NodePool's requirements",
        ),
        pytest.param(
            web(2, spread()),
            [],
            [build.node_pool(template_labels={labels.ZONE: "zone-b"})],
            ["zone-b=2"],
            id="the zone of the NodePool's labels",
        ),
        pytest.param(
            web(3, spread()),
            [],
            [pool("zone-a", name="one"), pool("zone-b", "zone-c", name="two")],
            EVEN,
            id="the zones of several NodePools",
        ),
        pytest.param(
            web(3, spread()),
            [],
            [pool("zone-a", name="one", weight=10), pool("zone-b", "zone-c", name="two")],
            EVEN,
            id="whatever their weights",
        ),
        pytest.param(
            web(6, spread()),
            full("zone-c", 1),
            [pool("zone-a", "zone-b")],
            ["zone-a=2", "zone-b=2", "zone-c=1", "2 stuck"],
            id="a zone that cannot grow holds up the others",
        ),
        pytest.param(
            web(10, spread(max_skew=5)),
            [*full("zone-a", 1), *full("zone-b", 1)],
            [pool("zone-c")],
            ["zone-a=1", "zone-b=1", "zone-c=6", "4 stuck"],
            id="into the zone that is not the emptiest, if that is all there is",
        ),
        pytest.param(
            web(4, spread()),
            full("zone-a", 9),
            [pool()],
            ["zone-a=9", "zone-b=2", "zone-c=2"],
            id="a skew that is there already is made no worse",
        ),
        pytest.param(
            web(5, spread()),
            full("zone-a", 1),
            [pool("zone-b")],
            ["zone-a=1", "zone-b=2", "3 stuck"],
            id="no further than the skew",
        ),
        pytest.param(
            web(5, spread(hard=False)),
            full("zone-a", 1),
            [pool("zone-b")],
            ["zone-a=1", "zone-b=5"],
            id="ScheduleAnyway goes further",
        ),
        pytest.param(
            web(3, spread()),
            full("zone-a", 3, deleted=build.NOW),
            [pool()],
            ["zone-a=4", "zone-b=1", "zone-c=1"],
            id="pods that are ending do not count",
        ),
        pytest.param(
            web(3, spread()),
            full("zone-a", 4, labels={"app": "other"}),
            [pool()],
            ["zone-a=5", "zone-b=1", "zone-c=1"],
            id="other pods do not count",
        ),
        pytest.param(
            web(4, spread()),
            [build.node("going", labels_of={labels.ZONE: "zone-c"}, deleted=build.NOW)],
            [pool("zone-a", "zone-b")],
            ["zone-a=2", "zone-b=2"],
            id="a zone whose only node is going",
        ),
        pytest.param(
            web(4, spread(), node_selector={"disk": "ssd"}),
            full("zone-b", 3),
            [pool("zone-a", "zone-b", template_labels={"disk": "ssd"})],
            ["zone-a=2", "zone-b=5"],
            id="pods on nodes that these are not admitted to",
        ),
        pytest.param(
            web(1, spread(selector=among("app", "other"))),
            [*full("zone-a", 3, labels={"app": "other"}), *full("zone-b", 0)],
            [pool("zone-a")],
            ["zone-a=3", "1 stuck"],
            id="away from a skew of pods that it is not one of",
        ),
        pytest.param(
            web(1, spread(selector=among("app", "other"), min_domains=3)),
            [
                *full("zone-a", 2, labels={"app": "other"}),
                *full("zone-b", 2, labels={"app": "other"}),
            ],
            [pool("zone-a", "zone-b")],
            ["zone-a=2", "zone-b=2", "1 stuck"],
            id="away from any skew while there are fewer than minDomains",
        ),
        pytest.param(
            web(3, spread(selector=None)), [], [pool("zone-b")], ["zone-b=3"], id="no selector"
        ),
        pytest.param(
            web(3, spread(selector=NO_REQUIREMENTS)),
            full("zone-a", 9),
            [pool("zone-b")],
            ["zone-a=9", "zone-b=3"],
            id="a selector that selects everything counts nothing",
        ),
        pytest.param(
            web(3, spread(selector=among("app", "other"))),
            [],
            [pool("zone-b")],
            ["zone-b=3"],
            id="a selector that does not select the pods themselves",
        ),
        pytest.param(
            web(3, spread("nobody.example.com/key")),
            [],
            [pool()],
            ["3 stuck"],
            id="a key of nobody",
        ),
        pytest.param(
            web(3, spread(min_domains=3)),
            [],
            [pool("zone-a", "zone-b")],
            ["zone-a=1", "zone-b=1", "1 stuck"],
            id="minDomains with fewer zones",
        ),
        pytest.param(
            web(5, spread(min_domains=3)),
            [],
            [pool()],
            ["zone-a=2", "zone-b=2", "zone-c=1"],
            id="minDomains with as many",
        ),
        pytest.param(
            web(4, spread(min_domains=2)),
            [],
            [pool()],
            ["zone-a=2", "zone-b=1", "zone-c=1"],
            id="minDomains with more",
        ),
        pytest.param(
            web(4, spread(), node_selector={labels.ZONE: "zone-b"}),
            [],
            [pool()],
            ["zone-b=4"],
            id="a selector leaves one zone",
        ),
        pytest.param(
            web(4, spread(), required_node_affinity=(among(labels.ZONE, "zone-a", "zone-b"),)),
            [],
            [pool()],
            ["zone-a=2", "zone-b=2"],
            id="required affinity leaves two",
        ),
        pytest.param(
            web(
                4,
                spread(honors_affinity=False),
                required_node_affinity=(among(labels.ZONE, "zone-b"),),
            ),
            full("zone-a", 1),
            [pool("zone-b")],
            ["zone-a=1", "zone-b=2", "2 stuck"],
            id="nodeAffinityPolicy Ignore counts zones that the pods do not admit",
        ),
        pytest.param(
            web(4, spread(), required_node_affinity=(among(labels.ZONE, "zone-b"),)),
            full("zone-a", 1),
            [pool("zone-b")],
            ["zone-a=1", "zone-b=4"],
            id="nodeAffinityPolicy Honor does not",
        ),
    ],
)
def test_by_zone(
    pods: Sequence[Pod], there: Sequence[Object], pools: Sequence[NodePool], found: list[str] | None
) -> None:
    small = Small(pods=pods, there=there, pools=pools, types=TYPES)

    told = counted(small, labels.ZONE)

    assert told == found if found is not None else not any("stuck" in each for each in told)


def tainted(zone: str) -> list[Object]:
    return [
        build.node("tainted", provider_id="tainted", labels_of={labels.ZONE: zone}, taints=[TAINT])
    ]


@pytest.mark.parametrize(
    ("honors", "tolerations", "found"),
    [
        pytest.param(False, (), ["zone-b=1", "2 stuck"], id="Ignore counts a zone behind a taint"),
        pytest.param(True, (), ["zone-b=3"], id="Honor does not"),
        pytest.param(
            True, EXISTS, ["zone-a=2", "zone-b=1"], id="Honor does if the taint is tolerated"
        ),
    ],
)
def test_node_taints_policy(honors: bool, tolerations: Any, found: list[str]) -> None:
    small = Small(
        pods=web(3, spread(honors_taints=honors), tolerations=tolerations),
        there=tainted("zone-a"),
        pools=[pool("zone-b")],
        types=TYPES,
    )

    assert counted(small, labels.ZONE) == found
