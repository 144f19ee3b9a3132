"""What was done lately is not done again: pods that were moved stay, and a NodePool that goes in circles rests."""

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
from tests import build
from tests.unit.daiku.moving_world import Moving, running, world

from daiku.disruption import eviction_cost, loops
from daiku.model import labels
from daiku.model.budget import Budget
from daiku.model.condition import Condition
from daiku.model.nodeclaim import NodeClaim
from daiku.model.nodepool import NodePool
from daiku.model.pod import Pod
from daiku.state.past import Life, Memory, Past

NOW = build.NOW
MINUTE = timedelta(minutes=1)


def bound(minutes: float, owner: str = "ReplicaSet") -> Pod:
    pod = build.pod(node="node-a", owner=owner)
    return replace(pod, scheduled=NOW + minutes * MINUTE)


@pytest.mark.parametrize(
    ("pod", "asked", "freshness"),
    [
        pytest.param(bound(5), (), 0, id="nobody was asked to leave"),
        pytest.param(bound(5), (4,), 1, id="bound after one of its siblings was"),
        pytest.param(bound(5), (6,), 0, id="bound before"),
        pytest.param(bound(5), (4, 8), 0.6, id="bound between two"),
        pytest.param(bound(25), (4,), 0, id="bound long after"),
        pytest.param(bound(25), (4, 24), 1, id="bound after the later of two"),
        pytest.param(bound(20), (4, 24), 0, id="bound between two that are far from each other"),
        pytest.param(bound(-2), (), 0.8, id="bound before anybody looked"),
        pytest.param(bound(5, owner=""), (4,), 0, id="nobody makes it again"),
    ],
)
def test_a_move_is_remembered_for_ten_minutes_and_fades(
    pod: Pod, asked: tuple[int, ...], freshness: float
) -> None:
    memory = Memory()
    memory.at(NOW)
    for minutes in asked:
        memory.evict(
            bound(0, owner="ReplicaSet" if pod.meta.owners else ""), NOW + minutes * MINUTE
        )
    now = NOW + (asked[-1] + 1 if asked else 0) * MINUTE

    assert memory.at(now).freshness(pod, now) == pytest.approx(freshness)


def life(made: int, ended: int, **fields: str) -> Life:
    known = {"nodepool": "default", "instance_type": "c-4x", "capacity_type": "spot", **fields}
    return Life(name=f"n{made}", made=NOW + made * MINUTE, ended=NOW + ended * MINUTE, **known)


@pytest.mark.parametrize(
    ("lives", "until"),
    [
        pytest.param([life(0, 5), life(6, 10), life(11, 15)], 65, id="three in a row"),
        pytest.param([life(0, 5), life(6, 10)], None, id="two"),
        pytest.param([life(0, 5), life(0, 6), life(0, 7), life(1, 8)], None, id="at the same time"),
        pytest.param([life(0, 5), life(4, 10), life(10, 15), life(15, 20)], 65, id="one that overlaps"),
        pytest.param([life(0, 5), life(6, 10), life(11, 15, instance_type="c-8x")], None, id="another type"),
        pytest.param([life(0, 5), life(6, 10), life(11, 15, nodepool="b")], None, id="another NodePool"),
    ],
)  # fmt: skip
def test_three_lives_one_after_the_other_are_a_loop(lives: list[Life], until: int | None) -> None:
    snapshot = replace(build.cluster().snapshot(NOW), past=Past(lives=tuple(lives)))

    found = loops.find(snapshot)

    assert {name: loop.until for name, loop in found.items()} == (
        {} if until is None else {"default": NOW + until * MINUTE}
    )


def taken(reason: str, **fields: Any) -> NodeClaim:
    """A NodeClaim that was told to go for `reason`."""
    claim = build.node_claim(**{"deleted": NOW, **fields})
    told = Condition(type="DisruptionReason", status="True", reason=reason, last_transition=NOW)
    return replace(claim, conditions=(*claim.conditions, told))


def test_what_is_an_hour_old_is_forgotten() -> None:
    memory = Memory()
    memory.lose(taken("Underutilized"))

    assert len(memory.at(NOW + 59 * MINUTE).lives) == 1
    assert memory.at(NOW + 60 * MINUTE).lives == ()


def test_only_what_consolidation_took_away_is_remembered() -> None:
    memory = Memory()
    for reason in ("Empty", "Drifted", ""):
        memory.lose(taken(reason))

    assert memory.at(NOW).lives == ()


def annotated(**annotations: str) -> NodePool:
    pool = build.node_pool(budgets=[Budget(nodes="100%")])
    return replace(pool, meta=replace(pool.meta, annotations=annotations))


def half_full(**annotations: str) -> Moving:
    return world(
        *running("default-aaaaa"),
        *running("default-bbbbb"),
        build.pod("one", cpu="1500m", node="node-default-aaaaa"),
        build.pod("two", cpu="1500m", node="node-default-bbbbb"),
        pool=annotated(**annotations),
    )


def test_moving_a_pod_again_has_a_price_that_falls_and_no_ban() -> None:
    made = half_full()
    made.run(120)
    assert made.evicted > 0
    moved = made.evicted
    # Half of what was moved goes away: now a smaller node would do.
    first = next(p for p in made.all(Pod) if p.meta.name.startswith("again"))
    for pod in [p for p in made.all(Pod) if p is not first]:
        made.delete(Pod, pod.meta.key)

    made.run(12 * 60)

    assert made.evicted == moved + 1


def test_where_moves_are_free_a_pod_may_be_moved_again_at_once() -> None:
    made = half_full(**{eviction_cost.HORIZON: "0"})
    made.run(120)
    moved = made.evicted
    first = next(p for p in made.all(Pod) if p.meta.name.startswith("again"))
    for pod in [p for p in made.all(Pod) if p is not first]:
        made.delete(Pod, pod.meta.key)

    made.run(2 * 60)

    assert made.evicted == moved + 1


def circling(made: Moving, times: int) -> None:
    """Nodes of one shape have come and gone so many times, one after the other."""
    since = int((made.now - NOW) / MINUTE)
    for number in range(times):
        each = life(since - 10 + 2 * number, since - 9 + 2 * number)
        claim = taken("Underutilized", name=each.name, deleted=each.ended, since=each.made)
        made.put(claim)
        made.drop(NodeClaim, claim.meta.name)


def test_a_pool_that_goes_in_circles_rests_and_says_so() -> None:
    made = half_full()
    before = made.cluster.snapshot(made.now).past.lives
    circling(made, 3)

    made.run(60)

    assert before == ()
    assert made.evicted == 0
    assert set(made.kept().values()) == {"Loop"}
    assert any("ConsolidationLoop" in line for line in made.log)


def test_whoever_leads_next_knows_of_a_circle() -> None:
    made = half_full()
    circling(made, 3)
    made.run(5)
    known = made.cluster.snapshot(made.now).past.lives
    (pool,) = made.all(NodePool)

    memory = Memory()
    memory.recall(pool)

    assert len(known) == 3
    assert memory.at(made.now).lives == known
    assert memory.at(made.now + 60 * MINUTE).lives == ()


def test_one_node_that_went_is_written_nowhere_and_what_is_forgotten_is_taken_off_again() -> None:
    made = half_full(**{labels.CIRCLING: "[]"})
    circling(made, 1)
    made.run(5)

    (pool,) = made.all(NodePool)
    assert labels.CIRCLING not in pool.meta.annotations


@pytest.mark.parametrize("text", ["", "{", "{}", "3", "[3]", '[["a"]]', '[["a","b","c","d","e"]]'])
def test_what_a_person_writes_there_is_left_out(text: str) -> None:
    memory = Memory()

    memory.recall(annotated(**{labels.CIRCLING: text}))

    assert memory.at(NOW).lives == ()
