from typing import Any

import pytest
from tests.unit.daiku_cli.reading import (
    configured,
    documents,
    named,
    node_pool,
    pod,
    pods,
    problems_of,
    workload,
)

from daiku.api import configuration
from daiku.model.daemonset import DaemonSet
from daiku.model.nodeclass import NodeClass
from daiku.model.nodepool import NodePool

NODE_CLASS = {
    "apiVersion": "karpenter.kwok.sh/v1alpha1",
    "kind": "KWOKNodeClass",
    "metadata": {"name": "default"},
}


def node_classes(*objects: Any) -> list[tuple[str, bool]]:
    found = configured(*objects).objects
    return [(each.meta.name, each.ready) for each in found if isinstance(each, NodeClass)]


def test_without_a_node_pool_there_is_one_for_linux_on_amd64_on_demand() -> None:
    found = configured(pod())

    (pool,) = (each for each in found.objects if isinstance(each, NodePool))
    assert str(pool.template.requirements) == (
        "karpenter.sh/capacity-type In [on-demand], kubernetes.io/arch In [amd64], kubernetes.io/os In [linux]"
    )
    assert any("no NodePool in the input" in note for note in found.notes)


def test_a_node_class_that_is_only_a_manifest_is_taken_for_ready() -> None:
    assert node_classes(node_pool(), NODE_CLASS) == [("default", True)]


def test_a_node_class_that_is_not_in_the_input_is_taken_for_ready_and_said() -> None:
    found = configured(node_pool())

    assert "KWOKNodeClass default is not in the input: taken for ready" in found.notes
    assert node_classes(node_pool()) == [("default", True)]


def test_a_node_class_that_a_controller_found_wanting_stays_so() -> None:
    status = {"conditions": [{"type": "Ready", "status": "False", "message": "no subnets"}]}

    assert node_classes(node_pool(), {**NODE_CLASS, "status": status}) == [("default", False)]


def test_the_last_object_of_a_kind_and_name_counts() -> None:
    found = configured(workload(replicas=1), workload(replicas=4))

    assert len(pods(found)) == 4
    assert (
        "given more than once, of which the last one counts: 1 object (Deployment default/web)"
        in found.notes
    )


def test_objects_of_a_namespace_get_one_and_a_daemon_set_hands_it_on() -> None:
    found = configured(workload("DaemonSet", "agent"))

    (made,) = (each for each in found.objects if isinstance(each, DaemonSet))
    assert (made.meta.namespace, made.template.meta.namespace) == ("default", "default")


def test_pods_behind_a_gate_are_left_out_and_counted() -> None:
    found = configured(pod(spec={"schedulingGates": [{"name": "quota"}]}), pod("two"))

    assert [each.meta.name for each in pods(found)] == ["two"]
    assert "held back by scheduling gates and not planned: 1 pod (Pod default/one)" in found.notes


def test_kinds_that_do_not_matter_are_counted() -> None:
    service = {"apiVersion": "v1", "kind": "Service", "metadata": {"name": "a"}}
    foreign = {"apiVersion": "example.com/v1", "kind": "Node", "metadata": {"name": "a"}}

    assert (
        "not used here: Node of example.com/v1 1, Service 1" in configured(service, foreign).notes
    )


def test_a_kind_of_others_does_not_hide_one_of_the_same_name() -> None:
    foreign = {**workload("Job"), "apiVersion": "batch.volcano.sh/v1alpha1"}

    found = configured(workload("Job"), foreign)

    assert len(pods(found)) == 1
    assert found.notes[-1] == "not used here: Job of batch.volcano.sh/v1alpha1 1"


def test_a_workload_in_an_older_group_is_the_same_object() -> None:
    old = {**workload(replicas=2), "apiVersion": "extensions/v1beta1"}

    assert len(pods(configured(workload(replicas=1), old))) == 2


def test_a_daemon_set_is_named_with_what_becomes_of_it() -> None:
    note = "counted on each planned node that takes their pods, and making none: DaemonSet default/agent"

    assert note in configured(workload("DaemonSet", "agent")).notes
    assert note not in configured(workload("DaemonSet", "agent", uid="u")).notes


def test_a_job_with_a_generated_name_that_is_given_twice_is_created_twice() -> None:
    job = workload("Job")
    job["metadata"] = {"generateName": "web-"}

    assert len(pods(configured(job, job))) == 2


@pytest.mark.parametrize("kind", ["Deployment", "StatefulSet", "Job", "DaemonSet"])
def test_a_status_of_null_is_none(kind: str) -> None:
    assert problems_of({**workload(kind), "status": None}) == []


@pytest.mark.parametrize(
    ("broken", "problem"),
    [
        pytest.param(
            node_pool() | {"apiVersion": "karpenter.sh/v1beta1"},
            "NodePool default: is of karpenter.sh/v1beta1; v1 is read here, convert it first",
            id="a NodePool of v1beta1",
        ),
        pytest.param(
            {
                "apiVersion": "karpenter.sh/v1alpha5",
                "kind": "Provisioner",
                "metadata": {"name": "a"},
            },
            "Provisioner a: is of karpenter.sh/v1alpha5",
            id="a Provisioner",
        ),
        pytest.param(
            node_pool(limits={"cpu": "many"}),
            "NodePool default: spec.limits: cpu: 'many'",
            id="a limit",
        ),
        pytest.param(
            node_pool(template={}), "NodePool default: names no node class", id="no node class"
        ),
        pytest.param(
            pod(spec={"containers": [{"name": "a", "resources": {"requests": {"cpu": "x"}}}]}),
            "Pod default/one: cannot be read: cpu: 'x' is not a quantity",
            id="a quantity",
        ),
        pytest.param(
            {"apiVersion": "daiku.dev/v1alpha1", "kind": "Catalogue", "metadata": {"name": "a"}},
            "Catalogue a: cannot be read",
            id="a catalogue without instance types",
        ),
    ],
)
def test_what_cannot_be_used_is_named_with_what_to_do(broken: dict[str, Any], problem: str) -> None:
    (said,) = problems_of(broken)

    assert said.startswith(f"f.yaml, document 1, {problem}")


def test_a_live_node_pool_with_a_mistake_is_no_error_but_the_controllers_to_report() -> None:
    assert problems_of(node_pool(uid="u", limits={"cpu": "many"})) == []


def merged(first: list[Any], second: list[Any]) -> configuration.Configuration:
    problems: list[str] = []
    made = configuration.build(
        configuration.overlay(documents(*first), documents(*second)), problems
    )
    assert problems == []
    return made


def test_node_pools_of_a_second_configuration_stand_in_for_all_of_the_first() -> None:
    found = merged([pod(), node_pool("a"), node_pool("b", uid="u")], [node_pool("c")])

    assert named(found, NodePool) == ["c"]
    assert len(pods(found)) == 1


def test_workloads_of_a_second_configuration_stand_in_for_the_manifests_of_the_first() -> None:
    found = merged([workload(replicas=3), pod(), node_pool("a")], [workload("Job", "other")])

    assert [each.meta.owners[0].name for each in pods(found)] == ["other"]
    assert named(found, NodePool) == ["a"]


def test_workloads_of_a_second_configuration_are_added_to_a_live_cluster() -> None:
    live = [
        pod(
            f"web-1-{i}",
            uid=f"u{i}",
            owner=("ReplicaSet", "web-1"),
            labels={"pod-template-hash": "1"},
        )
        for i in range(3)
    ]

    found = merged([*live, workload("DaemonSet", "agent", uid="u")], [workload(replicas=5)])

    assert len(pods(found)) == 5
    assert named(found, DaemonSet) == ["agent"]


def test_a_second_cluster_stands_in_for_the_first() -> None:
    found = merged([pod("a", uid="u"), node_pool("x")], [pod("b", uid="v")])

    assert [each.meta.name for each in pods(found)] == ["b"]
    assert named(found, NodePool) == ["x"]
