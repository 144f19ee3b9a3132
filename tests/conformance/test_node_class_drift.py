"""When a machine is no longer what its EC2NodeClass says, and that nothing drifts by what nobody knows.

Source: Karpenter's drift of the AWS provider (karpenter.k8s.aws/v1): its six reasons, their order, and when it makes
no judgement.
"""

from dataclasses import replace
from typing import Any

import pytest
from tests import build
from tests.unit.daiku_edge import aws_facts

from daiku.cloud.provider import Instance
from daiku.lifecycle import node_class_drift
from daiku.lifecycle.node_class_drift import HASH, HASH_VERSION, drift_reason
from daiku.model.nodeclaim import NodeClaim
from daiku.model.nodeclass import NodeClass

LABELS = {
    "karpenter.sh/nodepool": "default",
    "karpenter.sh/capacity-type": "on-demand",
    "node.kubernetes.io/instance-type": "m5.large",
    "kubernetes.io/arch": "amd64",
}
STAMP = {HASH: "1", HASH_VERSION: "daiku-1"}
GPU = {"key": "karpenter.k8s.aws/instance-gpu-count", "operator": "Exists"}
NO_GPU = {"key": "karpenter.k8s.aws/instance-gpu-count", "operator": "DoesNotExist"}
X86 = {"key": "kubernetes.io/arch", "operator": "In", "values": ["amd64"]}
STATUS: dict[str, Any] = {
    "amis": [
        {"id": "ami-gpu", "requirements": [X86, GPU]},
        {"id": "ami-new", "requirements": [X86, NO_GPU]},
        {"id": "ami-old", "requirements": [X86]},
    ],
    "subnets": [{"id": "subnet-1", "zone": "us-west-2a"}],
    "securityGroups": [{"id": "sg-1"}, {"id": "sg-2"}],
}
MACHINE = Instance(
    provider_id="aws:///us-west-2a/i-1",
    node_claim="default-1",
    nodepool="default",
    launched=build.NOW,
    terminating=False,
    subnet="subnet-1",
    security_groups=("sg-1", "sg-2"),
)


def _claim(labels: dict[str, str] | None = None, **fields: Any) -> NodeClaim:
    made = build.node_claim("default-1")
    annotations = fields.pop("annotations", STAMP)
    meta = replace(made.meta, labels={**LABELS, **(labels or {})}, annotations=annotations)
    return replace(made, meta=meta, **{"image_id": "ami-new", **fields})


def _class(annotations: dict[str, str] | None = None, **status: Any) -> NodeClass:
    found = aws_facts.node_class()
    stamp = STAMP if annotations is None else annotations
    return replace(found, meta=replace(found.meta, annotations=stamp), status={**STATUS, **status})


CASES: dict[str, tuple[NodeClaim, NodeClass, Instance | None, str]] = {
    "nothing changed": (_claim(), _class(), MACHINE, ""),
    "another hash": (_claim(), _class({**STAMP, HASH: "2"}), MACHINE, "NodeClassDrift"),
    "another hash of another version": (_claim(), _class({HASH: "2", HASH_VERSION: "v6"}), MACHINE, ""),
    "a class without a hash yet": (_claim(), _class({}), MACHINE, ""),
    "a claim without a hash": (_claim(annotations={}), _class(), MACHINE, ""),
    "another image": (_claim(image_id="ami-old"), _class(), MACHINE, "AMIDrift"),
    "an image for other machines comes first": (_claim(), _class(), MACHINE, ""),
    "a GPU machine on the standard image": (
        _claim({"karpenter.k8s.aws/instance-gpu-count": "1"}), _class(), MACHINE, "AMIDrift",
    ),
    "no image boots the type any more": (_claim(), _class(amis=STATUS["amis"][:1]), MACHINE, ""),
    "images not resolved": (_claim(image_id="ami-old"), _class(amis=[]), MACHINE, ""),
    "a claim without an image": (_claim(image_id=""), _class(), MACHINE, ""),
    "a group more in the class": (
        _claim(), _class(securityGroups=[{"id": f"sg-{i}"} for i in (1, 2, 3)]), MACHINE, "SecurityGroupDrift",
    ),
    "a group less in the class": (_claim(), _class(securityGroups=[{"id": "sg-1"}]), MACHINE, "SecurityGroupDrift"),
    "groups not resolved": (_claim(), _class(securityGroups=[]), MACHINE, ""),
    "another subnet": (_claim(), _class(subnets=[{"id": "subnet-2", "zone": "us-west-2b"}]), MACHINE, "SubnetDrift"),
    "subnets not resolved": (_claim(), _class(subnets=[]), MACHINE, ""),
    "the machine is not listed": (_claim(), _class(subnets=[{"id": "subnet-2"}]), None, ""),
    "the machine ends": (_claim(), _class(subnets=[{"id": "subnet-2"}]), replace(MACHINE, terminating=True), ""),
    "its reservation is selected": (
        _claim({"karpenter.sh/capacity-type": "reserved", node_class_drift.RESERVATION: "cr-1"}),
        _class(capacityReservations=[{"id": "cr-1"}]), replace(MACHINE, reserved=True), "",
    ),
    "its reservation is not selected any more": (
        _claim({"karpenter.sh/capacity-type": "reserved", node_class_drift.RESERVATION: "cr-1"}),
        _class(capacityReservations=[{"id": "cr-2"}]), replace(MACHINE, reserved=True), "CapacityReservationDrift",
    ),
    "its reservation is over": (
        _claim({"karpenter.sh/capacity-type": "reserved", node_class_drift.RESERVATION: "cr-1"}),
        _class(capacityReservations=[{"id": "cr-2"}]), MACHINE, "",
    ),
    "its placement group is another": (
        _claim({"karpenter.k8s.aws/placement-group-id": "pg-1"}),
        _class({**STAMP, node_class_drift.RESOLVED_GROUP: "pg-2/cluster"}), MACHINE, "PlacementGroupDrift",
    ),
    "its placement group is the same": (
        _claim({"karpenter.k8s.aws/placement-group-id": "pg-1"}),
        _class({**STAMP, node_class_drift.RESOLVED_GROUP: "pg-1/cluster"}), MACHINE, "",
    ),
    "the class has no placement group any more": (
        _claim({"karpenter.k8s.aws/placement-group-id": "pg-1"}), _class(), MACHINE, "PlacementGroupDrift",
    ),
    "hash before image": (_claim(image_id="ami-old"), _class({**STAMP, HASH: "2"}), MACHINE, "NodeClassDrift"),
    "image before groups": (_claim(image_id="ami-old"), _class(securityGroups=[{"id": "sg-1"}]), MACHINE, "AMIDrift"),
    "groups before subnet": (
        _claim(), _class(securityGroups=[{"id": "sg-1"}], subnets=[{"id": "subnet-2"}]), MACHINE, "SecurityGroupDrift",
    ),
    "a claim of no NodePool": (
        replace(_claim(), meta=replace(_claim().meta, labels={})), _class({**STAMP, HASH: "2"}), MACHINE, "",
    ),
    "a class of another cloud": (
        _claim(), replace(_class({**STAMP, HASH: "2"}), ref=replace(aws_facts.REF, kind="KWOKNodeClass")), MACHINE, "",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_drifts_for_this_reason(name: str) -> None:
    claim, node_class, instance, reason = CASES[name]

    assert drift_reason(claim, node_class, instance) == reason
