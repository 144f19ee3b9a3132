"""What kube-scheduler lets pods ask of each other, as the audit reads it, on clusters small enough to count by hand.

Sources: kubernetes.io/docs/concepts/scheduling-eviction/topology-spread-constraints (the examples of 3+1 nodes in two
zones), .../assign-pod-node (affinity, anti-affinity and the first pod of a group); kube-scheduler's
podtopologyspread, interpodaffinity and nodeports.
"""

from dataclasses import replace

import pytest
from tests import build
from tests.build import NOW
from tests.conformance.pods_together import ANYWHERE, EVERY, Case, foo, near, nodes, other

from daiku.model.namespace import Namespace
from daiku.model.pod import Pod
from daiku.model.requirements import Requirements
from daiku.model.topology import HostPort
from daiku.scheduling import audit

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


def test_a_pod_that_is_placed_nowhere_breaks_no_rule() -> None:
    world = build.cluster(*nodes(), other(pod_affinity=(near(),)))

    assert audit.audit([], {}, world.snapshot(NOW), world.catalogue) == ()
