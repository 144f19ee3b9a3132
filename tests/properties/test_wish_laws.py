"""Wishes of pods: a wish never leaves a pod without a place where there is room for it."""

from collections.abc import Iterator
from dataclasses import dataclass, replace

from hypothesis import Phase, given, settings
from hypothesis import strategies as st
from tests import build, plans
from tests.reference import solver as reference

from daiku.model import labels, resources
from daiku.model.instance_type import InstanceType
from daiku.model.node import Node
from daiku.model.nodepool import NodePool
from daiku.model.pod import Pod
from daiku.model.taints import Taint
from daiku.model.topology import AffinityTerm, Preferred, Spread
from daiku.scheduling import problem, solver
from daiku.scheduling.solution import NewNode, Solution
from daiku.state.snapshot import Snapshot

SEARCH = settings(deadline=None, max_examples=80, derandomize=True, phases=[Phase.generate])
ZONES = ("zone-a", "zone-b", "zone-c")
KEYS = (labels.HOSTNAME, labels.HOSTNAME, labels.ZONE, "rack")
LIMITS = (
    {"cpu": "3"},
    {"cpu": "7"},
    {"cpu": "16"},
    {"nodes": "1"},
    {"nodes": "3"},
    {"cpu": "12", "memory": "30Gi"},
)


@dataclass(frozen=True)
class Case:
    """One small world, in which limits allow only so many nodes and pods only wish."""

    pods: list[Pod]
    nodes: list[Node]
    pools: list[NodePool]
    types: list[InstanceType]

    def snapshot(self) -> Snapshot:
        objects = [*self.pods, *self.pools, *self.nodes, build.node_class()]
        return build.cluster(*objects, catalogue_of=build.catalogue(*self.types)).snapshot(
            build.NOW
        )

    def solve(self) -> Solution:
        return solver.solve(problem.build(self.pods, self.snapshot(), build.catalogue(*self.types)))


@st.composite
def wishes(draw: st.DrawFn) -> dict[str, object]:
    own = build.needs(build.require("app", "In", draw(st.sampled_from(["web", "api"]))))
    term = AffinityTerm(key=draw(st.sampled_from(KEYS)), selector=own, namespaces=("default",))
    wished = (Preferred(weight=1, pods=term),)
    skew = draw(st.integers(1, 2))
    zone = build.needs(build.require(labels.ZONE, "In", draw(st.sampled_from(ZONES))))
    size = build.needs(build.require(labels.INSTANCE_TYPE, "In", "c-2x"))
    return draw(
        st.sampled_from(
            [
                {"spread": (Spread(key=term.key, max_skew=skew, hard=False, selector=own),)},
                {"preferred_pod_anti_affinity": wished},
                {"preferred_pod_affinity": wished},
                {"preferred_node_affinity": (Preferred(weight=1, node=zone),)},
                {"preferred_node_affinity": (Preferred(weight=1, node=size),)},
                {},
            ]
        )
    )


@st.composite
def cases(draw: st.DrawFn) -> Case:
    pods: list[Pod] = []
    for group in range(draw(st.integers(1, 3))):
        app = draw(st.sampled_from(["web", "api"]))
        cpu = draw(st.sampled_from(["250m", "700m", "1500m"]))
        asked = {**draw(wishes()), **draw(wishes())}
        more = build.pods(draw(st.integers(1, 12)), f"g{group}", cpu=cpu, labels={"app": app})
        pods += [replace(pod, **asked) for pod in more]  # pyright: ignore[reportArgumentType]
    marks = st.sampled_from([(), (), (Taint("slow", "PreferNoSchedule"),)])
    pools = [
        build.node_pool(
            f"pool-{n}",
            weight=10 * n,
            limits=draw(st.sampled_from(LIMITS)),
            taints=draw(marks),
        )
        for n in range(draw(st.integers(1, 2)))
    ]
    nodes = [
        build.node(f"node-{n}", cpu="2", labels_of={labels.ZONE: draw(st.sampled_from(ZONES))})
        for n in range(draw(st.integers(0, 2)))
    ]
    sizes = draw(st.lists(st.sampled_from([1, 2, 4, 16]), min_size=1, max_size=3, unique=True))
    return Case(pods, nodes, pools, build.family(sizes=sorted(sizes), zones=ZONES))


@SEARCH
@given(cases())
def test_no_pod_waits_that_a_node_has_room_for(case: Case) -> None:
    solved, snapshot = case.solve(), case.snapshot()

    assert plans.objections(solved, snapshot, case.types) == []
    pods = {pod.meta.key: pod for pod in case.pods}
    for waiting in (pods[key] for u in solved.unschedulable for key in u.pods):
        assert list(_with_room(waiting, solved, pods, case)) == []


def _with_room(waiting: Pod, solved: Solution, pods: dict[str, Pod], case: Case) -> Iterator[str]:
    """Nodes, there or planned, that hold one pod more."""
    snapshot = case.snapshot()
    for node in case.nodes:
        placed = [pods[key] for key, name in solved.placements.items() if name == node.meta.name]
        free = reference.room(snapshot.by_name[node.meta.name], snapshot)
        if resources.fits(resources.add(*(p.requests for p in (*placed, waiting))), free):
            yield node.meta.name
    for new in solved.new_nodes:
        if _holds(new, waiting, case):
            yield new.pool.meta.name


def _holds(new: NewNode, waiting: Pod, case: Case) -> bool:
    """Whether one of the node's own types holds `waiting` too."""
    asked = resources.add(new.requests, waiting.requests)
    allocatable = {t.name: t.allocatable for t in case.types}
    return any(resources.fits(asked, allocatable[t.name]) for t in new.types)
