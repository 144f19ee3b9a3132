"""Repacks under way together: what they buy, for whom they wait, and when pods that would not land speak against it."""

import itertools
from dataclasses import replace
from datetime import timedelta

import pytest
from tests import build
from tests.unit.daiku.moving_world import running, world
from tests.unit.daiku.test_repack_moves import OLD, allows, settled

from daiku.disruption import joint, moves, record
from daiku.disruption.ground import Ground
from daiku.disruption.record import Record
from daiku.events import Object
from daiku.model import labels
from daiku.model.condition import Condition
from daiku.model.nodeclaim import NodeClaim
from daiku.model.taints import Taint
from daiku.settings import Settings


def tight() -> list[Object]:
    """3 + 3 + 2 and 2 + 2 cores fill eight and four; put in one after the other they do not."""
    pods = [
        replace(build.pod(f"web-{n}", cpu=cpu, node="node-default-00000"), scheduled=OLD)
        for n, cpu in enumerate(("3", "3", "2", "2", "2"))
    ]
    return [*running("default-00000", "c-16x", cpu="16"), *pods]


def test_what_saves_less_than_the_pods_cost_that_would_not_land_is_not_begun() -> None:
    """Where nodes cannot be kept closed pods go wherever there is room when they are evicted."""
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


@pytest.mark.parametrize("count", [10, 16, 24])
def test_moves_that_begin_together_buy_no_more_than_they_were_planned_with(count: int) -> None:
    made = world(*uneven(count), pool=allows("100%"))
    bought: dict[str, None] = {}
    planned: dict[str, int] = {}
    for _ in range(200):
        made.run(1)
        planned |= {each.id: each.new_nodes for each in made.last.report.proposals}
        written = {claim.meta.name: record.read(claim) for claim in made.all(NodeClaim)}
        bought |= {n: None for n, told in written.items() if told and n not in told.claims}

    settled(made)
    assert 0 < len(bought) <= sum(planned.values())
    assert made.evicted <= 2 * count
    assert made.price() < 0.5 * count * 0.384


def test_a_replacement_that_comes_up_is_waited_for_by_its_own_pool_only_and_not_for_ever() -> None:
    def said(id_: str, member: str, *made: str) -> dict[str, str]:
        told = Record(
            id=id_, reason="Underutilized", method="repack", claims=(member,), replacements=made
        )
        return {labels.DISRUPTION_COMMAND: record.write(told)}

    def claim(name: str, pool: str, notes: dict[str, str]) -> NodeClaim:
        told = Condition(type=record.CONDITION, status="True", last_transition=build.NOW)
        found = build.node_claim(name, pool=pool, annotations=notes)
        return replace(found, conditions=(*found.conditions, told))

    members = [claim("a-1", "a", said("1", "a-1", "a-2")), claim("b-1", "b", said("2", "b-1"))]
    coming = claim("a-2", "a", said("1", "a-1"))
    there = [build.node(claim=each) for each in members]
    snapshot = build.cluster(*members, *there, coming, build.node_class()).snapshot(build.NOW)

    def pools(after: timedelta) -> frozenset[str]:
        ground = Ground(
            snapshot=snapshot,
            catalogue=build.catalogue(),
            settings=Settings(),
            placements={},
            moves=tuple(moves.under_way(snapshot)),
            now=build.NOW + after,
        )
        return joint.growing(ground)

    assert pools(timedelta(minutes=1)) == {"a"}
    assert pools(timedelta(minutes=6)) == frozenset()
