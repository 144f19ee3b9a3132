"""Broken plans are found out, each by its rule."""

from dataclasses import replace

import pytest
from tests import answers, build
from tests.build import NOW

from daiku.cloud.errors import InsufficientCapacity
from daiku.commands import (
    Command,
    CreateNodeClaim,
    Evict,
    Launch,
    PatchNode,
    PatchNodeClaim,
    TerminateInstance,
)
from daiku.events import LaunchFailed, Object
from daiku.lifecycle import audit as lifecycle_audit
from daiku.model import labels
from daiku.model.instance_type import LaunchOption
from daiku.model.node import Node
from daiku.model.nodeclaim import NodeClaim
from daiku.model.pod import Pod
from daiku.model.requirements import NO_REQUIREMENTS
from daiku.model.taints import Taint
from daiku.model.topology import AffinityTerm, HostPort, Spread
from daiku.scheduling import audit

GPU = Taint("dedicated", "NoSchedule", "gpu")
POD = build.pod()
POOL = build.node_pool()
ONE = build.node_claim("default-new", launched=False, registered=False, initialized=False)


def creation(claim: NodeClaim = ONE, *pods: str) -> CreateNodeClaim:
    return answers.creation(claim, *(pods or (POD.meta.key,)))


def rules(command: CreateNodeClaim, *objects: Object) -> list[str]:
    cluster = build.cluster(*(objects or (POD, POOL)))
    return [v.rule for v in audit.audit([command], {}, cluster.snapshot(NOW), cluster.catalogue)]


def needing(*types: str) -> NodeClaim:
    return replace(
        ONE,
        requirements=build.needs(
            build.require(labels.NODEPOOL, "In", "default"),
            build.require(labels.INSTANCE_TYPE, "In", *types),
        ),
    )


def test_a_legal_claim_passes() -> None:
    assert rules(creation()) == []


@pytest.mark.parametrize(
    ("command", "objects", "rule"),
    [
        pytest.param(
            creation(),
            [POD, POOL, build.node_claim("default-new")],
            "Name",
            id="a name that is taken",
        ),
        pytest.param(
            creation(replace(ONE, meta=replace(ONE.meta, finalizers=()))),
            [],
            "Finalizer",
            id="no finalizer",
        ),
        pytest.param(creation(), [POD], "NodePool", id="no such pool"),
        pytest.param(creation(replace(ONE, taints=(GPU,))), [], "Taints", id="taints of its own"),
        pytest.param(
            creation(needing("c-4x", "made-up")),
            [],
            "InstanceTypes",
            id="a type that does not exist",
        ),
        pytest.param(
            creation(needing("c-1x")),
            [build.pod(cpu="2"), POOL],
            "Resources",
            id="a type that is too small",
        ),
        pytest.param(
            creation(),
            [POD, POOL, build.daemon_set(cpu="3500m")],
            "Resources",
            id="no room beside the DaemonSet",
        ),
        pytest.param(
            creation(),
            [POD, POOL, build.daemon_set(extra={"nvidia.com/gpu": "1"})],
            "DaemonSets",
            id="a DaemonSet that no type holds",
        ),
        pytest.param(
            creation(replace(ONE, requests={"cpu": 5000})),
            [],
            "Requests",
            id="asks for more than its types have",
        ),
        pytest.param(
            creation(),
            [build.pod(node_selector={"team": "x"}), POOL],
            "Labels",
            id="a label nobody gives",
        ),
        pytest.param(
            creation(needing("c-4x")),
            [build.pod(node_selector={labels.ZONE: "zone-a"}), POOL],
            "Labels",
            id="a zone that is not sure",
        ),
        pytest.param(
            creation(), [POD, build.node_pool(limits={"cpu": "3"})], "Limits", id="over the limit"
        ),
        pytest.param(
            creation(),
            [POD, build.node_pool(limits={"nodes": "0"})],
            "Limits",
            id="over the limit of nodes",
        ),
    ],
)
def test_an_illegal_claim_is_found_out(
    command: CreateNodeClaim, objects: list[Object], rule: str
) -> None:
    assert rule in rules(command, *objects)


def test_a_claim_for_a_pool_with_taints_that_its_pod_does_not_tolerate_is_found_out() -> None:
    tainted = build.node_pool(taints=[GPU])

    assert rules(creation(replace(ONE, taints=(GPU,))), POD, tainted) == ["Taints"]


def test_two_claims_share_one_limit() -> None:
    cluster = build.cluster(POD, build.node_pool(limits={"cpu": "4"}))
    second = replace(ONE, meta=replace(ONE.meta, name="default-next"))

    found = audit.audit(
        [creation(), creation(second)], {}, cluster.snapshot(NOW), cluster.catalogue
    )

    assert [v.command for v in found] == [creation(second)]


@pytest.mark.parametrize(
    ("node", "rule"),
    [
        pytest.param(build.node(cpu="500m"), "Resources", id="no room"),
        pytest.param(build.node(taints=[GPU]), "Taints", id="a taint"),
        pytest.param(build.node("another"), "Node", id="no such node"),
    ],
)
def test_an_illegal_place_is_found_out(node: Object, rule: str) -> None:
    cluster = build.cluster(POD, node)
    node_name = replace(node, provider_id="i-1") if rule == "Resources" else node

    cluster = build.cluster(POD, node_name)
    found = audit.audit([], {POD.meta.key: "other"}, cluster.snapshot(NOW), cluster.catalogue)

    assert [v.rule for v in found] == [rule]


CLAIM = build.node_claim()
NODE = build.node(claim=CLAIM)
ON_IT = build.pod(node=NODE.meta.name)
OPTION = LaunchOption(
    instance_type="c-4x", zone="zone-a", capacity_type="spot", price_usd_per_hour=1.0
)


@pytest.mark.parametrize(
    ("command", "rule"),
    [
        pytest.param(Launch(node_claim=CLAIM, options=()), "Launch", id="launched already"),
        pytest.param(Launch(node_claim=ONE, options=(OPTION,)), "Launch", id="sold out"),
        pytest.param(
            TerminateInstance(provider_id=CLAIM.provider_id, node_claim=""),
            "Instance",
            id="still wanted",
        ),
        pytest.param(
            Evict(namespace="default", name="web-1", uid="uid-web-1"),
            "Eviction",
            id="node is not going",
        ),
        pytest.param(
            PatchNode(name=NODE.meta.name, resource_version="1", remove_finalizer=True),
            "Finalizer",
            id="node",
        ),
        pytest.param(
            PatchNodeClaim(name="default-aaaaa", resource_version="1", remove_finalizer=True),
            "Finalizer",
            id="claim",
        ),
    ],
)
def test_an_end_that_must_not_be_is_found_out(command: Command, rule: str) -> None:
    cluster = build.cluster(CLAIM, NODE, ON_IT, POOL)
    sold_out = InsufficientCapacity("none", sold_out=(("c-4x", "zone-a", "spot"),))
    cluster.apply(LaunchFailed("x", sold_out))

    found = lifecycle_audit.audit([command], cluster.snapshot(NOW))

    assert [v.rule for v in found] == [rule]


def test_an_instance_does_not_end_under_a_node_that_nobody_has_told_to_go() -> None:
    gone = build.node_claim(deleted=NOW)
    end = TerminateInstance(provider_id=CLAIM.provider_id, node_claim=gone.meta.name)

    def found(node: Node) -> list[str]:
        snapshot = build.cluster(gone, node, POOL).snapshot(NOW)
        return [v.message for v in lifecycle_audit.audit([end], snapshot)]

    assert [m for m in found(NODE) if "has not begun to drain" in m]
    assert found(build.node(claim=CLAIM, deleted=NOW)) == []


SPREAD = Spread(key=labels.ZONE, max_skew=1, hard=True, selector=NO_REQUIREMENTS)
REFUSES_ITS_LIKE = AffinityTerm(key=labels.ZONE, selector=NO_REQUIREMENTS, namespaces=("default",))
IN_ZONE_A = replace(
    ONE, requirements=ONE.requirements & build.needs(build.require(labels.ZONE, "In", "zone-a"))
)


@pytest.mark.parametrize(
    ("claim", "pod", "found"),
    [
        pytest.param(ONE, build.pod(spread=(SPREAD,)), ["TopologySpread"], id="spread by it"),
        pytest.param(IN_ZONE_A, build.pod(spread=(SPREAD,)), [], id="spread by it, when sure"),
        pytest.param(
            ONE,
            build.pod(pod_anti_affinity=(REFUSES_ITS_LIKE,)),
            ["PodAntiAffinity"],
            id="kept apart by it",
        ),
        pytest.param(
            ONE,
            build.pod(pod_affinity=(REFUSES_ITS_LIKE,)),
            ["PodAffinity"],
            id="kept together by it",
        ),
    ],
)
def test_a_zone_that_is_not_sure_yet_counts_as_the_worst(
    claim: NodeClaim, pod: Pod, found: list[str]
) -> None:
    there = build.node("there", labels_of={labels.ZONE: "zone-a"})

    assert rules(creation(claim), pod, POOL, there, build.pod("there", node="there")) == found


def test_a_port_that_a_daemon_set_takes_on_a_new_node_is_gone() -> None:
    port = HostPort(ip="10.0.0.1", port=80, protocol="TCP")

    found = rules(
        creation(), build.pod(host_ports=(port,)), POOL, build.daemon_set(host_ports=(port,))
    )

    assert found == ["HostPort"]


def test_a_violation_says_its_numbers() -> None:
    node = build.node("other", cpu="500m", provider_id="i-1")
    cluster = build.cluster(POD, node)

    (found,) = audit.audit([], {POD.meta.key: "other"}, cluster.snapshot(NOW), cluster.catalogue)

    assert (found.node, found.pod, found.found, found.allowed) == ("other", POD.meta.key, 1000, 500)
