"""A pod that asks for what only some EC2 machines have gets one of them, or is told why not: the whole way to the plan.

Source: Karpenter AWS v1.14.1, pkg/providers/instancetype/suite_test.go (pod ENI, private IPv4 addresses, GPUs, Neuron,
EFA) and pkg/cloudprovider; the facts of the types are EC2's, as moto ships them.
"""

from dataclasses import replace
from typing import Any

import pytest
from tests import build
from tests.conformance import ec2_facts
from tests.unit.daiku_edge import aws_facts

from daiku.cloud.aws import capacity
from daiku.cloud.aws.measured import Measured
from daiku.cloud.aws.offerings import Offerings
from daiku.cloud.aws.pricing import Prices
from daiku.commands import Announce, CreateNodeClaim
from daiku.lifecycle.node_class_drift import RESOLVED_GROUP
from daiku.model import labels
from daiku.model.instance_type import Catalogue
from daiku.model.pod import Pod
from daiku.model.requirements import Requirements
from daiku.model.topology import Spread
from daiku.settings import Settings
from daiku.tick import Plan, tick

NAMES = (
    "g5.12xlarge", "inf2.xlarge", "m5.large", "m5.xlarge", "m6idn.32xlarge", "m7i-flex.large", "t3.large", "t3.xlarge",
)  # fmt: skip
BRANCH = "vpc.amazonaws.com/pod-eni"
PARTITION = "karpenter.k8s.aws/placement-group-partition"


def decide(*pods: Pod, group: str = "", **spec: Any) -> Plan:
    found = aws_facts.node_class(**spec)
    if group:
        spec = {**found.spec, "placementGroupSelector": {"name": "apart"}}
        meta = replace(found.meta, annotations={RESOLVED_GROUP: group})
        found = replace(found, spec=spec, meta=meta)
    sizing = capacity.sizing_of(found, memory_overhead=0.075, reserved_interfaces=0)
    types = {name: ec2_facts.of(name) for name in NAMES}
    made = Offerings("us-west-2", Measured()).make(types, Prices(), found, sizing)
    catalogue = Catalogue(version=1, instance_types={aws_facts.REF: made})
    pool = build.node_pool(ref=aws_facts.REF)
    cluster = build.cluster(*pods, pool, found, catalogue_of=catalogue)
    later = build.NOW + Settings().batch_max
    return tick(cluster.snapshot(build.NOW), cluster.catalogue, Settings(), later)


def claims(plan: Plan) -> list[Requirements]:
    return [c.node_claim.requirements for c in plan.commands if isinstance(c, CreateNodeClaim)]


def types(asked: Requirements) -> set[str]:
    return {n for n in NAMES if asked.get(labels.INSTANCE_TYPE).has(n)}


@pytest.mark.parametrize(
    ("wanted", "chosen"),
    [
        pytest.param({BRANCH: "1"}, "m7i-flex.large", id="a pod with security groups of its own"),
        pytest.param({BRANCH: "4"}, "m5.large", id="more branches than the cheapest has"),
        pytest.param({"nvidia.com/gpu": "1"}, "g5.12xlarge", id="a GPU"),
        pytest.param({"aws.amazon.com/neuron": "1"}, "inf2.xlarge", id="a Neuron device"),
        pytest.param({"aws.amazon.com/neuroncore": "2"}, "inf2.xlarge", id="Neuron cores"),
        pytest.param({"vpc.amazonaws.com/efa": "2"}, "m6idn.32xlarge", id="EFAs"),
    ],
)
def test_a_pod_gets_a_machine_that_has_what_it_asks_for(
    wanted: dict[str, str], chosen: str
) -> None:
    (asked,) = claims(decide(build.pod(extra=wanted)))

    for name in types(asked):
        facts, sizing = (
            ec2_facts.of(name),
            capacity.sizing_of(
                aws_facts.node_class(), memory_overhead=0.075, reserved_interfaces=0
            ),
        )
        has = capacity.capacity(facts, sizing)
        assert all(has.get(resource, 0) >= int(count) for resource, count in wanted.items())
    assert chosen in types(asked)


def test_pods_that_share_the_branches_of_a_machine_are_counted() -> None:
    pods = build.pods(4, cpu="100m", memory="64Mi", extra={BRANCH: "3"})

    plan = decide(*pods)

    assert [c.pods for c in plan.commands if isinstance(c, CreateNodeClaim)]
    for asked in claims(plan):
        assert not types(asked) & {"t3.large", "t3.xlarge"}


@pytest.mark.parametrize(
    "wanted",
    [
        pytest.param({"hugepages-2Mi": "512Mi"}, id="hugepages, which no type has of itself"),
        pytest.param({"vpc.amazonaws.com/PrivateIPv4Address": "1"}, id="an address of Windows"),
        pytest.param({"nvidia.com/gpu": "9"}, id="more GPUs than any type has"),
        pytest.param({BRANCH: "200"}, id="more branches than any type has"),
    ],
)
def test_what_no_machine_has_is_told_by_its_name(wanted: dict[str, str]) -> None:
    plan = decide(build.pod(extra=wanted))

    assert claims(plan) == []
    (said,) = [c.message for c in plan.commands if isinstance(c, Announce) and c.kind == "Pod"]
    assert all(resource in said for resource in wanted)


def test_pods_that_are_kept_apart_by_partition_go_to_one_each() -> None:
    web = {"app": "kafka"}
    spread = Spread(key=PARTITION, max_skew=1, hard=True, selector=Requirements.from_labels(web))
    pods = build.pods(3, labels=web, spread=(spread,))

    asked = claims(decide(*pods, group="pg-1/partition/3"))

    assert sorted(a.get(PARTITION).sorted_values() for a in asked) == [("1",), ("2",), ("3",)]


def test_a_pod_can_ask_for_a_partition_but_only_where_there_are_some() -> None:
    pod = build.pod(node_selector={PARTITION: "2"})

    (asked,) = claims(decide(pod, group="pg-1/partition/3"))

    assert asked.get(PARTITION).sorted_values() == ("2",)
    assert claims(decide(pod, group="pg-1/cluster")) == []
    assert claims(decide(build.pod(node_selector={PARTITION: "4"}), group="pg-1/partition/3")) == []
