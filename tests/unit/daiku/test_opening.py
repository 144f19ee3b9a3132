"""Nodes that are made for pods which move stay closed until these wait, and never for longer than is said."""

from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta

import pytest
from tests import build
from tests.unit.daiku.moving_world import Moving, running, world
from tests.unit.daiku.test_joint_repacks import tight
from tests.unit.daiku.test_repack_moves import OLD, allows, one_with_room, settled

from daiku.cloud.provider import Instance
from daiku.commands import Command, Evict, PatchNode, PodRef
from daiku.disruption import eviction_cost, opening
from daiku.events import Object
from daiku.model import labels
from daiku.model.node import Node
from daiku.model.nodeclaim import NodeClaim
from daiku.model.nodepool import NodePool
from daiku.model.pod import Pod
from daiku.model.taints import AWAITING_PODS, includes


def closed(made: Moving) -> list[str]:
    return [n.meta.name for n in made.all(Node) if includes(n.taints, AWAITING_PODS)]


def waiting(made: Moving) -> list[str]:
    return [pod.meta.name for pod in made.all(Pod) if not pod.node_name]


def until(made: Moving, is_so: Callable[[Moving], object], most: int = 120) -> int:
    """Run until `is_so`; how many seconds that took."""
    for seconds in range(most):
        if is_so(made):
            return seconds
        made.run(1)
    pytest.fail(f"not within {most} s")


def test_pods_that_move_end_where_they_were_packed() -> None:
    """The same that is refused where nodes cannot be kept closed (test_joint_repacks)."""
    made = world(*tight(), pool=allows("100%"))

    until(made, closed)
    assert made.evicted == 0
    until(made, lambda each: each.evicted == 5)
    assert until(made, lambda each: not closed(each)) <= opening.QUIET / timedelta(seconds=1) + 1
    made.run(200)

    settled(made)
    assert sorted(made.nodes().values()) == ["c-4x", "c-8x"]
    assert made.evicted == 5
    assert len(made.launches) == 2, "nothing is bought again"


def test_nobody_else_is_planned_onto_a_node_that_is_kept_for_pods_that_move() -> None:
    made = world(*tight(), pool=allows("100%"))
    until(made, closed)
    made.put(build.pod("late", cpu="2"))
    made.run(200)

    settled(made)
    # The pods that move fill theirs, so it gets a node of its own.
    assert sorted(made.nodes().values()) == ["c-2x", "c-4x", "c-8x"]
    assert made.evicted == 5


class Untried(Moving):
    """kube-scheduler takes four seconds to try a pod that comes in the place of another."""

    def live(self) -> None:
        for pod in self.all(Pod):
            fresh = pod.meta.name.startswith("again") and not pod.node_name
            tried = self.now - (pod.meta.created or self.now) >= timedelta(seconds=4)
            if fresh and pod.unschedulable != tried:
                self.put(replace(pod, unschedulable=tried))
        super().live()


def test_nobody_else_gets_the_place_of_a_pod_that_kube_scheduler_has_not_tried_yet() -> None:
    made = world(*tight(), pool=allows("100%"), kind=Untried)
    until(made, lambda each: each.evicted == 5)
    made.put(build.pod("late", cpu="2"))
    made.run(3)
    assert made.last.report.placements["default/late"] not in closed(made)
    made.run(200)

    settled(made)
    assert sorted(made.nodes().values()) == ["c-2x", "c-4x", "c-8x"]
    assert made.evicted == 5


class Noting(Moving):
    """Writes down what is done to closed nodes."""

    noted: tuple[str, ...] = ()

    def carry_out(self, command: Command) -> None:
        if isinstance(command, PatchNode) and command.name in closed(self):
            self.noted += ("nominated",) * len(command.nominates)
            if command.taints is not None and not includes(command.taints, AWAITING_PODS):
                self.noted += ("opened",)
        super().carry_out(command)


def noting(*there: Object, kind: type[Noting] = Noting) -> Noting:
    made = world(*there, pool=allows("100%"), kind=kind)
    assert isinstance(made, Noting)
    return made


def test_all_who_wait_are_nominated_before_the_first_node_opens_and_then_all_open_at_once() -> None:
    made = noting(*tight())
    until(made, closed)
    until(made, lambda each: not closed(each))

    assert made.noted == ("nominated",) * 5 + ("opened",) * 2


def test_no_node_opens_while_kube_scheduler_has_not_looked_at_everybody_who_waits() -> None:
    made = noting(*tight())
    until(made, lambda each: each.evicted == 5)
    last = next(pod for pod in made.all(Pod) if not pod.node_name)
    made.put(replace(last, unschedulable=False))
    made.run(6)
    assert made.noted == ()
    assert len(waiting(made)) == 5

    made.put(last)
    assert until(made, lambda each: not closed(each)) <= 3


def test_a_pod_that_is_never_tried_keeps_the_others_waiting_for_seconds_only() -> None:
    made = noting(*tight())
    until(made, lambda each: each.evicted == 5)
    last = next(pod for pod in made.all(Pod) if not pod.node_name)
    made.put(replace(last, unschedulable=False))

    most = (opening.PATIENCE + opening.NOMINATING) / timedelta(seconds=1)
    assert until(made, lambda each: not closed(each)) <= most


class Forgetful(Noting):
    """kube-scheduler takes every nomination off at once."""

    def _nominate(self, pod: PodRef, node: str) -> None:
        pass


def test_nodes_open_although_nominations_do_not_last() -> None:
    made = noting(*tight(), kind=Forgetful)
    until(made, lambda each: each.evicted == 5)

    most = (opening.PATIENCE + opening.NOMINATING) / timedelta(seconds=1)
    assert until(made, lambda each: not closed(each)) <= most


class Stubborn(Moving):
    """One pod may not leave, for whatever reason."""

    def carry_out(self, command: Command) -> None:
        if not (isinstance(command, Evict) and command.name == "web-0"):
            super().carry_out(command)


def test_a_pod_that_may_not_leave_yet_keeps_the_others_waiting_for_seconds_only() -> None:
    made = world(*tight(), pool=allows("100%"), kind=Stubborn)
    until(made, lambda each: each.evicted == 4)

    most = opening.PATIENCE / timedelta(seconds=1) + 2
    assert until(made, lambda each: not closed(each) and not waiting(each)) <= most
    assert made.evicted == 4


@pytest.mark.parametrize("after", range(30, 56, 2))
def test_a_new_leader_knows_of_no_places_and_opens_the_nodes_all_the_same(after: int) -> None:
    made = world(*tight(), pool=allows("100%"))
    made.run(after)
    made.step(crash_after=after % 3)
    made.restart()
    made.run(20)

    until(made, lambda each: not closed(each), most=30)
    made.run(200)
    settled(made)
    assert len(made.nodes()) <= 3


def test_a_node_whose_move_was_called_off_opens() -> None:
    made = world(*tight(), pool=allows("100%"), boot=30)
    until(made, lambda each: len(each.all(Node)) == 3)
    made.put(allows("0"))

    until(made, lambda each: not (closed(each) or each.tainted()), most=10)
    assert made.evicted == 0


class Halting(Moving):
    """The second instance never joins."""

    def _join(self, instance: Instance) -> None:
        if instance.node_claim != max(c.meta.name for c in self.all(NodeClaim)):
            super()._join(instance)


def test_one_that_is_ready_waits_for_the_others_of_its_move_for_minutes_only() -> None:
    slow = {"registration_ttl": timedelta(hours=1)}
    made = world(*tight(), pool=allows("100%"), kind=Halting, **slow)
    until(made, closed)

    seconds = until(made, lambda each: not closed(each), most=400)

    assert seconds == pytest.approx(opening.CLOSED_MOST / timedelta(seconds=1), abs=5)
    assert made.evicted == 0


def of_priority(*priorities: int) -> list[Object]:
    given = iter(priorities)
    return [
        replace(each, priority=next(given)) if isinstance(each, Pod) else each for each in tight()
    ]


def free_of_charge() -> NodePool:
    pool = allows("100%")
    return replace(pool, meta=replace(pool.meta, annotations={eviction_cost.HORIZON: "0"}))


@pytest.mark.parametrize(
    ("there", "pool"),
    [
        pytest.param(
            of_priority(0, 0, 0, 0, 1), allows("100%"), id="a pod that could evict others"
        ),
        pytest.param(tight(), free_of_charge(), id="moves are free, as they are for the peer"),
        pytest.param(
            [
                *running("default-00000", "c-16x", cpu="16"),
                replace(build.pod("web", cpu="3", node="node-default-00000"), scheduled=OLD),
            ],
            allows("100%"),
            id="all go to the same node",
        ),
    ],
)
def test_nothing_is_kept_closed_where(there: list[Object], pool: NodePool) -> None:
    made = world(*there, pool=pool)
    for _ in range(120):
        made.run(1)
        assert closed(made) == []
        claims = made.all(NodeClaim)
        assert not [c for c in claims if labels.AWAITING_PODS in c.meta.annotations]


def test_a_pod_of_an_owner_takes_the_place_of_one_that_asked_for_the_same() -> None:
    made = world(*tight(), pool=allows("100%"))
    until(made, lambda each: each.evicted == 5)
    made.step()

    snapshot = made.cluster.snapshot(made.now)
    asks: dict[str, list[str]] = {}
    for pod in snapshot.waiting:
        target = snapshot.by_name[snapshot.nominations[pod.meta.key].target]
        cores = str(pod.requests["cpu"] // 1000)
        asks.setdefault(target.labels[labels.INSTANCE_TYPE], []).append(cores)
    assert {kind: sorted(each) for kind, each in asks.items()} == {
        "c-8x": ["2", "3", "3"],
        "c-4x": ["2", "2"],
    }


def test_a_node_on_which_a_device_plugin_has_to_run_first_is_not_kept_closed() -> None:
    pool = build.node_pool(consolidate_after=timedelta(minutes=5))
    together, snapshot = one_with_room(pool, others=1, came=build.NOW + timedelta(minutes=14))
    (node,) = together.evaluate((snapshot.by_name["default-00000"],), "repack").new_nodes

    assert opening.is_plain(node)
    assert not opening.is_plain(replace(node, requests={**node.requests, "nvidia.com/gpu": 1}))


def test_a_pod_that_is_done_before_it_had_to_move_leaves_its_place_to_others() -> None:
    made = world(*tight(), pool=allows("100%"))
    until(made, lambda each: len(each.all(NodeClaim)) == 3)
    done = next(pod for pod in made.all(Pod) if pod.meta.name == "web-0")
    made.put(replace(done, phase="Succeeded", ready=False))
    until(made, lambda each: each.evicted == 4)
    made.run(60)

    settled(made)
