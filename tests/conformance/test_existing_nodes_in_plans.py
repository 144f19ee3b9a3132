"""Pods on nodes that are there, that come up, and that are on their way.

Source: karpenter-core, provisioning/scheduling/suite_test.go, "In-Flight Nodes", "Existing Nodes", "No Pre-Binding",
and provisioning/suite_test.go, "Deleting nodes"; state/suite_test.go for the taints of nodes that come up.
"""

from typing import Any

import pytest
from tests import build
from tests.plans import Small

from daiku.events import Object
from daiku.model import labels
from daiku.model.pod import Pod
from daiku.model.requirements import Requirements
from daiku.model.taints import Taint, Toleration
from daiku.model.topology import HostPort

DEDICATED = Taint("dedicated", "NoSchedule")
STARTUP = Taint("cni", "NoSchedule")
TYPES = build.family(sizes=(4,))
NEW = ["1 on new c-4x"]


def managed(
    name: str = "default-a", *, taints: tuple[Taint, ...] = (), **stage: Any
) -> list[Object]:
    """A NodeClaim and its node."""
    own = {"startup_taints": (STARTUP,)}
    claim = build.node_claim(name, **own, **stage)
    ready = {k: v for k, v in stage.items() if k in {"registered", "initialized", "deleted"}}
    return [claim, build.node(claim=claim, taints=taints, **ready)]


def on_its_way(name: str = "default-young", **fields: Any) -> list[Object]:
    return [build.node_claim(name, launched=False, registered=False, initialized=False, **fields)]


def plain(name: str = "here", **fields: Any) -> list[Object]:
    return [build.node(name, provider_id=name, **fields)]


def zones(*values: str) -> Requirements:
    return build.needs(
        build.require(labels.INSTANCE_TYPE, "In", "c-4x"),
        build.require(labels.ZONE, "In", *values),
    )


IN_A = {"node_selector": {labels.ZONE: "zone-a"}}
ANYTHING = [Toleration(operator="Exists")]


@pytest.mark.parametrize(
    ("there", "asked", "told"),
    [
        pytest.param(managed(), {}, ["1 on node-default-a"], id="a node with room"),
        pytest.param(plain(), {}, ["1 on here"], id="a node of nobody"),
        pytest.param(
            [*plain("b"), *plain("a")], {}, ["1 on a"], id="of two the one whose name comes first"
        ),
        pytest.param(managed(), IN_A, ["1 on node-default-a"], id="with the label"),
        pytest.param(
            managed(), {"node_selector": {labels.ZONE: "zone-b"}}, NEW, id="with another label"
        ),
        pytest.param(
            plain(), {"node_selector": {labels.ZONE: "zone-a"}}, NEW, id="without a known label"
        ),
        pytest.param(
            plain(),
            {"required_node_affinity": (build.needs(build.require("team", "NotIn", "x")),)},
            ["1 on here"],
            id="NotIn of a label that it lacks",
        ),
        pytest.param(
            plain(),
            {"node_selector": {labels.NODEPOOL: "default"}},
            NEW,
            id="not of the NodePool",
        ),
        pytest.param(plain(cpu="500m"), {}, NEW, id="too small"),
        pytest.param(managed(taints=(DEDICATED,)), {}, NEW, id="a taint"),
        pytest.param(
            managed(taints=(DEDICATED,)),
            {"tolerations": ANYTHING},
            ["1 on node-default-a"],
            id="a taint that is tolerated",
        ),
        pytest.param(
            managed(taints=(Taint("out", "NoExecute"),)), {}, NEW, id="a taint that evicts"
        ),
        pytest.param(plain(unschedulable=True), {}, NEW, id="cordoned"),
        pytest.param(
            plain(unschedulable=True), {"tolerations": ANYTHING}, NEW, id="cordoned for all"
        ),
        pytest.param(plain(deleted=build.NOW), {}, NEW, id="being deleted"),
        pytest.param(managed(deleted=build.NOW), {}, NEW, id="its NodeClaim is being deleted"),
        pytest.param(
            managed(taints=(Taint("karpenter.sh/disrupted", "NoSchedule"),)),
            {},
            NEW,
            id="being disrupted",
        ),
        # ---- nodes that come up
        pytest.param(
            managed(initialized=False), {}, ["1 on node-default-a"], id="not initialized yet"
        ),
        pytest.param(
            [*managed("default-a", initialized=False), *plain("z")],
            {},
            ["1 on z"],
            id="initialized ones first, whatever their name",
        ),
        pytest.param(
            managed(initialized=False, taints=(STARTUP,)),
            {},
            ["1 on node-default-a"],
            id="with its startup taint",
        ),
        pytest.param(
            managed(taints=(STARTUP,)), {}, NEW, id="a startup taint after initialization counts"
        ),
        pytest.param(
            managed(
                initialized=False, taints=(Taint("node.kubernetes.io/not-ready", "NoSchedule"),)
            ),
            {},
            ["1 on node-default-a"],
            id="not ready yet",
        ),
        pytest.param(
            managed(
                initialized=False,
                taints=(Taint("node.cloudprovider.kubernetes.io/uninitialized", "NoSchedule"),),
            ),
            {},
            ["1 on node-default-a"],
            id="not known to the cloud's controller yet",
        ),
        pytest.param(
            managed(initialized=False, taints=(Taint("readiness.k8s.io/net", "NoSchedule"),)),
            {},
            ["1 on node-default-a"],
            id="its network is not ready yet",
        ),
        pytest.param(
            managed(taints=(Taint("node.kubernetes.io/not-ready", "NoSchedule"),)),
            {},
            NEW,
            id="not ready any more",
        ),
        pytest.param(
            plain(taints=(Taint("node.kubernetes.io/not-ready", "NoSchedule"),)),
            {},
            NEW,
            id="a node of nobody that is not ready",
        ),
        pytest.param(
            managed(initialized=False, taints=(DEDICATED,)),
            {},
            NEW,
            id="another taint while it comes up",
        ),
        # ---- NodeClaims without a node
        pytest.param(on_its_way(), {}, ["1 on default-young"], id="not launched yet"),
        pytest.param(on_its_way(taints=(DEDICATED,)), {}, NEW, id="not launched yet, with a taint"),
        pytest.param(
            on_its_way(startup_taints=(STARTUP,)),
            {},
            ["1 on default-young"],
            id="not launched yet, with a startup taint",
        ),
        pytest.param(
            on_its_way(requirements=zones("zone-a")),
            IN_A,
            ["1 on default-young"],
            id="it can only be in that zone",
        ),
        pytest.param(
            on_its_way(requirements=zones("zone-b")), IN_A, NEW, id="it can only be elsewhere"
        ),
        pytest.param(
            on_its_way(requirements=zones("zone-a", "zone-b")), IN_A, NEW, id="it may be elsewhere"
        ),
        pytest.param(
            on_its_way(deleted=build.NOW), {}, NEW, id="not launched yet, and being deleted"
        ),
    ],
)
def test_a_pod_goes_to(there: list[Object], asked: dict[str, Any], told: list[str]) -> None:
    assert Small(pods=[build.pod(**asked)], there=there, types=TYPES).told() == told


@pytest.mark.parametrize(
    ("there", "pods", "told"),
    [
        pytest.param(
            on_its_way(),
            build.pods(6),
            ["2 on new c-4x", "4 on default-young"],
            id="what is on its way is filled, the rest is new",
        ),
        pytest.param(
            [*managed("default-a"), *on_its_way()],
            build.pods(9),
            ["1 on new c-4x", "4 on default-young", "4 on node-default-a"],
            id="nodes first, then what is on its way, then new ones",
        ),
        pytest.param(
            [*managed(), build.pod("old", cpu="3", node="node-default-a")],
            build.pods(2),
            ["1 on new c-4x", "1 on node-default-a"],
            id="pods that are there keep their room",
        ),
        pytest.param(
            [*managed(), build.pod("old", cpu="3", node="node-default-a", deleted=build.NOW)],
            build.pods(2),
            ["1 on new c-4x", "1 on node-default-a"],
            id="pods that are ending keep it too",
        ),
        pytest.param(
            [*managed(), build.pod("old", cpu="3", node="node-default-a", phase="Failed")],
            build.pods(2),
            ["2 on node-default-a"],
            id="pods that have ended do not",
        ),
        pytest.param(
            managed(),
            [
                build.pod(name, host_ports=(HostPort(ip="0.0.0.0", port=80, protocol="TCP"),))  # noqa: S104
                for name in "ab"
            ],
            ["1 on new c-4x", "1 on node-default-a"],
            id="one host port, two nodes",
        ),
    ],
)
def test_pods_go_to(there: list[Object], pods: list[Pod], told: list[str]) -> None:
    assert Small(pods=pods, there=there, types=TYPES).told() == told


def test_accelerators_that_a_kubelet_has_not_found_yet_count() -> None:
    """Source: "kubelet zeroing extended resources": until it is initialized, a node has what was bought."""
    gpu = {"cpu": 4000, "memory": 2**33, "pods": 110, "nvidia.com/gpu": 1}
    claim = build.node_claim("default-a", initialized=False, capacity=gpu, allocatable=gpu)
    zeroed = {**gpu, "nvidia.com/gpu": 0}
    node = build.node(claim=claim, initialized=False, allocatable=zeroed)
    pod = build.pod(cpu="1", extra={"nvidia.com/gpu": "1"})

    assert Small(pods=[pod], there=[claim, node], types=TYPES).told() == ["1 on node-default-a"]
