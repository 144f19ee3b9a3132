"""What an API server would add to manifests, and what is assumed of a cluster that the input says nothing about.

Sources: Kubernetes' admission plugins DefaultStorageClass, LimitRanger and RuntimeClass; Karpenter's static NodePools.
"""

import io
import json
from typing import Any

import pytest
import yaml
from tests.unit.daiku_cli import reading

from daiku.api.manifests import ManifestError
from daiku.cli import planning
from daiku.forecast import forecast
from daiku.model.instance_type import Catalogue
from daiku.settings import Settings

Json = dict[str, Any]
BARE = {"containers": [{"name": "c", "image": "x"}]}


def plan(*objects: Json) -> tuple[Json, tuple[str, ...]]:
    """The plan as JSON, and the notes."""
    content = yaml.safe_dump_all([reading.node_pool(), *objects]).encode()
    request = planning.Request(sources=("-",), output="json", built_in_node_pool=True)
    made = planning.answer(request, io.BytesIO(content), lambda *_: None, lambda: 0.0)
    return json.loads(made.text), made.notes


def class_of(kind: str, name: str = "a", **fields: Any) -> Json:
    version = {"StorageClass": "storage.k8s.io/v1", "RuntimeClass": "node.k8s.io/v1"}[kind]
    return {"apiVersion": version, "kind": kind, "metadata": {"name": name}, **fields}


def default_class(key: str = "storageclass.kubernetes.io/is-default-class") -> Json:
    found = class_of("StorageClass", provisioner="ebs.csi.aws.com", allowedTopologies=[ZONE_B])
    found["metadata"]["annotations"] = {key: "true"}
    return found


ZONE_B: Json = {
    "matchLabelExpressions": [{"key": "topology.kubernetes.io/zone", "values": ["test-zone-b"]}]
}


def claim(**spec: Any) -> Json:
    return {
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        "metadata": {"name": "data"},
        "spec": spec,
    }


MOUNTED = {"volumes": [{"name": "data", "persistentVolumeClaim": {"claimName": "data"}}]}


@pytest.mark.parametrize(
    "key",
    [
        "storageclass.kubernetes.io/is-default-class",
        "storageclass.beta.kubernetes.io/is-default-class",
    ],
)
def test_a_claim_without_a_class_is_of_the_default_one(key: str) -> None:
    made, _ = plan(reading.pod(spec=MOUNTED), claim(), default_class(key))

    assert made["newNodes"][0]["zones"] == ["test-zone-b"]


def test_a_stateful_set_without_a_class_is_of_the_default_one() -> None:
    made, _ = plan(
        reading.workload("StatefulSet", volumeClaimTemplates=[{"metadata": {"name": "data"}}]),
        default_class(),
    )

    assert made["newNodes"][0]["zones"] == ["test-zone-b"]


def test_an_ephemeral_volume_is_of_the_default_class() -> None:
    volume = {"name": "tmp", "ephemeral": {"volumeClaimTemplate": {"spec": {}}}}
    made, _ = plan(reading.pod(spec={"volumes": [volume]}), default_class())

    assert made["newNodes"][0]["zones"] == ["test-zone-b"]


@pytest.mark.parametrize(
    ("objects", "note"),
    [
        ([claim(storageClassName="gp9")], "StorageClass gp9 is not in the input: taken for"),
        ([claim()], "the default StorageClass is not in the input: taken for"),
        (
            [claim(storageClassName="a"), class_of("StorageClass", provisioner="x")],
            "StorageClass a makes volumes before their pods have nodes",
        ),
    ],
)
def test_a_storage_class_that_says_too_little_is_assumed(objects: list[Json], note: str) -> None:
    made, notes = plan(reading.pod(spec=MOUNTED), *objects)

    assert not made["unschedulable"]
    assert any(each.startswith(note) for each in notes), notes


def test_a_cluster_that_tells_its_storage_classes_is_believed() -> None:
    there = default_class()
    there["metadata"]["uid"] = "u"

    made, _ = plan(reading.pod(spec=MOUNTED), claim(storageClassName="gone"), there)

    assert "'gone' does not exist" in made["unschedulable"][0]["reasons"][0]["message"]


def test_a_claim_that_wants_no_class_gets_none() -> None:
    made, _ = plan(reading.pod(spec=MOUNTED), claim(storageClassName=""), default_class())

    assert made["unschedulable"]


def test_the_overhead_and_the_nodes_of_a_runtime_class_count() -> None:
    gvisor = class_of(
        "RuntimeClass",
        handler="runsc",
        overhead={"podFixed": {"cpu": "3"}},
        scheduling={"nodeSelector": {"topology.kubernetes.io/zone": "test-zone-b"}},
    )

    made, _ = plan(reading.workload(template={"spec": {**BARE, "runtimeClassName": "a"}}), gvisor)

    [node] = made["newNodes"]
    assert (node["requests"]["cpu"], node["zones"]) == (3000, ["test-zone-b"])


def test_a_runtime_class_that_is_not_there_is_taken_for_one_without_overhead() -> None:
    made, notes = plan(reading.pod(spec={"runtimeClassName": "kata"}))

    assert not made["unschedulable"]
    assert "RuntimeClass kata is not in the input: its overhead is taken for none" in notes


def test_a_priority_class_that_is_not_there_changes_nothing() -> None:
    made, _ = plan(reading.pod(spec={"priorityClassName": "high"}))

    assert not made["unschedulable"]


@pytest.mark.parametrize(
    ("limit", "own", "cpu"),
    [
        ({"defaultRequest": {"cpu": "500m"}}, None, 500),
        ({"default": {"cpu": "2"}}, None, 2000),
        ({"default": {"cpu": "2"}, "defaultRequest": {"cpu": "500m"}}, None, 500),
        ({"max": {"cpu": "4"}}, None, 4000),
        ({"min": {"cpu": "250m"}}, None, 250),
        ({"defaultRequest": {"cpu": "500m"}}, {"limits": {"cpu": "1"}}, 1000),
        ({"defaultRequest": {"cpu": "500m"}}, {"requests": {"cpu": "100m"}}, 100),
    ],
)
@pytest.mark.parametrize("kind", ["Deployment", "Pod"])
def test_a_limit_range_fills_in_requests(
    kind: str, limit: Json, own: Json | None, cpu: int
) -> None:
    limits = {
        "apiVersion": "v1",
        "kind": "LimitRange",
        "metadata": {"name": "a"},
        "spec": {"limits": [{"type": "Container", **limit}, {"type": "Pod", "max": {"cpu": "9"}}]},
    }
    spec = {"containers": [{"name": "c", **({"resources": own} if own else {})}]}
    asking = reading.pod(spec=spec) if kind == "Pod" else reading.workload(template={"spec": spec})

    made, _ = plan(asking, limits)

    assert made["newNodes"][0]["requests"]["cpu"] == cpu


@pytest.mark.parametrize(
    ("kind", "version"), [("ReplicationController", "v1"), ("Rollout", "argoproj.io/v1alpha1")]
)
def test_pods_of_other_controllers_are_planned(kind: str, version: str) -> None:
    made, _ = plan({**reading.workload(kind, replicas=3), "apiVersion": version})

    assert sum(len(node["pods"]) for node in made["newNodes"]) == 3


def test_pods_of_a_rollout_that_run_are_not_made_again() -> None:
    rollout = {**reading.workload("Rollout", replicas=2), "apiVersion": "argoproj.io/v1alpha1"}
    running = reading.pod(
        "web-1",
        owner=("ReplicaSet", "web-5f7"),
        labels={"rollouts-pod-template-hash": "5f7"},
    )

    made, notes = plan(rollout, running)

    assert sum(len(node["pods"]) for node in made["newNodes"]) == 2
    assert "Rollout default/web: 1 of its 2 pods are in the input, 1 are added" in notes


def test_a_rollout_of_another_workload_says_whose_pods_are_planned() -> None:
    rollout = {
        "apiVersion": "argoproj.io/v1alpha1",
        "kind": "Rollout",
        "metadata": {"name": "web"},
        "spec": {"replicas": 2, "workloadRef": {"kind": "Deployment", "name": "app"}},
    }

    _, notes = plan(rollout)

    assert any("like those of Deployment app" in each for each in notes)


@pytest.mark.parametrize("most", [4, "4"], ids=["number", "text"])
def test_a_node_takes_as_many_pods_as_its_class_says(most: Any) -> None:
    ref = {"group": "karpenter.kwok.sh", "kind": "KWOKNodeClass", "name": "default"}
    node_class = {
        "apiVersion": "karpenter.kwok.sh/v1alpha1",
        "kind": ref["kind"],
        "metadata": {"name": "default"},
        "spec": {"kubelet": {"maxPods": most}},
    }
    documents = reading.documents(reading.node_pool(), node_class)
    found = planning.configuration.build(documents, [])

    offered, _ = planning.offers(found, None)

    [types] = offered.values()
    assert {(t.capacity["pods"], t.allocatable["pods"]) for t in types} == {(4, 4)}


STATIC: Json = {
    "apiVersion": "daiku.dev/v1alpha1",
    "kind": "Settings",
    "metadata": {"name": "controller"},
    "spec": {"env": {"FEATURE_GATES": "StaticCapacity=true"}},
}


def test_nodes_of_a_static_pool_are_planned_and_take_pods() -> None:
    static = reading.node_pool("fixed", replicas=3)
    static["spec"]["template"]["spec"]["requirements"] = [
        {"key": "karpenter.kwok.sh/instance-cpu", "operator": "In", "values": ["2"]},
        {"key": "kubernetes.io/os", "operator": "In", "values": ["linux"]},
    ]

    made, notes = plan(static, reading.workload(replicas=2), STATIC)

    assert any(n.endswith(": FEATURE_GATES=StaticCapacity=true") for n in notes)
    assert {node["nodePool"] for node in made["newNodes"]} == {"fixed"}
    assert len(made["newNodes"]) == 3
    assert sum(len(node["pods"]) for node in made["newNodes"]) == 2
    each = {node["usdPerHour"] for node in made["newNodes"]}
    assert made["usdPerHour"]["new"] == pytest.approx(3 * each.pop(), abs=1e-5)
    assert made["gap"] == 0


def test_a_static_pool_keeps_within_its_limit_and_counts_the_nodes_that_it_owns() -> None:
    known = {"karpenter.sh/nodepool": "fixed"}
    owned = {
        "apiVersion": "karpenter.sh/v1",
        "kind": "NodeClaim",
        "metadata": {"name": "fixed-a", "labels": known},
        "spec": {"nodeClassRef": {}, "requirements": []},
        "status": {"providerID": "a"},
    }
    nodes = [
        {
            "apiVersion": "v1",
            "kind": "Node",
            "metadata": {"name": name, "labels": known},
            "spec": {"providerID": name},
            "status": {},
        }
        for name in ("a", "b")
    ]

    made, notes = plan(
        reading.node_pool("fixed", replicas=5, limits={"nodes": "3"}), owned, *nodes, STATIC
    )

    assert len(made["newNodes"]) == 2
    assert any("without a NodeClaim in the input, not counted as theirs: 1" in n for n in notes)


def test_a_controller_without_the_gate_makes_no_nodes_of_static_pools() -> None:
    found = reading.configured(reading.node_pool("fixed", replicas=1), reading.pod())
    offered, _ = planning.offers(found, None)

    made = forecast(found.objects, Catalogue(version=1, instance_types=offered), Settings())

    assert not made.new_nodes
    assert made.unschedulable
    _, notes = plan(reading.node_pool("fixed", replicas=1))
    assert any(n.startswith("NodePool fixed is static, and gets no nodes") for n in notes)


def test_a_static_pool_that_allows_nothing_is_named() -> None:
    static = reading.node_pool("fixed", replicas=1)
    static["spec"]["template"]["spec"]["requirements"] = [
        {"key": "node.kubernetes.io/instance-type", "operator": "In", "values": ["none"]}
    ]

    made, notes = plan(static, STATIC)

    assert not made["newNodes"]
    assert "NodePool fixed: nothing that it allows can be bought" in notes


def test_a_kind_that_ends_in_list_and_has_a_name_is_an_object() -> None:
    blocked = {
        "apiVersion": "example.com/v1",
        "kind": "BlockList",
        "metadata": {"name": "a"},
        "items": [{"cidr": "10.0.0.0/8"}],
    }

    _, notes = plan(reading.pod(), blocked)

    assert "not used here: BlockList 1" in notes


def test_numbers_that_no_integer_holds_are_named() -> None:
    limits = {
        "apiVersion": "v1",
        "kind": "LimitRange",
        "metadata": {"name": "a"},
        "spec": {"limits": [{"type": "Container", "default": {"cpu": "1"}}]},
    }
    spec = {"containers": [{"resources": {"requests": {"cpu": "many"}}}]}

    with pytest.raises(ManifestError, match="is not a quantity"):
        plan(reading.pod(spec=spec), limits)
