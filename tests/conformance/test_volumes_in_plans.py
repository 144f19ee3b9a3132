"""What the volumes of pods make of a plan: zones, limits of attachment, and why a pod waits.

Sources: karpenter-core, provisioning suite "Volume Topology Requirements" and scheduling suite "Volume usage" (zones of
bound volumes and of classes, alternatives, limits on existing nodes, the same claim twice); kube-scheduler's
volumebinding for local volumes and for claims that are not ready.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pytest
from tests import build
from tests.plans import Small

from daiku.model import labels
from daiku.model.node import Node
from daiku.model.pod import Pod
from daiku.model.requirements import Requirements
from daiku.model.topology import Preferred, Spread
from daiku.model.volume import CsiNode, PersistentVolume, PersistentVolumeClaim, StorageClass
from daiku.scheduling.solution import Solution

EBS = "ebs.csi.aws.com"
ZONES = ("zone-a", "zone-b", "zone-c")
TYPES = build.family(sizes=(4, 32), zones=ZONES)


def zone(*zones: str) -> Requirements:
    return build.needs(build.require(labels.ZONE, "In", *zones))


def host(name: str) -> Requirements:
    return build.needs(build.require(labels.HOSTNAME, "In", name))


def volume(name: str, *alternatives: Requirements, driver: str = EBS) -> PersistentVolume:
    return PersistentVolume(
        meta=build.meta(name), alternatives=alternatives, driver=driver, handle=f"vol-{name}"
    )


def storage_class(name: str, *alternatives: Requirements, **fields: Any) -> StorageClass:
    made = {"provisioner": EBS, "waits_for_pod": True, **fields}
    return StorageClass(meta=build.meta(name), alternatives=alternatives, **made)


def claim(name: str, **fields: Any) -> PersistentVolumeClaim:
    return PersistentVolumeClaim(meta=build.meta(name, namespace="default"), **fields)


WORLD = (
    volume("in-a", zone("zone-a")),
    volume("in-b", zone("zone-b")),
    volume("local-here", host("here"), driver=""),
    volume("local-gone", host("gone"), driver=""),
    storage_class("waits"),
    storage_class("only-c", zone("zone-c")),
    storage_class("b-or-c", zone("zone-b"), zone("zone-c")),
    storage_class("nowhere", zone("zone-z")),
    storage_class("at-once", waits_for_pod=False),
    *(claim(name, volume=name) for name in ("in-a", "in-b", "local-here", "local-gone")),
    *(
        claim(f"new-{name}", storage_class=name)
        for name in ("only-c", "b-or-c", "nowhere", "at-once", "unknown", "waits")
    ),
    *(claim(f"own-{n}", storage_class="waits") for n in range(6)),
)


@dataclass(frozen=True, kw_only=True)
class Case:
    """Pods with volumes, nodes, and how many volumes nodes attach."""

    pods: Sequence[Pod]
    nodes: Sequence[Node] = ()
    limits: Mapping[str, int] | None = None
    bound: Sequence[Pod] = ()

    def solve(self) -> Solution:
        """The plan, which the audit agrees to."""
        csi_nodes = [
            CsiNode(meta=build.meta(name), limits={EBS: limit})
            for name, limit in (self.limits or {}).items()
        ]
        return Small(
            pods=self.pods, there=[*self.nodes, *self.bound, *WORLD, *csi_nodes], types=TYPES
        ).solve()


def pod(*claims: str, name: str = "db", **fields: Any) -> Pod:
    return build.pod(name, volume_claims=claims, **fields)


def here(name: str = "here", in_zone: str = "zone-a", **more: str) -> Node:
    return build.node(name, provider_id=name, labels_of={labels.ZONE: in_zone, **more})


@pytest.mark.parametrize(
    ("claims", "zones"),
    [
        pytest.param(("in-b",), ("zone-b",), id="the zone of a bound volume"),
        pytest.param(("new-only-c",), ("zone-c",), id="the zone in which its class makes volumes"),
        pytest.param(("new-waits",), ZONES, id="a class that makes them anywhere"),
        pytest.param(("in-b", "new-b-or-c"), ("zone-b",), id="two volumes together"),
    ],
)
def test_a_new_node_is_where_the_volumes_can_be(
    claims: tuple[str, ...], zones: tuple[str, ...]
) -> None:
    (made,) = Case(pods=[pod(*claims)]).solve().new_nodes

    assert made.zones == zones


@pytest.mark.parametrize(
    ("claims", "nodes", "target"),
    [
        pytest.param(("in-a",), [here()], "here", id="a node in the zone of the volume"),
        pytest.param(("in-b",), [here()], "", id="a node in another zone"),
        pytest.param(
            ("new-b-or-c",),
            [here("a", "zone-a"), here("c", "zone-c")],
            "c",
            id="the second of two alternatives",
        ),
        pytest.param(
            ("local-here",), [here("other"), here()], "here", id="the node of a local volume"
        ),
    ],
)
def test_an_existing_node_must_reach_them(
    claims: tuple[str, ...], nodes: Sequence[Node], target: str
) -> None:
    solved = Case(pods=[pod(*claims)], nodes=nodes).solve()

    assert solved.placements.get("default/db", "") == target


@pytest.mark.parametrize(
    ("claims", "reason", "words"),
    [
        pytest.param(("missing",), "VolumeNotReady", "does not exist", id="no such claim"),
        pytest.param(("new-unknown",), "VolumeNotReady", "storage class 'unknown'", id="no class"),
        pytest.param(("new-at-once",), "VolumeNotReady", "does not wait", id="bound at once"),
        pytest.param(("in-a", "in-b"), "VolumeNotReady", "together", id="two zones at once"),
        pytest.param(("new-nowhere",), "RequirementsNotMet", "zone-z", id="a zone not to be had"),
        pytest.param(
            ("local-gone",), "RequirementsNotMet", "gone", id="a local volume whose node is gone"
        ),
    ],
)
def test_a_pod_whose_volumes_are_nowhere_waits_and_is_told_why(
    claims: tuple[str, ...], reason: str, words: str
) -> None:
    neighbour = pod("in-a", name="neighbour")

    solved = Case(pods=[pod(*claims), neighbour]).solve()

    (stuck,) = solved.unschedulable
    assert stuck.pods == ("default/db",)
    assert stuck.blockers[0].reason == reason
    assert words in str(stuck.blockers[0])


@pytest.mark.parametrize(
    "asked",
    [
        pytest.param({"node_selector": {labels.ZONE: "zone-a"}}, id="a selector"),
        pytest.param({"required_node_affinity": (zone("zone-a"), zone("zone-c"))}, id="affinity"),
    ],
)
def test_the_zone_of_a_volume_is_never_given_up(asked: dict[str, Any]) -> None:
    solved = Case(pods=[pod("in-b", **asked)]).solve()

    assert [u.pods for u in solved.unschedulable] == [("default/db",)]


def test_a_preference_gives_way_to_the_zone_of_a_volume() -> None:
    wish = Preferred(weight=1, node=zone("zone-a"))

    (node,) = Case(pods=[pod("in-b", preferred_node_affinity=(wish,))]).solve().new_nodes

    assert node.zones == ("zone-b",)


def small(*claims: str, name: str) -> Pod:
    return pod(*claims, name=name, cpu="10m", memory="1Mi")


OWN = [small(f"own-{n}", name=f"db-{n}") for n in range(3)]
SAME = [small("new-waits", name=f"db-{n}") for n in range(3)]


@pytest.mark.parametrize(
    ("case", "on_node", "new_nodes"),
    [
        pytest.param(Case(pods=OWN, nodes=[here()]), 3, 0, id="without a limit"),
        pytest.param(
            Case(pods=OWN, nodes=[here()], limits={"here": 2}), 2, 1, id="up to its limit"
        ),
        pytest.param(
            Case(
                pods=OWN,
                nodes=[here()],
                limits={"here": 2},
                bound=[pod("in-a", "own-5", name="old", cpu="10m", memory="1Mi", node="here")],
            ),
            0,
            1,
            id="beside what is attached",
        ),
        pytest.param(
            Case(pods=SAME, nodes=[here()], limits={"here": 1}), 3, 0, id="one claim counts once"
        ),
        pytest.param(
            Case(
                pods=OWN,
                nodes=[here(**{labels.INSTANCE_TYPE: "c-4x"})],
                limits={"here": 1},
                bound=[pod("in-a", name="old", cpu="10m", memory="1Mi", node="here")],
            ),
            0,
            3,
            id="a new node of a type with a limit",
        ),
    ],
)
def test_a_node_attaches_so_many(case: Case, on_node: int, new_nodes: int) -> None:
    solved = case.solve()

    assert len(solved.placements) == on_node
    assert len(solved.new_nodes) == new_nodes
    assert not solved.unschedulable


def test_attachments_are_no_requests_of_the_new_node() -> None:
    (made,) = Case(pods=OWN).solve().new_nodes

    assert sorted(made.requests) == ["cpu", "memory", "pods"]


def test_spread_counts_zones_that_the_volume_excludes() -> None:
    apart = Spread(
        key=labels.ZONE, max_skew=1, hard=True, selector=Requirements.from_labels({"app": "db"})
    )
    fixed: dict[str, Any] = {"labels": {"app": "db"}, "spread": (apart,)}

    solved = Case(
        pods=[pod("in-a", name=f"db-{n}", **fixed) for n in range(2)],
        nodes=[here("node-a", "zone-a"), here("node-b", "zone-b")],
    ).solve()

    assert len(solved.unschedulable) == 1
