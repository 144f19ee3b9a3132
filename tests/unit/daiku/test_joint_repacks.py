"""Repacks under way together: what they buy, for whom they wait, and when pods that would not land speak against it."""

import itertools
from dataclasses import replace
from datetime import timedelta

import pytest
from tests import build
from tests.unit.daiku.moving_world import Moving, running, world
from tests.unit.daiku.test_repack_moves import OLD, allows, settled

from daiku.commands import DeleteNodeClaim, PatchNode, PatchNodeClaim
from daiku.disruption import disruption_commands, progress
from daiku.disruption.context import DisruptionContext
from daiku.disruption.disruption_commands import Record
from daiku.events import Done, Object
from daiku.model import labels
from daiku.model.condition import Condition
from daiku.model.instance_type import Catalogue
from daiku.model.nodeclaim import NodeClaim
from daiku.model.taints import DISRUPTED, Taint
from daiku.settings import Settings
from daiku.state.snapshot import Snapshot


def tight() -> list[Object]:
    """3 + 3 + 2 and 2 + 2 cores fill eight and four; put in one after the other they do not."""
    pods = [
        replace(build.pod(f"web-{n}", cpu=cpu, node="node-default-00000"), scheduled=OLD)
        for n, cpu in enumerate(("3", "3", "2", "2", "2"))
    ]
    return [*running("default-00000", "c-16x", cpu="16"), *pods]


def test_what_saves_less_than_the_pods_cost_that_would_not_land_is_not_begun() -> None:
    """Pods go wherever there is room when they are evicted."""
    pool = build.node_pool(startup_taints=[Taint("cni", "NoSchedule")])
    made = world(*tight(), pool=pool)

    made.run(200)

    assert made.told("default-00000") is None, "nor is it marked, and let off each time"
    settled(made)
    assert sorted(made.nodes().values()) == ["c-16x"]
    assert made.evicted == 0


def uneven(count: int) -> list[Object]:
    """Nodes of eight cores, each with two pods of different shapes."""
    shapes = itertools.cycle(
        [("500m", "3Gi"), ("2500m", "1Gi"), ("700m", "500Mi"), ("1300m", "1Gi")]
    )
    return [
        each
        for n in range(count)
        for each in (
            *running(f"default-{n:05d}", "c-8x", cpu="8"),
            *(
                replace(
                    build.pod(f"web-{n}-{i}", cpu=cpu, memory=memory, node=f"node-default-{n:05d}"),
                    scheduled=OLD,
                )
                for i, (cpu, memory) in enumerate(itertools.islice(shapes, 2))
            ),
        )
    ]


@pytest.mark.parametrize("is_written", [False, True])
def test_all_nodes_that_are_repacked_together_go_at_once(is_written: bool) -> None:
    """Those that need no new node wait for those that do, and all for one that cannot be told yet what others are."""
    made = world(*uneven(16), pool=allows("100%"))
    write = PatchNodeClaim(name="default-00001", resource_version="")
    times: dict[str, int] = {}
    for second in range(120):
        if is_written and second == 38:
            made.cluster.begin(write, made.now)
        if is_written and second == 44:
            made.cluster.apply(Done(write, made.now))
        made.run(1)
        gone = [c.name for c in made.last.commands if isinstance(c, DeleteNodeClaim)]
        times |= {name: times.get(name, second) for name in gone}

    assert len(times) == 12
    (at,) = {*times.values()}
    assert at >= 44 if is_written else at == 40
    assert write.name in times


def written(made: Moving) -> list[tuple[str, Record]]:
    """NodeClaims that take part in moves, and what is written on them."""
    found = ((claim.meta.name, disruption_commands.read(claim)) for claim in made.all(NodeClaim))
    return [(name, told) for name, told in found if told is not None]


@pytest.mark.parametrize("count", [10, 16, 24])
def test_moves_that_begin_together_buy_no_more_than_they_were_planned_with(count: int) -> None:
    made = world(*uneven(count), pool=allows("100%"))
    bought: dict[str, None] = {}
    planned: dict[str, int] = {}
    for _ in range(200):
        made.run(1)
        planned |= {each.id: each.new_nodes for each in made.last.report.proposals}
        bought |= {name: None for name, told in written(made) if name not in told.claims}

    settled(made)
    assert 0 < len(bought) <= sum(planned.values())
    assert made.evicted <= 2 * count
    assert made.price() < 0.5 * count * 0.384


def test_nodes_that_a_repack_under_way_counts_on_are_left_alone_until_it_is_over() -> None:
    """Its pods are to land there, and where they do is known when they have."""
    made = world(*uneven(16), pool=allows("100%"))
    made.run(17)
    going = {c for _, told in written(made) for c in told.claims}
    assert 0 < len(going) < 16

    told: dict[str, None] = {}
    while going & {claim.meta.name for claim in made.all(NodeClaim)}:
        made.run(1)
        assert {c for each in made.last.report.proposals for c in each.claims} <= going
        told |= {k.node_claim: None for k in made.last.report.kept if k.reason == "Waits"}
    assert told
    assert going.isdisjoint(told)
    # Pods are put elsewhere here than kube-scheduler would, so that one may have to wait for a node of its own.
    made.run(60)
    settled(made)


def claim_of(name: str, pool: str, id_: str, *made: str, member: str = "") -> NodeClaim:
    """One that takes part in a repack of one node, `member`, or itself."""
    told = Record(
        id=id_, reason="Underutilized", method="repack", claims=(member or name,), replacements=made
    )
    notes = {labels.DISRUPTION_COMMAND: disruption_commands.write(told)}
    said = Condition(type=disruption_commands.CONDITION, status="True", last_transition=build.NOW)
    found = build.node_claim(name, pool=pool, annotations=notes)
    return replace(found, conditions=(*found.conditions, said))


def context_of(snapshot: Snapshot, catalogue: Catalogue | None = None) -> DisruptionContext:
    return DisruptionContext(
        snapshot=snapshot,
        catalogue=catalogue or build.catalogue(),
        settings=Settings(),
        placements={},
        moves=tuple(disruption_commands.under_way(snapshot)),
        now=snapshot.at,
    )


@pytest.mark.parametrize(
    ("other", "after", "goes"),
    [("a", 1, False), ("a", 11, True), ("b", 1, True)],
    ids=["just begun", "begun long ago", "of another NodePool"],
)
def test_no_node_goes_before_those_that_were_decided_with_it_keep_pods_away(
    other: str, after: int, goes: bool
) -> None:
    first, second = claim_of("first", "a", "1"), claim_of("second", other, "2")
    nodes = [build.node(claim=first, taints=[DISRUPTED]), build.node(claim=second)]
    pools = [build.node_pool("a"), build.node_pool("b")]
    cluster = build.cluster(first, second, *nodes, *pools, build.node_class())
    snapshot = cluster.snapshot(build.NOW + timedelta(seconds=after))

    commands = progress.plan(context_of(snapshot)).commands

    assert ("first" in [c.name for c in commands if isinstance(c, DeleteNodeClaim)]) == goes
    assert "node-second" in [c.name for c in commands if isinstance(c, PatchNode)]


def test_a_replacement_that_comes_up_is_waited_for_by_its_own_pool_only_and_not_for_ever() -> None:
    members = [claim_of("a-1", "a", "1", "a-2"), claim_of("b-1", "b", "2")]
    coming = claim_of("a-2", "a", "1", member="a-1")
    there = [build.node(claim=each) for each in members]
    cluster = build.cluster(*members, *there, coming, build.node_class())

    def pools(after: timedelta) -> frozenset[str]:
        snapshot = cluster.snapshot(build.NOW)
        return progress.growing(replace(context_of(snapshot), now=build.NOW + after))

    assert pools(timedelta(minutes=1)) == {"a"}
    assert pools(timedelta(minutes=6)) == frozenset()
