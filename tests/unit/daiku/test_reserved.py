"""What becomes of machines in a capacity reservation when it ends."""

from dataclasses import replace
from datetime import timedelta

import pytest
from tests import build
from tests.build import NOW

from daiku.commands import Announce, Command, DeleteNodeClaim, PatchNode, PatchNodeClaim
from daiku.events import InstancesListed
from daiku.lifecycle import plan
from daiku.model import labels
from daiku.model.nodeclaim import NodeClaim
from daiku.settings import Settings

ID = "karpenter.k8s.aws/capacity-reservation-id"
KIND = "karpenter.k8s.aws/capacity-reservation-type"
INTERRUPTIBLE = "karpenter.k8s.aws/capacity-reservation-interruptible"
ORDINARY = {labels.CAPACITY_TYPE: "on-demand", ID: None, KIND: None, INTERRUPTIBLE: None}
LATER = timedelta(minutes=2)


def claim(kind: str = "default", way: str = "reserved") -> NodeClaim:
    made = build.node_claim(capacity_type=way)
    own = {ID: "cr-1", KIND: kind, INTERRUPTIBLE: "false"} if way == "reserved" else {}
    return replace(made, meta=replace(made.meta, labels={**made.meta.labels, **own}))


def decide(
    of: NodeClaim,
    *,
    state: str = "active",
    reserved: bool = True,
    after: timedelta = LATER,
    node_of: NodeClaim | None = None,
    terminating: bool = False,
) -> list[Command]:
    listed = [{"id": "cr-0", "state": "expiring"}, {"id": "cr-1", "state": state}]
    node_class = build.node_class(status={"capacityReservations": listed})
    made = build.cluster(of, build.node(claim=node_of or of), build.node_pool(), node_class)
    machine = replace(build.instance(of), reserved=reserved, terminating=terminating)
    made.apply(InstancesListed((machine,), NOW + after))
    now = NOW + LATER
    return plan.plan(made.snapshot(now), made.catalogue, Settings(), now).commands


def deleted(made: list[Command]) -> list[str]:
    return [c.reason for c in made if isinstance(c, DeleteNodeClaim)]


def relabelled(made: list[Command]) -> list[tuple[str, dict[str, str | None]]]:
    return [
        (type(c).__name__, dict(c.labels))
        for c in made
        if isinstance(c, PatchNodeClaim | PatchNode) and c.labels
    ]


def test_a_capacity_block_is_left_before_it_ends_and_people_are_told() -> None:
    made = decide(claim("capacity-block"), state="expiring")

    assert deleted(made) == ["capacity_block_ending"]
    told = {c.kind: c.message for c in made if isinstance(c, Announce)}
    assert sorted(told) == ["Node", "NodeClaim"]
    assert "cr-1" in told["Node"]


@pytest.mark.parametrize(
    ("of", "state"),
    [
        pytest.param(claim("capacity-block"), "active", id="a block that has time"),
        pytest.param(claim("default"), "expiring", id="no block"),
        pytest.param(claim(way="on-demand"), "expiring", id="no reservation"),
    ],
)
def test_other_machines_stay(of: NodeClaim, state: str) -> None:
    made = decide(of, state=state)

    assert (deleted(made), relabelled(made)) == ([], [])


def test_a_machine_whose_reservation_is_over_is_an_on_demand_one_from_then_on() -> None:
    made = decide(claim(), reserved=False)

    assert deleted(made) == []
    assert relabelled(made) == [("PatchNode", ORDINARY), ("PatchNodeClaim", ORDINARY)]


def test_a_node_that_was_left_behind_follows_its_claim() -> None:
    made = decide(claim(way="on-demand"), reserved=False, node_of=claim())

    assert relabelled(made) == [("PatchNode", ORDINARY)]


@pytest.mark.parametrize(
    ("after", "terminating"),
    [
        pytest.param(timedelta(seconds=30), False, id="asked too early to be sure"),
        pytest.param(LATER, True, id="it goes anyway"),
    ],
)
def test_nothing_is_relabelled_on_a_hunch(after: timedelta, *, terminating: bool) -> None:
    made = decide(claim(), reserved=False, after=after, terminating=terminating)

    assert relabelled(made) == []


def test_an_ordinary_machine_stays_as_it_is() -> None:
    assert relabelled(decide(claim(way="on-demand"), reserved=False)) == []
