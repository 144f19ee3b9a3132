"""Nodes bought on-demand because spot was sold out go back when spot has been there for a while, one by one."""

from dataclasses import replace
from datetime import timedelta
from typing import Any

from tests import build
from tests.unit.daiku.moving_world import Moving, running, world

from daiku.disruption import fallback, telling
from daiku.model import labels
from daiku.model.budget import Budget
from daiku.model.nodeclaim import NodeClaim
from daiku.model.requirements import Requirements
from daiku.model.topology import Spread

BOTH = build.require(labels.CAPACITY_TYPE, "In", labels.ON_DEMAND, labels.SPOT)
KIND = build.instance_type(
    "c-4x", cpu="4", memory="8Gi", capacity_types=(labels.ON_DEMAND, labels.SPOT)
)
FULL = [build.require(labels.NODEPOOL, "In", "default"), BOTH]


def fallen(name: str, minutes_ago: int = 0, **fields: Any) -> list[Any]:
    """A node that was allowed spot and got on-demand, and the pod that fills it."""
    since = build.NOW + timedelta(minutes=15 - minutes_ago)
    claim, node = running(name, requirements=build.needs(*FULL), since=since, **fields)
    return [claim, node, build.pod(f"pod-{name}", cpu="4", node=node.meta.name)]


def spot_world(*objects: Any, types: Any = (KIND,), **how: Any) -> Moving:
    pool = build.node_pool(
        requirements=build.needs(BOTH), consolidate_after=timedelta(seconds=10), **how
    )
    return world(*objects, pool=pool, types=types)


def kinds(made: Moving) -> list[str]:
    return sorted(c.meta.labels.get(labels.CAPACITY_TYPE, "") for c in made.all(NodeClaim))


def test_a_node_that_fell_back_returns_when_spot_has_been_back_for_ten_minutes() -> None:
    made = spot_world(*fallen("a"))
    made.run(9 * 60, step=3)
    assert kinds(made) == ["on-demand"]
    made.run(4 * 60, step=2)
    assert (kinds(made), made.evicted) == (["spot"], 1)


def test_a_new_leader_does_not_hurry() -> None:
    made = spot_world(*fallen("a"))
    for _ in range(9):
        made.restart()
        made.run(60, step=3)
    assert (kinds(made), made.evicted) == (["on-demand"], 0)


def test_nodes_return_one_at_a_time_although_the_budget_allows_more() -> None:
    made = spot_world(
        *fallen("a", 15), *fallen("b", 14), *fallen("c", 13), budgets=(Budget(nodes="100%"),)
    )
    most = 0
    for _ in range(400):
        made.run(2)
        most = max(most, len(made.tainted()))
        if kinds(made) == ["spot"] * 3:
            break
    assert (kinds(made), most) == (["spot"] * 3, 1)


def with_a_dear_node(**fields: Any) -> Moving:
    """Larger types were all that could be had for one small pod: its node costs most of all for what it holds."""
    dear, node = running("c", "c-192x", cpu="192", requirements=build.needs(*FULL))
    large = build.instance_type(
        "c-192x", cpu="192", memory="384Gi", capacity_types=(labels.ON_DEMAND, labels.SPOT)
    )
    return spot_world(
        *fallen("a", 15),
        *fallen("b", 14),
        *[dear, node, build.pod("pod-c", cpu="1", node="node-c", **fields)],
        budgets=(Budget(nodes="1"),),
        types=(KIND, large),
    )


def test_what_was_bought_dear_returns_before_older_nodes() -> None:
    made = with_a_dear_node()
    made.run(55)
    assert "node-c" not in made.nodes()
    assert {"node-a", "node-b"} <= made.nodes().keys()


def test_a_node_that_may_not_go_holds_up_no_other() -> None:
    made = with_a_dear_node(annotations={labels.DO_NOT_DISRUPT: "true"})
    made.run(120, step=2)
    assert "node-c" in made.nodes()
    assert "node-a" not in made.nodes()


def test_a_budget_of_none_keeps_them() -> None:
    made = spot_world(*fallen("a", 15), budgets=(Budget(nodes="0"),))
    made.run(300, step=3)
    assert (kinds(made), made.evicted) == (["on-demand"], 0)
    assert [t for t in made.announced if t.startswith(f"{telling.BLOCKED} default:")]


def test_a_node_that_was_never_allowed_spot_is_no_fallback() -> None:
    claim, _ = running("a")
    assert not fallback.is_fallen(claim)
    assert not fallback.is_fallen(
        build.node_claim("b", capacity_type="spot", requirements=build.needs(*FULL))
    )


def test_a_balanced_pool_is_told_why_a_move_is_worth_it() -> None:
    pool = build.node_pool(consolidation_policy="Balanced")
    made = world(*running("a", "c-8x", cpu="8"), build.pod("one", node="node-a"), pool=pool)
    made.run(30)
    said = [t for t in made.announced if t.startswith(telling.APPROVED)]
    assert [t.partition(":")[0] for t in said] == [
        f"{telling.APPROVED} {n}" for n in ("node-a", "a")
    ]
    assert "(k: 2, savings 87.5%, disruption 100.0%)" in said[0]


def test_what_blocks_a_node_is_told_once_and_again_when_it_comes_back() -> None:
    keeps = build.pdb(match={"app": "web"})
    made = world(*running("a"), build.pod("web", node="node-a", labels={"app": "web"}), keeps)

    def told() -> int:
        return sum(t.startswith(f"{telling.BLOCKED} node-a") for t in made.announced)

    made.run(60)
    assert told() == 1
    assert any("PodDisruptionBudget default/web allows 0" in t for t in made.announced)
    made.put(replace(keeps, disruptions_allowed=1))
    made.step()
    made.now += timedelta(minutes=3)
    made.put(keeps)
    made.step()
    assert told() == 2


def test_a_node_that_only_spread_keeps_is_told_which_pod_would_have_room_elsewhere() -> None:
    wide = Spread(key=labels.HOSTNAME, max_skew=1, hard=True, selector=Requirements.of())
    pods = [
        build.pod(f"wide-{n}", node=f"node-{n}", cpu="3", labels={"app": "wide"}, spread=(wide,))
        for n in "ab"
    ]
    large = running("a", "c-8x", cpu="8")
    seen = build.cluster(*large, *running("b"), *pods).snapshot(build.NOW)
    a, b = sorted(seen.state_nodes, key=lambda s: s.name)
    assert telling.apart(a, seen) == ""
    assert telling.apart(b, seen) == (
        "; node-a would have room for pod default/wide-b, which must spread over kubernetes.io/hostname (maxSkew 1)"
    )
