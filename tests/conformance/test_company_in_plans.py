"""Where plans put pods that want company, or want to be alone.

A row says who shares a domain: pods of one zone or host are joined by `+`, domains are in order, pods without a place
stand behind `stuck`.

Source: karpenter-core, provisioning/scheduling/topology_test.go, "Pod Affinity/Anti-Affinity"; kube-scheduler's
interpodaffinity where they differ: several required terms must be met by one pod, and a zone that is open is decided
before anybody relies on it.
"""

from collections.abc import Sequence

import pytest
from tests import build
from tests.conformance.company import (
    HOST,
    TYPES,
    ZONE,
    ZONES,
    apart,
    here,
    in_zone,
    near,
    pod,
    shared,
    shuns,
    term,
    wants,
)
from tests.plans import Small

from daiku.events import Object
from daiku.model import labels
from daiku.model.nodepool import NodePool
from daiku.model.pod import Pod

POOL = build.node_pool()


@pytest.mark.parametrize(
    ("pods", "there", "found"),
    [
        pytest.param([pod("a", pod_affinity=())], [], ["a"], id="nothing asked"),
        pytest.param(
            [pod("a", cpu="900m"), pod("b", cpu="900m", **near("a"))], [], ["a+b"], id="one host"
        ),
        pytest.param(
            [pod("a"), pod("b", **near("nobody"))], [], ["a", "stuck b"], id="company of nobody"
        ),
        pytest.param(
            [pod("a", f"a-{n}", cpu="1", **near("a")) for n in range(4)],
            [],
            ["a-0+a-1+a-2+a-3"],
            id="its own kind, on one host",
        ),
        pytest.param(
            [pod("a", f"a-{n}", cpu="1", **near("a")) for n in range(6)],
            [],
            ["a-0+a-1+a-2+a-3", "stuck a-4+a-5"],
            id="its own kind, as many as one host takes",
        ),
        pytest.param(
            [pod("a", "new", **near("a"))],
            [here(cpu="0"), pod("a", "old", cpu="0", node="here")],
            ["old", "stuck new"],
            id="its own kind, whose host is full",
        ),
        pytest.param(
            [pod("b", **near("a"))],
            [here(), here("there"), pod("a", "old", node="there")],
            ["b+old"],
            id="one that runs",
        ),
        pytest.param(
            [pod("b", **near("a"))],
            [here(), pod("a", "old", node="here", deleted=build.NOW)],
            ["old", "stuck b"],
            id="one that is ending is no company",
        ),
        pytest.param(
            [pod("a"), pod("b", **near("a")), pod("c", **near("b")), pod("d", **near("c"))],
            [],
            ["a+b+c+d"],
            id="a chain",
        ),
        pytest.param(
            [pod("a", **near("b")), pod("b", **near("a"))],
            [],
            ["stuck a+b"],
            id="two that wait for each other",
        ),
        pytest.param(
            [pod("b", pod_affinity=(term("a"), term("c"))), pod("a"), pod("c")],
            [],
            ["a+c", "stuck b"],
            id="two terms that no single pod meets",
        ),
        pytest.param([pod("b", **wants("nobody"))], [], ["b"], id="preferred, and not to be had"),
        pytest.param(
            [pod("b", **wants("a"), **near("c")), pod("a"), pod("c")],
            [],
            ["a+b+c"],
            id="preferred beside required",
        ),
        pytest.param(
            [pod("a", f"a-{n}", **apart("a")) for n in range(3)],
            [],
            ["a-0", "a-1", "a-2"],
            id="apart from its own kind",
        ),
        pytest.param(
            [pod("a"), pod("b", **apart("a"))], [], ["a", "b"], id="apart from another kind"
        ),
        pytest.param(
            [pod("b", **apart("a"))],
            [here(), pod("a", "old", node="here")],
            ["b", "old"],
            id="apart from one that runs",
        ),
        pytest.param(
            [pod("a", "new")],
            [here(), pod("b", "old", node="here", **apart("a"))],
            ["new", "old"],
            id="one that runs keeps it away",
        ),
        pytest.param(
            [pod("a", "new")],
            [here(), pod("b", "old", node="here", **shuns("a"))],
            ["new+old"],
            id="one that runs would rather be alone, which binds nobody",
        ),
        pytest.param(
            [pod("b", "new", **shuns("a"))],
            [here(), pod("a", "old", node="here")],
            ["new", "old"],
            id="it would rather be alone, and can",
        ),
        pytest.param(
            [pod("a", "new", cpu="1", **apart("a"), **near("a"))],
            [here(), pod("a", "old", node="here")],
            ["old", "stuck new"],
            id="near and apart at once",
        ),
        pytest.param(
            [pod("a", f"a-{n}", **shuns("a"), **near("a")) for n in range(2)],
            [],
            ["a-0+a-1"],
            id="required company overrules preferred solitude",
        ),
    ],
)
def test_by_host(pods: Sequence[Pod], there: Sequence[Object], found: list[str]) -> None:
    assert shared(Small(pods=pods, there=there, pools=[POOL], types=TYPES), HOST) == found


def by_zone(*zones: str) -> NodePool:
    return build.node_pool(requirements=build.needs(build.require(ZONE, "In", *zones)))


@pytest.mark.parametrize(
    ("pods", "there", "pool", "found"),
    [
        pytest.param(
            [pod("a", f"a-{n}", cpu="3", **near("a", ZONE)) for n in range(3)],
            [],
            POOL,
            ["a-0+a-1+a-2"],
            id="its own kind, on several nodes of one zone",
        ),
        pytest.param(
            [pod("a", f"a-{n}", cpu="3", **near("a", ZONE), **in_zone("zone-c")) for n in range(2)],
            [],
            POOL,
            ["a-0+a-1"],
            id="its own kind, in a zone that is asked for",
        ),
        pytest.param(
            [pod("a", **in_zone("zone-b")), pod("b", cpu="4", **near("a", ZONE))],
            [],
            POOL,
            ["a+b"],
            id="in the zone of one that is planned",
        ),
        pytest.param(
            [pod("b", cpu="4", **near("a", ZONE))],
            [here(zone="zone-c"), pod("a", "old", node="here")],
            POOL,
            ["b+old"],
            id="in the zone of one that runs",
        ),
        pytest.param(
            [pod("b", cpu="4", **near("a", ZONE))],
            [here(zone="zone-c"), pod("a", "old", node="here")],
            by_zone("zone-a"),
            ["old", "stuck b"],
            id="in a zone that the NodePool does not have",
        ),
        pytest.param(
            [pod("b", cpu="4", **near("a", ZONE), **in_zone("zone-a"))],
            [here(zone="zone-c"), pod("a", "old", node="here")],
            POOL,
            ["old", "stuck b"],
            id="in a zone other than it asks for",
        ),
        pytest.param(
            [pod("a", f"a-{n}", **apart("a", ZONE)) for n in range(4)],
            [],
            POOL,
            ["a-0", "a-1", "a-2", "stuck a-3"],
            id="one of its kind in each zone",
        ),
        pytest.param(
            [pod("a"), pod("b", **apart("a", ZONE))],
            [],
            POOL,
            ["a", "b"],
            id="apart from one whose zone was open (Schrödinger)",
        ),
        pytest.param(
            [pod("b", **apart("a", ZONE))],
            [
                *(here(f"here-{z}", z) for z in ZONES),
                *(pod("a", f"old-{z}", node=f"here-{z}") for z in ZONES),
            ],
            POOL,
            ["old-zone-a", "old-zone-b", "old-zone-c", "stuck b"],
            id="one it keeps away from is in every zone",
        ),
        pytest.param(
            [pod("a", "new", **in_zone("zone-a", "zone-b"))],
            [here(), pod("b", "old", node="here", **apart("a", ZONE))],
            POOL,
            ["new", "old"],
            id="one that runs keeps it out of its zone",
        ),
        pytest.param(
            [pod("a", "new", **in_zone("zone-a"))],
            [here(), pod("b", "old", node="here", **apart("a", ZONE))],
            POOL,
            ["old", "stuck new"],
            id="one that runs keeps it out of the only zone",
        ),
        pytest.param(
            [pod("a", "new")],
            [here("here", "zone-a"), pod("b", "old", node="here", **shuns("a", ZONE))],
            POOL,
            ["new+old"],
            id="one that runs only prefers to be alone",
        ),
        pytest.param(
            [pod("b", cpu="4", **wants("a", ZONE))],
            [here(zone="zone-c"), pod("a", "old", node="here")],
            POOL,
            ["b+old"],
            id="preferred, and to be had",
        ),
        pytest.param(
            [pod("b", cpu="4", **wants("a", ZONE))],
            [here(zone="zone-c"), pod("a", "old", node="here")],
            by_zone("zone-a"),
            ["b", "old"],
            id="preferred, and not to be had",
        ),
        pytest.param(
            [pod("b", **shuns("a", ZONE), **in_zone("zone-a"))],
            [here(), pod("a", "old", node="here")],
            POOL,
            ["b+old"],
            id="preferred solitude gives way to a required zone",
        ),
    ],
)
def test_by_zone(
    pods: Sequence[Pod], there: Sequence[Object], pool: NodePool, found: list[str]
) -> None:
    assert shared(Small(pods=pods, there=there, pools=[pool], types=TYPES), ZONE) == found


def test_by_architecture() -> None:
    types = [*TYPES, *build.family("g", zones=ZONES, sizes=(4,), arch="arm64")]
    pods = [
        pod("a", node_selector={labels.ARCH: "arm64"}),
        pod("b", cpu="4", **near("a", labels.ARCH)),
    ]

    solved = Small(pods=pods, types=types).solve()

    assert [t.name for n in solved.new_nodes for t in n.types] == ["g-4x", "g-4x"]
