"""From commands to patches: what is replaced, what is kept, and what guards against old knowledge."""

import json
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest
from tests import build, json_patch

from daiku import commands
from daiku.api import encode
from daiku.model import labels
from daiku.model.condition import Condition
from daiku.model.taints import Taint

NOW = datetime(2026, 3, 2, 12, 0, 0, 999999, tzinfo=UTC)
Json = dict[str, Any]
LONG_AGO = "2026-01-01T00:00:00Z"


def _current(**parts: Any) -> encode.Current:
    body = {"metadata": {"resourceVersion": "7", "generation": 3}, **parts}
    return encode.current(json.dumps(body).encode())


def test_every_patch_names_the_version_it_was_decided_on() -> None:
    command = commands.PatchNodeClaim(
        name="a",
        resource_version="5",
        labels={"x": "y"},
        provider_id="aws:///z/i-1",
    )

    patches = encode.node_claim_patches(command, _current(), NOW)

    assert patches.metadata == {"metadata": {"resourceVersion": "5", "labels": {"x": "y"}}}
    assert patches.status == {
        "metadata": {"resourceVersion": "5"},
        "status": {"providerID": "aws:///z/i-1"},
    }


def test_a_part_that_stays_is_not_sent() -> None:
    command = commands.PatchNodePool(name="a", resource_version="5", nodes=3)

    patches = encode.node_pool_patches(command, _current(), NOW)

    assert patches.metadata is None


def test_a_condition_keeps_its_time_while_its_status_stays() -> None:
    known = {"type": "Ready", "status": "True", "lastTransitionTime": LONG_AGO}
    wanted = (
        Condition(type="Ready", status="True", reason="Ready", message="still"),
        Condition(type="Launched", status="True"),
    )

    merged = encode.merged_conditions(_current(status={"conditions": [known]}), wanted, NOW)

    assert [(c["type"], c["lastTransitionTime"], c["reason"]) for c in merged] == [
        ("Ready", LONG_AGO, "Ready"),
        ("Launched", "2026-03-02T12:00:00Z", "Launched"),
    ]
    assert {c["observedGeneration"] for c in merged} == {3}


def test_conditions_of_others_are_kept() -> None:
    known = {"type": "Theirs", "status": "False", "lastTransitionTime": LONG_AGO}

    merged = encode.merged_conditions(
        _current(status={"conditions": [known]}), (Condition(type="Ours", status="True"),), NOW
    )

    assert merged[0] == known


def test_amounts_that_are_no_longer_wanted_are_taken_away() -> None:
    command = commands.PatchNodePool(name="a", resource_version="5", resources={"cpu": 1500})

    patches = encode.node_pool_patches(
        command, _current(status={"resources": {"cpu": "4", "pods": "9"}}), NOW
    )

    assert patches.status is not None
    assert patches.status["status"]["resources"] == {"cpu": "1500m", "pods": None}


def test_finalizers_of_others_are_kept() -> None:
    found = _current(
        metadata={"resourceVersion": "7", "finalizers": ["theirs", labels.TERMINATION_FINALIZER]}
    )

    removed = encode.node_patches(
        commands.PatchNode(name="n", resource_version="7", remove_finalizer=True), found
    )
    added = encode.node_patches(
        commands.PatchNode(name="n", resource_version="7", add_finalizer=True), found
    )

    assert removed.metadata is not None
    assert removed.metadata["metadata"]["finalizers"] == ["theirs"]
    assert added.metadata is not None
    assert added.metadata["metadata"]["finalizers"] == ["theirs", labels.TERMINATION_FINALIZER]


def test_a_taint_that_stays_keeps_when_it_was_added() -> None:
    known = {"key": "a", "effect": "NoExecute", "timeAdded": LONG_AGO}

    patches = encode.node_patches(
        commands.PatchNode(
            name="n",
            resource_version="7",
            taints=(Taint("a", "NoExecute"), Taint("b", "NoSchedule", "x")),
        ),
        _current(spec={"taints": [known]}),
    )

    assert patches.metadata is not None
    assert patches.metadata["spec"]["taints"] == [
        known,
        {"key": "b", "effect": "NoSchedule", "value": "x"},
    ]


A, B, C = Taint("a", "NoExecute"), Taint("b", "NoSchedule"), Taint("c", "NoSchedule", "x")


@pytest.mark.parametrize("before", [(), (A,), (A, B), (B, A)], ids=str)
@pytest.mark.parametrize("after", [(), (A,), (B,), (B, C), (C,), (A, B, C)], ids=str)
def test_operations_on_a_node_leave_the_taints_that_were_decided_on(
    before: tuple[Taint, ...], after: tuple[Taint, ...]
) -> None:
    node = build.node("n", taints=list(before))
    command = commands.PatchNode(name="n", resource_version="7", taints=after, before=node)
    wire = {"spec": {"taints": [encode.taint(t) for t in before]} if before else {}}

    operations = encode.node_operations(command)

    assert operations is not None
    found = json_patch.apply(wire, operations)["spec"].get("taints", [])
    assert {t["key"] for t in found} == {t.key for t in after}


def test_operations_on_a_node_fail_when_a_taint_that_goes_is_not_where_it_was() -> None:
    node = build.node("n", taints=[A, B])
    command = commands.PatchNode(name="n", resource_version="7", taints=(A,), before=node)
    operations = encode.node_operations(command)
    others = {"spec": {"taints": [encode.taint(B), encode.taint(A)]}}

    assert operations is not None
    with pytest.raises(json_patch.TestFailed):
        json_patch.apply(others, operations)


def test_operations_on_a_node_add_a_label_a_finalizer_and_an_owner_to_what_is_there() -> None:
    claim = build.node_claim("default-1")
    node = build.node("n", labels_of={"theirs": "1"})
    command = commands.PatchNode(
        name="n",
        resource_version="7",
        labels={"karpenter.sh/registered": "true", "gone": None},
        annotations={"a/b": "1"},
        add_finalizer=True,
        owner=claim,
        before=replace(node, meta=replace(node.meta, annotations={}, finalizers=(), owners=())),
    )
    operations = encode.node_operations(command)

    assert operations is not None
    meta = json_patch.apply({"metadata": {"labels": dict(node.meta.labels)}}, operations)[
        "metadata"
    ]
    assert meta["labels"]["karpenter.sh/registered"] == "true"
    assert meta["labels"]["theirs"] == "1"
    assert meta["annotations"] == {"a/b": "1"}
    assert meta["finalizers"] == ["karpenter.sh/termination"]
    assert [o["uid"] for o in meta["ownerReferences"]] == [claim.meta.uid]


@pytest.mark.parametrize(
    "command",
    [
        commands.PatchNode(name="n", resource_version="7", taints=()),
        commands.PatchNode(
            name="n", resource_version="7", remove_finalizer=True, before=build.node("n")
        ),
    ],
    ids=["only one version will do", "a finalizer goes"],
)
def test_where_the_version_matters_there_are_no_operations(command: commands.PatchNode) -> None:
    assert encode.node_operations(command) is None


def test_a_node_is_owned_by_its_claim_once() -> None:
    claim = build.node_claim("default-1")
    command = commands.PatchNode(name="n", resource_version="7", owner=claim)
    once = encode.node_patches(command, _current())
    assert once.metadata is not None
    owners = once.metadata["metadata"]["ownerReferences"]

    again = encode.node_patches(
        command, _current(metadata={"resourceVersion": "7", "ownerReferences": owners})
    )

    assert again.metadata is not None
    assert again.metadata["metadata"]["ownerReferences"] == owners
    assert owners[0]["kind"] == "NodeClaim"


def test_a_nomination_is_of_one_very_pod() -> None:
    pod = commands.PodRef(namespace="default", name="web-1", uid="u-1")

    assert encode.nomination(pod, "node-a") == {
        "metadata": {"uid": "u-1"},
        "status": {"nominatedNodeName": "node-a"},
    }
