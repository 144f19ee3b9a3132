"""What is kept from one snapshot to the next is what would be worked out anew."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from tests import build

from daiku import commands, events
from daiku.events import Object
from daiku.model import labels
from daiku.model.node import Node
from daiku.model.nodeclaim import NodeClaim
from daiku.model.pod import Pod
from daiku.model.taints import Taint
from daiku.model.topology import AffinityTerm, Spread
from daiku.scheduling import problem, solver
from daiku.scheduling.problem import Problem
from daiku.state.cluster import Cluster
from daiku.state.derived import Derived
from daiku.state.snapshot import Snapshot

NAMES = ("a", "b", "c")
WEB = build.needs(build.require("app", "In", "web"))
SPREAD = (Spread(key=labels.ZONE, max_skew=1, hard=True, selector=WEB),)
APART = (AffinityTerm(key=labels.HOSTNAME, selector=WEB, namespaces=("default",)),)


@dataclass
class History:
    """Objects as they are now, and a cluster that has seen each of them come, change and go."""

    objects: dict[tuple[type[Object], str], Object] = field(default_factory=dict)
    cluster: Cluster = field(default_factory=build.cluster)

    def see(self, *seen: Object) -> None:
        for each in seen:
            self.objects[type(each), each.meta.key] = each
            self.cluster.apply(events.Seen(each))

    def lose(self, kind: type[Object], key: str) -> None:
        self.objects.pop((kind, key), None)
        self.cluster.apply(events.Gone(kind, key))


Step = Callable[[History], None]


def _pod(name: str, node: str, rule: str) -> Step:
    fields = {"spread": {"spread": SPREAD}, "apart": {"pod_anti_affinity": APART}}.get(rule, {})
    where = f"node-{node}" if node else ""
    return lambda h: h.see(build.pod(name, cpu="1", labels={"app": "web"}, node=where, **fields))


def _ended(name: str) -> Step:
    return lambda h: h.see(build.pod(name, node="node-a", phase="Succeeded"))


def _node(name: str, taint: str, *, launched: bool) -> Step:
    claim = build.node_claim(name, launched=launched, registered=launched, initialized=launched)
    taints = (Taint(key="team", value="x", effect=taint),) if taint else ()
    made = (claim, build.node(claim=claim, taints=taints)) if launched else (claim,)
    return lambda h: h.see(*made)


def _gone(name: str) -> Step:
    def step(history: History) -> None:
        history.lose(Node, f"node-{name}")
        history.lose(NodeClaim, name)

    return step


def steps() -> st.SearchStrategy[Step]:
    names = st.sampled_from(NAMES)
    rules = st.sampled_from(["", "spread", "apart"])
    taints = st.sampled_from(["", "NoSchedule", "PreferNoSchedule"])
    return st.one_of(
        st.builds(_pod, names, st.sampled_from(["", *NAMES]), rules),
        st.builds(_pod, names, st.just(""), rules),
        st.builds(_ended, names),
        st.builds(lambda name: lambda h: h.lose(Pod, f"default/{name}"), names),
        st.builds(_node, names, taints, launched=st.booleans()),
        st.builds(_gone, names),
    )


def _built(snapshot: Snapshot, expected_on: Mapping[str, str] | None = None) -> Problem:
    expected = expected_on or {}
    wanted = [build.pod("new", labels={"app": "web"}, spread=SPREAD), *snapshot.waiting]
    wanted = [pod for pod in wanted if pod.meta.key not in expected]
    return problem.build(wanted, snapshot, build.catalogue(), expected_on=expected)


def _said(built: Problem) -> list[object]:
    topology = built.topology
    assert topology is not None
    arrays = [built.nodes.free, built.nodes.hostable, topology.on_nodes]
    return [
        built.nodes.names,
        *(np.asarray(a).tolist() for a in arrays),
        *(t.left.tolist() for t in built.templates),
        topology.in_domains,
        topology.existing,
        topology.totals,
        topology.of_site,
        [mask.tolist() for mask in topology.passing.values()],
    ]


@settings(deadline=None, max_examples=60, derandomize=True)
@given(st.lists(st.tuples(steps(), st.booleans(), st.booleans()), max_size=14))
def test_a_problem_is_the_same_whether_its_nodes_were_known_before_or_not(
    made: list[tuple[Step, bool, bool]],
) -> None:
    history = History()
    history.see(build.node_class(), build.node_pool(limits={"cpu": "100"}))
    for step, is_seen, is_built in made:
        step(history)
        if not is_seen:
            continue
        seen = history.cluster.snapshot(build.NOW)
        if not is_built:
            continue
        anew = build.cluster(*history.objects.values()).snapshot(build.NOW)

        assert [(s.node, s.claim, s.pods) for s in seen.state_nodes] == [
            (s.node, s.claim, s.pods) for s in anew.state_nodes
        ]
        said = _said(_built(seen))
        assert said == _said(_built(replace(seen, of_nodes=Derived())))
        assert said == _said(_built(anew))
        assert solver.solve(_built(seen)) == solver.solve(_built(anew))


@settings(deadline=None, max_examples=60, derandomize=True)
@given(st.lists(st.tuples(steps(), st.booleans()), max_size=12), st.sampled_from(NAMES))
def test_a_pod_that_is_expected_on_a_node_counts_there_as_if_it_ran(
    made: list[tuple[Step, bool]], name: str
) -> None:
    history = History()
    history.see(build.node_class(), build.node_pool())
    for step, is_built in made:
        step(history)
        if is_built:
            _built(history.cluster.snapshot(build.NOW))
    seen = history.cluster.snapshot(build.NOW)
    node = f"node-{name}"
    ran = [replace(pod, node_name=node) for pod in seen.waiting]
    before = _counted(_built(seen, {pod.meta.key: node for pod in ran}))

    history.see(*ran)

    if node in seen.by_name:
        assert before == _counted(_built(history.cluster.snapshot(build.NOW)))


def _counted(built: Problem) -> dict[object, object]:
    """What each counter says, wherever it stands."""
    topology = built.topology
    assert topology is not None
    rows = topology.host_rows
    return {
        counter: (
            topology.on_nodes[rows[index]].tolist() if index in rows else None,
            topology.in_domains.get(index, {}),
            topology.totals.get(index, 0),
        )
        for index, counter in enumerate(topology.counters)
    }


def test_a_pod_without_a_node_leaves_all_that_is_known_of_nodes_in_place() -> None:
    cluster = build.cluster(claim := build.node_claim("a"), build.node(claim=claim))
    before = cluster.snapshot(build.NOW)

    cluster.apply(events.Seen(build.pod("new")))

    assert cluster.snapshot(build.NOW).derived() is before.derived()


def test_a_pod_on_a_node_leaves_the_other_nodes_as_they_are() -> None:
    claims = [build.node_claim(name) for name in NAMES]
    cluster = build.cluster(*claims, *(build.node(claim=claim) for claim in claims))
    before = cluster.snapshot(build.NOW).state_nodes

    cluster.apply(events.Seen(build.pod("new", node="node-b")))

    kept = [a is b for a, b in zip(before, cluster.snapshot(build.NOW).state_nodes, strict=True)]
    assert kept == [True, False, True]


def test_what_was_asked_for_shows_at_once() -> None:
    cluster = build.cluster(claim := build.node_claim("a"), build.node(claim=claim))
    cluster.snapshot(build.NOW)

    cluster.begin(commands.DeleteNodeClaim(name="a", uid=claim.meta.uid, reason="Empty"), build.NOW)

    assert cluster.snapshot(build.NOW).state_nodes[0].is_leaving
