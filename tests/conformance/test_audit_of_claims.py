"""Single rules of the audit, each with a plan that breaks only that one: what new nodes may be, where pods may go.

Each row was found by taking the rule out of the audit and seeing that no other test minded.

Source: karpenter.sh/v1 (limits, minValues, taints of NodePools); kube-scheduler's noderesources, nodeaffinity,
nodevolumelimits and podtopologyspread.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace

import pytest
from tests import answers, build
from tests.build import NOW
from tests.conformance.pods_together import Case, foo, near, nodes, other, spread

from daiku.cloud.errors import InsufficientCapacity
from daiku.commands import CreateNodeClaim
from daiku.events import LaunchFailed, Object
from daiku.model import labels
from daiku.model.node import Node
from daiku.model.nodeclaim import NodeClaim
from daiku.model.taints import Taint
from daiku.model.topology import AffinityTerm, Spread
from daiku.model.volume import CsiNode, PersistentVolumeClaim, StorageClass
from daiku.scheduling import audit

ONE = build.node_claim("default-new", launched=False, registered=False, initialized=False)
TWO = replace(ONE, meta=replace(ONE.meta, name="default-next"))
YOUNG = build.node_claim("default-young", launched=False, registered=False, initialized=False)
POD, POOL = build.pod(), build.node_pool()
TAINT = Taint("dedicated", "NoSchedule")


def rules(
    creations: Sequence[CreateNodeClaim],
    *objects: Object,
    placed: Mapping[str, str] | None = None,
    sold_out: Sequence[tuple[str, str, str]] = (),
) -> list[str]:
    cluster = build.cluster(*objects)
    cluster.apply(LaunchFailed("x", InsufficientCapacity("none", sold_out=tuple(sold_out))))
    found = audit.audit(creations, placed or {}, cluster.snapshot(NOW), cluster.catalogue)
    return sorted(v.rule for v in found)


def makes(claim: NodeClaim = ONE, *pods: str) -> CreateNodeClaim:
    return answers.creation(claim, *(pods or (POD.meta.key,)))


def needing(key: str, operator: str, *values: str, least: int | None = None) -> NodeClaim:
    more = build.needs(build.require(key, operator, *values, min_values=least))
    return replace(ONE, requirements=ONE.requirements & more)


def test_a_type_that_is_sold_out_cannot_be_had() -> None:
    gone = [("c-4x", zone, "on-demand") for zone in ("zone-a", "zone-b")]

    assert rules([makes()], POD, POOL, sold_out=gone[:1]) == []
    assert rules([makes()], POD, POOL, sold_out=gone) == ["Offering"]


@pytest.mark.parametrize(("least", "found"), [(1, []), (2, ["MinValues"])])
def test_min_values_count_what_the_claim_names(least: int, found: list[str]) -> None:
    claim = needing(labels.INSTANCE_TYPE, "Exists", least=least)

    assert rules([makes(claim)], POD, POOL) == found


def test_a_claim_has_the_taints_of_its_pool() -> None:
    assert rules([makes()], POD, build.node_pool(taints=[TAINT])) == ["Taints"]


@pytest.mark.parametrize(
    ("asked", "declared", "found"),
    [
        pytest.param(("rack", "In", "r1"), None, ["Requirements"], id="nobody declares it"),
        pytest.param(("rack", "In", "r1"), ("rack", "In", "r1", "r2"), [], id="one of several"),
        pytest.param(("rack", "In", "r3"), ("rack", "In", "r1"), ["Requirements"], id="another"),
        pytest.param(("rack", "In", "r1"), ("rack", "Exists"), [], id="any"),
        pytest.param(("rack", "NotIn", "r1"), None, [], id="absent will do"),
        pytest.param(("size", "Exists"), ("rack", "In", "r1"), ["Requirements"] * 2, id="missing"),
        pytest.param((labels.ZONE, "In", "zone-a"), None, [], id="a label of instance types"),
    ],
)
def test_custom_labels_of_a_claim_are_declared_by_its_pool(
    asked: Sequence[str], declared: Sequence[str] | None, found: list[str]
) -> None:
    own = build.needs(build.require(*declared)) if declared else build.needs()
    key, operator, *values = asked

    made = makes(needing(key, operator, *values))

    assert rules([made], POD, build.node_pool(requirements=own)) == found


@pytest.mark.parametrize(
    ("limit", "there", "found"),
    [
        pytest.param({"nodes": "2"}, [], [], id="as many nodes as are allowed"),
        pytest.param({"nodes": "1"}, [], ["Limits"], id="a second node"),
        pytest.param({"cpu": "12"}, [YOUNG], [], id="one on its way, in time"),
        pytest.param({"cpu": "11"}, [YOUNG], ["Limits"], id="one on its way counts"),
        pytest.param(
            {"cpu": "8"},
            [build.node_claim("default-going", deleted=NOW)],
            [],
            id="one on its way out does not",
        ),
    ],
)
def test_limits_count(limit: Mapping[str, str], there: list[Object], found: list[str]) -> None:
    pool = build.node_pool(limits=limit)

    assert rules([makes(), makes(TWO, "default/nobody")], POD, pool, *there) == found


def test_a_label_that_will_surely_be_absent_is_none_to_rely_on() -> None:
    pod = build.pod(required_node_affinity=(build.needs(build.require("team", "Exists")),))

    assert rules([makes(needing("team", "DoesNotExist"))], pod, POOL) == ["Labels"]


def test_company_in_a_zone_that_is_still_open_is_none_to_rely_on() -> None:
    term = AffinityTerm(
        key=labels.ZONE,
        selector=build.needs(build.require("app", "In", "a")),
        namespaces=("default",),
    )
    comes = build.pod("a", labels={"app": "a"})
    relies = build.pod("b", pod_affinity=(term,))
    there = build.node("there", provider_id="there", labels_of={labels.ZONE: "zone-a"})
    placed = {"default/b": "there"}

    found = [
        rules([makes(claim, "default/a")], comes, relies, there, POOL, placed=placed)
        for claim in (ONE, needing(labels.ZONE, "In", "zone-a"))
    ]

    assert found == [["PodAffinity"], []]


def test_a_new_node_is_a_host_of_its_own() -> None:
    own = Spread(
        key=labels.HOSTNAME,
        max_skew=1,
        hard=True,
        selector=build.needs(build.require("app", "In", "a")),
    )
    pod = build.pod(labels={"app": "a"}, spread=(own,))

    assert rules([makes()], pod, POOL) == []


@pytest.mark.parametrize(
    ("objects", "placed", "found"),
    [
        pytest.param(
            [build.pod("there", cpu="3500m", node="here")],
            ["default/web-1"],
            ["Resources"],
            id="beside what is there",
        ),
        pytest.param(
            [build.pod("web-2", cpu="3500m")],
            ["default/web-1", "default/web-2"],
            ["Resources"],
            id="beside what comes",
        ),
        pytest.param(
            [
                build.node("going", provider_id="going", deleted=NOW),
                build.pod("moves", cpu="9", node="going"),
            ],
            ["default/moves"],
            ["Resources"],
            id="pods of nodes that are going",
        ),
    ],
)
def test_an_existing_node_has_room(
    objects: list[Object], placed: list[str], found: list[str]
) -> None:
    here = build.node("here", provider_id="here")

    assert rules([], POD, here, *objects, placed=dict.fromkeys(placed, "here")) == found


def test_volumes_that_come_together_count_together() -> None:
    driver = "ebs.csi.aws.com"
    objects: list[Object] = [
        build.node("here", provider_id="here"),
        StorageClass(meta=build.meta("waits"), provisioner=driver, waits_for_pod=True),
        CsiNode(meta=build.meta("here"), limits={driver: 1}),
    ]
    for name in "ab":
        meta = build.meta(name, namespace="default")
        objects.append(PersistentVolumeClaim(meta=meta, storage_class="waits"))
        objects.append(build.pod(f"pod-{name}", volume_claims=(name,)))

    both = {f"default/pod-{name}": "here" for name in "ab"}

    assert rules([], *objects, placed={"default/pod-a": "here"}) == []
    assert rules([], *objects, placed=both) == ["Volumes"]


def in_rack(node: Node) -> Node:
    return replace(node, meta=replace(node.meta, labels={**node.meta.labels, "rack": "r"}))


THREE = [("node1", foo()), ("node2", foo()), ("node3", foo())]
ELSEWHERE = build.needs(build.require("kubernetes.io/metadata.name", "In", "elsewhere"))


@pytest.mark.parametrize(
    ("case", "found"),
    [
        pytest.param(
            Case(
                there=[*THREE, *[("node3", foo("elsewhere"))] * 2],
                coming=[("node4", foo(spread=(spread(),)))],
            ),
            [],
            id="pods of other namespaces fill no zone",
        ),
        pytest.param(
            Case(
                there=THREE,
                cluster=(*nodes(), *nodes({"node5": "C"}, deleted=NOW)),
                coming=[("node4", foo(spread=(spread(),)))],
            ),
            [],
            id="a zone whose only node is going is no emptiest one",
        ),
        pytest.param(
            Case(
                there=THREE,
                cluster=(*map(in_rack, nodes()), *nodes({"node5": "C"})),
                coming=[("node4", foo(spread=(spread(), spread("rack", max_skew=9))))],
            ),
            [],
            id="nor is one whose nodes lack the key of another of its constraints",
        ),
        pytest.param(
            Case(
                there=[("node1", foo("elsewhere"))],
                coming=[
                    (
                        "node2",
                        other(pod_affinity=(near(namespaces=(), namespace_selector=ELSEWHERE),)),
                    )
                ],
            ),
            [],
            id="every namespace has its name as a label",
        ),
    ],
)
def test_what_counts(case: Case, found: list[str]) -> None:
    assert case.rules() == found
