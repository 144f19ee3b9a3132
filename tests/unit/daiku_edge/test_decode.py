"""From bytes to values: what is read, what is shared, and what happens to what cannot be read."""

import json
from datetime import timedelta
from typing import Any

import pytest
from tests import build

from daiku.api import decode, encode, kinds
from daiku.model import labels
from daiku.model.taints import Taint, Toleration

NEVER = None


def _pod(**spec: Any) -> bytes:
    container = {"name": "c", "resources": {"requests": {"cpu": "1500m", "memory": "1Gi"}}}
    return json.dumps(
        {
            "metadata": {
                "name": "web-1",
                "namespace": "default",
                "uid": "u",
                "resourceVersion": "7",
            },
            "spec": {"containers": [container], **spec},
            "status": {
                "phase": "Pending",
                "conditions": [
                    {"type": "PodScheduled", "status": "False", "reason": "Unschedulable"}
                ],
            },
        }
    ).encode()


def _pool(**spec: Any) -> bytes:
    body = {
        "metadata": {"name": "default"},
        "spec": {
            "template": {
                "spec": {
                    "requirements": [{"key": labels.ARCH, "operator": "In", "values": ["amd64"]}],
                    "nodeClassRef": {"group": "g", "kind": "k", "name": "n"},
                }
            },
            **spec,
        },
    }
    return json.dumps(body).encode()


def test_a_pod_asks_for_what_its_containers_ask_for_and_one_place() -> None:
    pod = decode.pod(_pod())

    assert pod.requests == {"cpu": 1500, "memory": 2**30, "pods": 1}
    assert pod.unschedulable
    assert pod.meta.key == "default/web-1"


def test_alternatives_of_node_affinity_stay_apart() -> None:
    terms = [
        {"matchExpressions": [{"key": "zone", "operator": "In", "values": [value]}]}
        for value in ("a", "b")
    ]
    required = {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": terms}}

    pod = decode.pod(_pod(affinity={"nodeAffinity": required}))

    assert [term.get("zone").sorted_values() for term in pod.required_node_affinity] == [
        ("a",),
        ("b",),
    ]


def test_a_toleration_without_an_operator_means_equal() -> None:
    pod = decode.pod(_pod(tolerations=[{"key": "gpu", "value": "yes", "effect": "NoSchedule"}]))

    assert pod.tolerations == (
        Toleration(key="gpu", operator="Equal", value="yes", effect="NoSchedule"),
    )


def test_devices_that_a_pod_asks_for_are_named() -> None:
    pod = decode.pod(_pod(resourceClaims=[{"name": "gpu", "resourceClaimName": "gpu"}]))

    assert pod.resource_claims == ("gpu",)


def test_pods_of_one_owner_share_what_they_have_in_common() -> None:
    first, second = decode.pod(_pod()), decode.pod(_pod())

    assert first.requests is second.requests


def test_a_pod_keeps_only_the_annotations_that_are_read() -> None:
    body = json.loads(_pod())
    body["metadata"]["annotations"] = {labels.DO_NOT_DISRUPT: "true", "example.com/notes": "x" * 99}

    pod = decode.pod(json.dumps(body).encode())

    assert pod.meta.annotations == {labels.DO_NOT_DISRUPT: "true"}


def test_a_node_pool_has_karpenters_defaults() -> None:
    pool = kinds.NODE_POOLS.decode(_pool())

    assert pool.consolidate_after == timedelta(0)
    assert pool.template.expire_after == timedelta(hours=720)
    assert [budget.nodes for budget in pool.budgets] == ["10%"]
    assert pool.invalid == ""


def test_never_is_no_duration() -> None:
    pool = kinds.NODE_POOLS.decode(_pool(disruption={"consolidateAfter": "Never"}))

    assert pool.consolidate_after is NEVER


def test_everything_that_is_wrong_with_a_node_pool_is_said_at_once() -> None:
    bad = json.loads(_pool(limits={"cpu": "ten"}))
    template = bad["spec"]["template"]["spec"]
    template["requirements"] += [{"key": "a", "operator": "in", "values": ["b"]}]
    template["expireAfter"] = "soon"
    template["taints"] = [{"key": "a", "effect": "NoSchedule"}] * 2

    pool = kinds.NODE_POOLS.decode(json.dumps(bad).encode())

    for words in ("limits: cpu", "operator 'in'", "'soon' is not a duration", "2 times"):
        assert words in pool.invalid
    assert labels.ARCH in pool.template.requirements


def test_a_node_pool_of_the_wrong_shape_is_invalid_and_still_there() -> None:
    pool = kinds.NODE_POOLS.decode(_pool(weight="heavy"))

    assert pool.meta.name == "default"
    assert "weight" in pool.invalid


def test_a_label_that_somebody_else_sets_makes_a_node_pool_invalid() -> None:
    bad = json.loads(_pool())
    bad["spec"]["template"]["metadata"] = {"labels": {labels.NODEPOOL: "other"}}

    assert labels.NODEPOOL in kinds.NODE_POOLS.decode(json.dumps(bad).encode()).invalid


def test_a_node_claim_comes_back_as_it_was_sent() -> None:
    sent = build.node_claim(
        "default-1",
        taints=(Taint("gpu", "NoSchedule", "yes"),),
        expire_after=timedelta(hours=1, minutes=30),
        termination_grace_period=timedelta(seconds=90),
    )

    back = kinds.NODE_CLAIMS.decode(json.dumps(encode.node_claim(sent)).encode())

    for field in ("requirements", "requests", "taints", "expire_after", "termination_grace_period"):
        assert getattr(back, field) == getattr(sent, field), field
    assert back.node_class == sent.node_class


def test_what_cannot_be_read_names_the_object() -> None:
    bad = json.loads(_pod())
    bad["spec"]["containers"][0]["resources"]["requests"]["cpu"] = "lots"

    with pytest.raises(decode.Unreadable, match=r"default/web-1 .*lots"):
        decode.guarded(decode.pod, json.dumps(bad).encode())


@pytest.mark.parametrize(
    ("condition", "ready"),
    [
        pytest.param({"status": "True", "observedGeneration": 2}, True, id="of this generation"),
        pytest.param({"status": "True", "observedGeneration": 1}, False, id="of an older one"),
        pytest.param({"status": "True"}, True, id="that names no generation"),
        pytest.param({"status": "Unknown"}, False, id="that is unknown"),
    ],
)
def test_a_node_class_is_ready_by_a_condition(condition: dict[str, Any], ready: bool) -> None:
    body = {
        "metadata": {"name": "default", "generation": 2},
        "status": {"conditions": [{"type": "Ready", **condition}]},
    }

    found = kinds.EC2_NODE_CLASSES.decode(json.dumps(body).encode())

    assert found.ready is ready
    assert bool(found.why_not_ready) is not ready
