"""Constraints between pods: the solver against the audit, on small random clusters."""

import random
from dataclasses import dataclass, replace

from hypothesis import Phase, given, settings
from hypothesis import strategies as st
from tests import build, plans
from tests.reference import solver as reference

from daiku.model import labels
from daiku.model.instance_type import InstanceType
from daiku.model.node import Node
from daiku.model.nodepool import NodePool
from daiku.model.pod import Pod
from daiku.model.requirements import Requirements
from daiku.model.topology import AffinityTerm, HostPort, Preferred, Spread
from daiku.scheduling import problem, solver
from daiku.scheduling.preferences import Policy
from daiku.scheduling.solution import Solution
from daiku.state.snapshot import Snapshot

# Shrinking a case of this size takes minutes; what is printed of the first one found is small enough.
SEARCH = settings(deadline=None, max_examples=40, derandomize=True, phases=[Phase.generate])
ZONES = ("zone-a", "zone-b", "zone-c")
KEYS = (labels.ZONE, labels.HOSTNAME, labels.CAPACITY_TYPE, "rack")
APPS = ("web", "api")


@dataclass(frozen=True)
class Case:
    """One small world with constraints between pods."""

    pods: list[Pod]
    running: list[Pod]
    nodes: list[Node]
    pools: list[NodePool]
    types: list[InstanceType]
    policy: Policy = "Respect"

    def snapshot(self) -> Snapshot:
        objects = [*self.pods, *self.running, *self.pools, *self.nodes, build.node_class()]
        return build.cluster(*objects, catalogue_of=build.catalogue(*self.types)).snapshot(
            build.NOW
        )

    def solve(self) -> Solution:
        catalogue = build.catalogue(*self.types)
        asked = problem.build(self.pods, self.snapshot(), catalogue, preference_policy=self.policy)
        return solver.solve(asked)


def selectors() -> st.SearchStrategy[Requirements | None]:
    return st.sampled_from(
        [
            build.needs(build.require("app", "In", "web")),
            build.needs(build.require("app", "In", "api")),
            build.needs(build.require("app", "Exists")),
            build.needs(),
            None,
        ]
    )


def terms() -> st.SearchStrategy[AffinityTerm]:
    return st.builds(
        AffinityTerm,
        key=st.sampled_from(KEYS),
        selector=selectors(),
        namespaces=st.sampled_from([("default",), ("default",), ("other",)]),
        namespace_selector=st.sampled_from([None, None, build.needs()]),
    )


def spreads() -> st.SearchStrategy[Spread]:
    return st.builds(
        Spread,
        key=st.sampled_from(KEYS),
        max_skew=st.sampled_from([1, 1, 2]),
        hard=st.sampled_from([True, True, False]),
        selector=selectors(),
        min_domains=st.sampled_from([1, 1, 3]),
        honors_affinity=st.booleans(),
        honors_taints=st.booleans(),
    )


def few(each: st.SearchStrategy[object], rarely: int = 3) -> st.SearchStrategy[tuple[object, ...]]:
    """Mostly none, at times one or two."""
    return st.integers(0, rarely).flatmap(
        lambda n: st.lists(each, min_size=1, max_size=2).map(tuple) if n == 0 else st.just(())
    )


@st.composite
def shapes(draw: st.DrawFn) -> dict[str, object]:
    ports = st.builds(
        HostPort,
        ip=st.just("10.0.0.1"),
        port=st.sampled_from([80, 443]),
        protocol=st.just("TCP"),
    )
    wished = st.builds(Preferred, weight=st.integers(1, 100), pods=terms())
    wished_nodes = st.builds(
        Preferred,
        weight=st.integers(1, 100),
        node=st.just(build.needs(build.require(labels.ZONE, "In", "zone-b"))),
    )
    return {
        "labels": {"app": draw(st.sampled_from(APPS))},
        "spread": draw(few(spreads(), 1)),
        "pod_affinity": draw(few(terms())),
        "pod_anti_affinity": draw(few(terms())),
        "preferred_pod_affinity": draw(few(wished, 5)),
        "preferred_pod_anti_affinity": draw(few(wished, 5)),
        "preferred_node_affinity": draw(few(wished_nodes, 5)),
        "host_ports": draw(few(ports, 5)),
        "node_selector": draw(
            st.sampled_from([{}, {}, {}, {labels.ZONE: "zone-a"}, {"rack": "r1"}])
        ),
    }


@st.composite
def cases(draw: st.DrawFn) -> Case:
    nodes = [
        build.node(
            f"node-{n}",
            cpu=draw(st.sampled_from(["1", "4"])),
            labels_of={
                labels.ZONE: draw(st.sampled_from(ZONES)),
                labels.CAPACITY_TYPE: draw(st.sampled_from(["spot", "on-demand"])),
                labels.ARCH: "amd64",
                **draw(st.sampled_from([{}, {"rack": "r1"}, {"rack": "r2"}])),
            },
        )
        for n in range(draw(st.integers(0, 3)))
    ]
    running: list[Pod] = []
    for number, node in enumerate(nodes):
        for each in range(draw(st.integers(0, 2))):
            shape = draw(shapes())
            shape["host_ports"] = ()
            name = f"old-{number}-{each}"
            running.append(build.pod(name, cpu="100m", node=node.meta.name, **shape))  # pyright: ignore[reportArgumentType, reportUnknownMemberType, reportAttributeAccessIssue]
    pods: list[Pod] = []
    for group in range(draw(st.integers(1, 4))):
        cpu = draw(st.sampled_from(["100m", "700m", "1500m"]))
        pods += build.pods(draw(st.integers(1, 6)), f"g{group}", cpu=cpu, **draw(shapes()))
    racks = st.sampled_from(
        [
            build.needs(),
            build.needs(build.require("rack", "In", "r1", "r2")),
            build.needs(build.require(labels.ZONE, "In", "zone-a", "zone-b")),
        ]
    )
    pools = [
        build.node_pool(f"pool-{n}", weight=10 * n, requirements=draw(racks))
        for n in range(draw(st.integers(1, 2)))
    ]
    types = [
        build.instance_type(
            f"t-{size}x",
            cpu=str(size),
            memory=f"{size * 4}Gi",
            zones=draw(st.sampled_from([ZONES, ZONES, ZONES[:2]])),
            capacity_types=draw(st.sampled_from([("on-demand",), ("on-demand", "spot")])),
        )
        for size in draw(st.lists(st.sampled_from([1, 2, 8]), min_size=1, max_size=3, unique=True))
    ]
    policy: Policy = draw(st.sampled_from(["Respect", "Ignore"]))
    return Case(pods, running, nodes, pools, types, policy)


@st.composite
def declared(draw: st.DrawFn) -> Case:
    """Pods that mind a label which only some NodePools and nodes have, and others that do not."""
    own = build.needs(build.require("app", "In", "web"))
    minds = [
        {"spread": (Spread(key="rack", max_skew=1, hard=True, selector=own),)},
        {"pod_affinity": (AffinityTerm(key="rack", selector=own, namespaces=("default",)),)},
        {"required_node_affinity": (build.needs(build.require("rack", "NotIn", "r1")),)},
        {},
    ]
    pods: list[Pod] = []
    for group in range(draw(st.integers(1, 3))):
        asked = {**draw(st.sampled_from(minds)), **draw(st.sampled_from(minds))}
        named = {"app": draw(st.sampled_from(APPS))}
        pods += build.pods(draw(st.integers(1, 6)), f"g{group}", labels=named, **asked)  # pyright: ignore[reportArgumentType]
    racks = [build.needs(), *(build.needs(build.require("rack", "In", *r)) for r in ("1", "23"))]
    pools = [
        build.node_pool(f"pool-{n}", weight=draw(st.sampled_from([0, 50])), requirements=rack)
        for n, rack in enumerate(racks)
    ]
    on = st.sampled_from([{}, {"rack": "1"}])
    nodes = [build.node(f"node-{n}", labels_of=draw(on)) for n in range(draw(st.integers(0, 2)))]
    return Case(pods, [], nodes, pools, build.family(sizes=(2, 8)))


@SEARCH
@given(cases() | declared())
def test_no_rule_between_pods_is_broken(case: Case) -> None:
    solved = case.solve()

    assert plans.objections(solved, case.snapshot(), case.types) == []


@SEARCH
@given(cases() | declared())
def test_pods_go_only_where_the_obvious_solver_lets_them(case: Case) -> None:
    solved, snapshot = case.solve(), case.snapshot()
    pods = {pod.meta.key: pod for pod in case.pods}

    for key, name in solved.placements.items():
        assert reference.lets_in(pods[key], snapshot.by_name[name])
    for node in solved.new_nodes:
        for key in node.pods:
            catalogue = build.catalogue(*case.types)
            assert reference.could_host(pods[key], node.pool, snapshot, catalogue), key


@SEARCH
@given(cases())
def test_every_pod_has_a_place_or_a_reason(case: Case) -> None:
    solved = case.solve()

    placed = [*solved.placements, *(p for n in solved.new_nodes for p in n.pods)]
    stuck = [p for u in solved.unschedulable for p in u.pods]
    assert sorted(placed + stuck) == sorted(p.meta.key for p in case.pods)
    assert all(str(b) for u in solved.unschedulable for b in u.blockers)
    assert all(u.blockers for u in solved.unschedulable)


@SEARCH
@given(cases(), st.randoms(use_true_random=False))
def test_the_order_of_what_comes_in_does_not_matter(case: Case, shuffler: random.Random) -> None:
    shuffled = replace(case, pods=case.pods[:], nodes=case.nodes[:], running=case.running[:])
    for each in (shuffled.pods, shuffled.nodes, shuffled.running):
        shuffler.shuffle(each)

    assert case.solve() == shuffled.solve()
