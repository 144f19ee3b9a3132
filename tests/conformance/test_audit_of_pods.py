"""What kube-scheduler lets pods ask of each other, as the audit reads it, on clusters small enough to count by hand.

Sources: kubernetes.io/docs/concepts/scheduling-eviction/topology-spread-constraints (the examples of 3+1 nodes in two
zones), .../assign-pod-node (affinity, anti-affinity and the first pod of a group); kube-scheduler's
podtopologyspread, interpodaffinity and nodeports.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import pytest
from tests import build
from tests.build import NOW

from daiku.model import labels
from daiku.model.namespace import Namespace
from daiku.model.node import Node
from daiku.model.pod import Pod
from daiku.model.requirements import NO_REQUIREMENTS, Requirements
from daiku.model.taints import Taint, Toleration
from daiku.model.topology import AffinityTerm, HostPort, Spread
from daiku.scheduling import audit

FOO = Requirements.from_labels({"foo": "bar"})
ZONES = {"node1": "A", "node2": "A", "node3": "B", "node4": "B"}
"""The cluster of the documentation."""
EVERY = "0.0.0.0"  # noqa: S104 - compared, not bound


def nodes(zones: Mapping[str, str] = ZONES, **more: Any) -> list[Node]:
    return [
        build.node(n, labels_of={labels.ZONE: z} if z else {}, cpu="100", provider_id=n, **more)
        for n, z in zones.items()
    ]


@dataclass(frozen=True, kw_only=True)
class Case:
    """Pods that are there, pods that come, and where."""

    coming: Sequence[tuple[str, Pod]]
    there: Sequence[tuple[str, Pod]] = ()
    cluster: Sequence[Node] = tuple(nodes())

    def rules(self) -> list[str]:
        bound = [
            replace(p, meta=replace(p.meta, name=f"there-{i}"), node_name=n, unschedulable=False)
            for i, (n, p) in enumerate(self.there)
        ]
        waiting = [
            replace(p, meta=replace(p.meta, name=f"coming-{i}"))
            for i, (_, p) in enumerate(self.coming)
        ]
        world = build.cluster(*self.cluster, *bound, *waiting)
        placements = {p.meta.key: n for (n, _), p in zip(self.coming, waiting, strict=True)}
        found = audit.audit([], placements, world.snapshot(NOW), world.catalogue)
        return sorted({v.rule for v in found})


def foo(namespace: str = "default", **fields: Any) -> Pod:
    made = build.pod("foo", cpu="10m", memory="1Mi", labels={"foo": "bar"}, **fields)
    return replace(made, meta=replace(made.meta, namespace=namespace))


def other(**fields: Any) -> Pod:
    return build.pod("other", cpu="10m", memory="1Mi", labels={"foo": "else"}, **fields)


def spread(key: str = labels.ZONE, **fields: Any) -> Spread:
    return Spread(**{"key": key, "max_skew": 1, "hard": True, "selector": FOO, **fields})


THREE = [("node1", foo()), ("node2", foo()), ("node3", foo())]
"""Two pods in zone A, one in zone B, as the documentation has them."""
BY_ZONE = foo(spread=(spread(),))
BY_BOTH = foo(spread=(spread(), spread(labels.HOSTNAME)))
WITH_C = (*nodes(), *nodes({"node5": "C"}))
NOT_C = (build.needs(build.require(labels.ZONE, "NotIn", "C")),)
TAINTED = (*nodes(), *nodes({"node5": "C"}, taints=[Taint("dedicated", "NoSchedule")]))
FINISHED = {"phase": "Succeeded"}


@pytest.mark.parametrize(
    ("case", "legal"),
    [
        pytest.param(
            Case(there=THREE, coming=[("node4", BY_ZONE)]), True, id="into the emptier zone"
        ),
        pytest.param(
            Case(there=THREE, coming=[("node1", BY_ZONE)]),
            False,
            id="into the fuller zone would make the skew [3, 1]",
        ),
        pytest.param(
            Case(there=THREE, coming=[("node1", foo(spread=(spread(max_skew=2),)))]),
            True,
            id="maxSkew 2 allows [3, 1]",
        ),
        pytest.param(
            Case(there=THREE, coming=[("node1", foo(spread=(spread(hard=False),)))]),
            True,
            id="ScheduleAnyway forbids nothing",
        ),
        pytest.param(
            Case(there=THREE, coming=[("node4", BY_BOTH)]), True, id="zone and host: node4 only"
        ),
        pytest.param(
            Case(there=THREE, coming=[("node3", BY_BOTH)]),
            False,
            id="zone and host: node3 has one already, node4 none",
        ),
        pytest.param(
            Case(there=THREE, cluster=WITH_C, coming=[("node4", BY_ZONE)]),
            False,
            id="an empty third zone counts",
        ),
        pytest.param(
            Case(
                there=THREE,
                cluster=WITH_C,
                coming=[("node4", replace(BY_ZONE, required_node_affinity=NOT_C))],
            ),
            True,
            id="a zone that the pod's node affinity excludes does not count",
        ),
        pytest.param(
            Case(
                there=THREE,
                cluster=WITH_C,
                coming=[
                    (
                        "node4",
                        foo(spread=(spread(honors_affinity=False),), required_node_affinity=NOT_C),
                    )
                ],
            ),
            False,
            id="nodeAffinityPolicy Ignore counts it all the same",
        ),
        pytest.param(
            Case(there=THREE, cluster=TAINTED, coming=[("node4", BY_ZONE)]),
            False,
            id="nodeTaintsPolicy Ignore counts a zone behind a taint",
        ),
        pytest.param(
            Case(
                there=THREE,
                cluster=TAINTED,
                coming=[("node4", foo(spread=(spread(honors_taints=True),)))],
            ),
            True,
            id="nodeTaintsPolicy Honor does not",
        ),
        pytest.param(
            Case(
                there=THREE,
                cluster=TAINTED,
                coming=[
                    (
                        "node4",
                        foo(
                            spread=(spread(honors_taints=True),),
                            tolerations=[Toleration(operator="Exists")],
                        ),
                    )
                ],
            ),
            False,
            id="nodeTaintsPolicy Honor counts it for a pod that tolerates the taint",
        ),
        pytest.param(
            Case(coming=[("node1", foo(spread=(spread(min_domains=3),)))]),
            True,
            id="minDomains not reached: the emptiest counts as 0, one pod is no skew",
        ),
        pytest.param(
            Case(there=THREE, coming=[("node4", foo(spread=(spread(min_domains=3),)))]),
            False,
            id="minDomains not reached: 2 against 0",
        ),
        pytest.param(
            Case(there=[*THREE, ("node3", foo("elsewhere"))], coming=[("node4", BY_ZONE)]),
            True,
            id="pods of other namespaces do not count",
        ),
        pytest.param(
            Case(
                there=[*THREE, ("node3", foo(deleted=NOW)), ("node3", foo(**FINISHED))],
                coming=[("node4", BY_ZONE)],
            ),
            True,
            id="pods that end or have ended do not count",
        ),
        pytest.param(
            Case(there=THREE, coming=[("node1", other(spread=(spread(),)))]),
            True,
            id="a pod that its own selector does not select adds nothing",
        ),
        pytest.param(
            Case(
                there=[("node1", foo()), ("node1", foo())],
                coming=[("node1", other(spread=(spread(),)))],
            ),
            False,
            id="but has to keep away from a skew that is there",
        ),
        pytest.param(
            Case(
                there=THREE,
                coming=[("node1", foo(spread=(spread(selector=NO_REQUIREMENTS),)))],
            ),
            True,
            id="a selector that selects everything counts nothing",
        ),
        pytest.param(
            Case(
                cluster=(*nodes(), *nodes({"node6": ""})),
                coming=[("node6", BY_ZONE)],
            ),
            False,
            id="a node without the label is no domain",
        ),
        pytest.param(
            Case(there=THREE, coming=[("node4", BY_ZONE), ("node3", BY_ZONE), ("node1", BY_ZONE)]),
            True,
            id="three together keep the balance",
        ),
        pytest.param(
            Case(there=THREE, coming=[("node4", BY_ZONE), ("node3", BY_ZONE), ("node3", BY_ZONE)]),
            False,
            id="three into one zone do not",
        ),
    ],
)
def test_spread(case: Case, legal: bool) -> None:
    assert case.rules() == ([] if legal else ["TopologySpread"])


def near(key: str = labels.ZONE, **fields: Any) -> AffinityTerm:
    return AffinityTerm(**{"key": key, "selector": FOO, "namespaces": ("default",), **fields})


ANYWHERE: dict[str, Any] = {"namespaces": (), "namespace_selector": NO_REQUIREMENTS}
LONELY = foo(pod_affinity=(near(),))


@pytest.mark.parametrize(
    ("case", "legal"),
    [
        pytest.param(
            Case(there=[("node1", foo())], coming=[("node2", other(pod_affinity=(near(),)))]),
            True,
            id="another node of the zone of a matching pod",
        ),
        pytest.param(
            Case(there=[("node1", foo())], coming=[("node3", other(pod_affinity=(near(),)))]),
            False,
            id="another zone",
        ),
        pytest.param(
            Case(coming=[("node1", other(pod_affinity=(near(),)))]), False, id="nobody is there"
        ),
        pytest.param(
            Case(
                there=[("node1", foo(deleted=NOW))],
                coming=[("node1", other(pod_affinity=(near(),)))],
            ),
            False,
            id="one that is on its way out is no company",
        ),
        pytest.param(
            Case(coming=[("node1", LONELY)]), True, id="the first of a group that asks for itself"
        ),
        pytest.param(
            Case(coming=[("node1", LONELY), ("node2", LONELY)]), True, id="the rest follow it"
        ),
        pytest.param(
            Case(coming=[("node1", LONELY), ("node3", LONELY)]),
            False,
            id="a group has one first pod, not two",
        ),
        pytest.param(
            Case(there=[("node1", foo())], coming=[("node3", LONELY)]),
            False,
            id="no first pod where one of its kind is somewhere",
        ),
        pytest.param(
            Case(there=[("node1", foo("elsewhere"))], coming=[("node3", LONELY)]),
            True,
            id="one of another namespace is not of its kind",
        ),
        pytest.param(
            Case(
                there=[("node1", foo("elsewhere"))],
                coming=[("node2", other(pod_affinity=(near(**ANYWHERE),)))],
            ),
            True,
            id="an empty namespaceSelector means every namespace",
        ),
        pytest.param(
            Case(
                there=[("node1", foo())],
                coming=[("node1", other(pod_affinity=(near(selector=None),)))],
            ),
            False,
            id="no selector matches nobody",
        ),
        pytest.param(
            Case(
                there=[("node1", foo())],
                coming=[("node2", other(pod_affinity=(near(), near(labels.HOSTNAME))))],
            ),
            False,
            id="every term must hold",
        ),
        pytest.param(
            Case(
                coming=[
                    (
                        "node1",
                        foo(
                            pod_affinity=(near(selector=Requirements.from_labels({"foo": "else"})),)
                        ),
                    ),
                    ("node1", other(pod_affinity=(near(),))),
                ]
            ),
            False,
            id="two that wait for each other never start",
        ),
        pytest.param(
            Case(coming=[("node1", foo()), ("node2", other(pod_affinity=(near(),)))]),
            True,
            id="company that comes by the same plan",
        ),
        pytest.param(
            Case(cluster=(*nodes(), *nodes({"node6": ""})), coming=[("node6", LONELY)]),
            False,
            id="a node without the label has no company",
        ),
    ],
)
def test_affinity(case: Case, legal: bool) -> None:
    assert case.rules() == ([] if legal else ["PodAffinity"])


REFUSES = {"pod_anti_affinity": (near(),)}


@pytest.mark.parametrize(
    ("case", "legal"),
    [
        pytest.param(
            Case(there=[("node1", foo())], coming=[("node3", other(**REFUSES))]),
            True,
            id="another zone",
        ),
        pytest.param(
            Case(there=[("node1", foo())], coming=[("node2", other(**REFUSES))]),
            False,
            id="the zone of a matching pod",
        ),
        pytest.param(
            Case(there=[("node1", other(**REFUSES))], coming=[("node2", foo())]),
            False,
            id="refused by one that is there",
        ),
        pytest.param(
            Case(coming=[("node1", foo(**REFUSES)), ("node2", foo(**REFUSES))]),
            False,
            id="two that refuse each other",
        ),
        pytest.param(
            Case(coming=[("node1", foo(**REFUSES)), ("node3", foo(**REFUSES))]),
            True,
            id="two that refuse each other, apart",
        ),
        pytest.param(Case(coming=[("node1", foo(**REFUSES))]), True, id="nobody refuses itself"),
        pytest.param(
            Case(
                there=[("node1", foo()), ("node1", other(**REFUSES))], coming=[("node3", other())]
            ),
            True,
            id="what is wrong already is no fault of the plan",
        ),
        pytest.param(
            Case(there=[("node1", foo(deleted=NOW))], coming=[("node1", other(**REFUSES))]),
            False,
            id="one that is on its way out is still in the way",
        ),
        pytest.param(
            Case(there=[("node1", foo("elsewhere"))], coming=[("node1", other(**REFUSES))]),
            True,
            id="another namespace",
        ),
        pytest.param(
            Case(
                there=[("node1", foo("elsewhere"))],
                coming=[("node1", other(pod_anti_affinity=(near(**ANYWHERE),)))],
            ),
            False,
            id="every namespace",
        ),
        pytest.param(
            Case(
                cluster=nodes({"node6": "", "node7": ""}),
                there=[("node6", foo())],
                coming=[("node6", other(**REFUSES))],
            ),
            True,
            id="without the label nobody is refused",
        ),
    ],
)
def test_anti_affinity(case: Case, legal: bool) -> None:
    assert case.rules() == ([] if legal else ["PodAntiAffinity"])


def takes(ip: str = EVERY, port: int = 80, protocol: str = "TCP") -> Pod:
    return other(host_ports=(HostPort(ip=ip, port=port, protocol=protocol),))


@pytest.mark.parametrize(
    ("there", "comes", "legal"),
    [
        pytest.param(takes(), takes(), False, id="the same port"),
        pytest.param(takes(), takes(port=81), True, id="another port"),
        pytest.param(takes(), takes(protocol="UDP"), True, id="another protocol"),
        pytest.param(takes("10.0.0.1"), takes("10.0.0.2"), True, id="another address"),
        pytest.param(takes("10.0.0.1"), takes(), False, id="every address includes one"),
        pytest.param(takes(), takes("10.0.0.1"), False, id="one address is among every"),
        pytest.param(
            replace(takes(), phase="Failed"), takes(), True, id="a pod that has ended holds no port"
        ),
    ],
)
def test_host_ports(there: Pod, comes: Pod, legal: bool) -> None:
    case = Case(there=[("node1", there)], coming=[("node1", comes)])

    assert case.rules() == ([] if legal else ["HostPort"])


def test_a_pod_that_names_a_port_twice_does_not_clash_with_itself() -> None:
    both = other(
        host_ports=(
            HostPort(ip="10.0.0.1", port=80, protocol="TCP"),
            HostPort(ip=EVERY, port=80, protocol="TCP"),
        )
    )

    assert Case(coming=[("node1", both)]).rules() == []


def test_a_namespace_is_selected_by_its_labels() -> None:
    company = near(namespaces=(), namespace_selector=Requirements.from_labels({"team": "payments"}))
    comes = other(pod_anti_affinity=(company,))
    bound = replace(foo("shop"), node_name="node1", unschedulable=False)
    shop = Namespace(meta=build.meta("shop", labels={"team": "payments"}))
    world = build.cluster(*nodes(), bound, comes, shop)

    found = audit.audit([], {comes.meta.key: "node2"}, world.snapshot(NOW), world.catalogue)

    assert [v.rule for v in found] == ["PodAntiAffinity"]


def test_a_constraint_that_nobody_plans_for_is_not_held_against_the_plan() -> None:
    comes = replace(BY_ZONE, unsupported=("topologySpreadConstraints",))

    assert Case(there=THREE, coming=[("node1", comes)]).rules() == []


def test_a_pod_that_is_placed_nowhere_breaks_no_rule() -> None:
    world = build.cluster(*nodes(), other(pod_affinity=(near(),)))

    assert audit.audit([], {}, world.snapshot(NOW), world.catalogue) == ()
