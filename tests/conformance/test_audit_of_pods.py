"""What kube-scheduler lets pods ask of each other, as the audit reads it, on clusters small enough to count by hand.

Sources: kubernetes.io/docs/concepts/scheduling-eviction/topology-spread-constraints (the examples of 3+1 nodes in two
zones), .../assign-pod-node (affinity, anti-affinity and the first pod of a group); kube-scheduler's
podtopologyspread, interpodaffinity and nodeports.
"""

from dataclasses import replace

import pytest
from tests import build
from tests.build import NOW
from tests.conformance.pods_together import ANYWHERE, Case, foo, near, nodes, other, spread

from daiku.model import labels
from daiku.model.requirements import NO_REQUIREMENTS, Requirements
from daiku.model.taints import Taint, Toleration

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
        pytest.param(
            Case(coming=[("node1", foo()), ("node2", foo()), ("node1", BY_ZONE)]),
            True,
            id="pods without the constraint may fill its zone after it",
        ),
        pytest.param(
            Case(
                there=[("node1", foo())],
                coming=[("node2", foo()), ("node1", BY_ZONE), ("node3", foo())],
            ),
            True,
            id="or have to raise the emptiest zone before it",
        ),
        pytest.param(
            Case(there=THREE[:2], coming=[("node1", BY_ZONE), ("node2", foo())]),
            False,
            id="but cannot help it from its own zone",
        ),
    ],
)
def test_spread(case: Case, legal: bool) -> None:
    assert case.rules() == ([] if legal else ["TopologySpread"])


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
            Case(coming=[("node3", foo()), ("node1", LONELY)]),
            True,
            id="the first pod comes before one of its kind that goes elsewhere",
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
