from typing import Any

import pytest
from tests.unit.daiku_cli.reading import configured, pod, pods, problems_of, workload

HASH = {"app": "web", "pod-template-hash": "79c5f9d8b4"}


@pytest.mark.parametrize(
    ("made", "count"),
    [
        pytest.param(workload(replicas=3), 3, id="a Deployment"),
        pytest.param(workload(), 1, id="a Deployment that does not say how many"),
        pytest.param(workload(replicas=0), 0, id="a Deployment of none"),
        pytest.param(workload("StatefulSet", replicas=2), 2, id="a StatefulSet"),
        pytest.param(workload("ReplicaSet", replicas=2), 2, id="a ReplicaSet"),
        pytest.param(workload("Job"), 1, id="a Job"),
        pytest.param(workload("Job", parallelism=4), 4, id="a Job in parallel"),
        pytest.param(
            workload("Job", parallelism=4, completions=2), 2, id="never more than have to complete"
        ),
        pytest.param(workload("Job", suspend=True), 0, id="a Job that is suspended"),
        pytest.param(
            workload("Job", completions=5, parallelism=4) | {"status": {"succeeded": 3}},
            2,
            id="a Job that is nearly done",
        ),
        pytest.param(
            workload("Job") | {"status": {"conditions": [{"type": "Complete", "status": "True"}]}},
            0,
            id="a Job that has ended",
        ),
        pytest.param(workload("CronJob"), 0, id="a CronJob makes Jobs, later"),
        pytest.param(workload("DaemonSet"), 0, id="a DaemonSet is counted by the solver"),
        pytest.param(
            workload(replicas=2) | {"apiVersion": "extensions/v1beta1"}, 2, id="an old API group"
        ),
    ],
)
def test_a_workload_becomes_the_pods_that_its_controller_would_make(
    made: dict[str, Any], count: int
) -> None:
    assert len(pods(configured(made))) == count


def test_pods_look_as_their_controller_would_have_made_them() -> None:
    (made,) = pods(configured(workload(replicas=1)))

    name, suffix, last = made.meta.name.split("-")
    assert (name, len(suffix), len(last)) == ("web", 10, 5)
    assert made.meta.namespace == "default"
    assert made.meta.labels == {"app": "web", "pod-template-hash": suffix}
    assert [(o.kind, o.name) for o in made.meta.owners] == [("ReplicaSet", f"web-{suffix}")]
    assert made.requests == {"cpu": 1000, "pods": 1}


def test_pods_of_a_stateful_set_are_numbered_from_where_it_says() -> None:
    made = pods(configured(workload("StatefulSet", "db", replicas=2, ordinals={"start": 5})))

    assert [each.meta.name for each in made] == ["db-5", "db-6"]
    assert made[0].meta.labels["apps.kubernetes.io/pod-index"] == "5"


def test_a_stateful_set_gives_each_pod_the_volumes_of_its_claims() -> None:
    claims = [{"metadata": {"name": "disk"}, "spec": {"accessModes": ["ReadWriteOnce"]}}]

    (made,) = pods(configured(workload("StatefulSet", "db", volumeClaimTemplates=claims)))

    assert made.meta.name == "db-0"


def test_names_stay_when_the_template_changes() -> None:
    other = {"spec": {"containers": [{"name": "c", "image": "new"}]}}

    before = pods(configured(workload(replicas=9)))
    after = pods(configured(workload(replicas=9, template=other)))

    assert [p.meta.key for p in before] == [p.meta.key for p in after]
    assert len({p.meta.key for p in before}) == 9


@pytest.mark.parametrize(
    ("there", "total"),
    [
        pytest.param(3, 3, id="all are there"),
        pytest.param(2, 3, id="one is missing"),
        pytest.param(5, 5, id="more than are wanted stay"),
    ],
)
def test_pods_that_are_in_the_input_are_not_made_again(there: int, total: int) -> None:
    known = [
        pod(f"web-79c5f9d8b4-{i}", owner=("ReplicaSet", "web-79c5f9d8b4"), labels=HASH)
        for i in range(there)
    ]

    assert len(pods(configured(workload(replicas=3), *known))) == total


def test_the_replica_set_between_a_deployment_and_its_pods_is_not_expanded_too() -> None:
    replica_set = workload("ReplicaSet", "web-other", replicas=3)
    replica_set["metadata"]["ownerReferences"] = [
        {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web", "uid": "u"}
    ]
    known = [pod(f"p{i}", owner=("ReplicaSet", "web-other")) for i in range(2)]

    found = configured(workload(replicas=3), replica_set, *known)

    assert len(pods(found)) == 3
    assert "Deployment default/web: 2 of its 3 pods are in the input, 1 are added" in found.notes


def test_pods_that_have_ended_do_not_count() -> None:
    ended = pod("old", owner=("StatefulSet", "db"), status={"phase": "Failed"})

    assert len(pods(configured(workload("StatefulSet", "db", replicas=2), ended))) == 3


def test_a_stateful_set_fills_the_numbers_that_are_missing() -> None:
    known = pod("db-0", owner=("StatefulSet", "db"))

    found = pods(configured(workload("StatefulSet", "db", replicas=3), known))

    assert sorted(each.meta.name for each in found) == ["db-0", "db-1", "db-2"]


@pytest.mark.parametrize(
    ("made", "problem"),
    [
        pytest.param(
            workload(replicas=-1), "asks for -1 pods; write 0 or more", id="less than none"
        ),
        pytest.param(
            workload(replicas="3"), "cannot be read: Expected `int", id="a number as text"
        ),
        pytest.param(
            workload(template={"metadata": {}}), "has no spec.template.spec", id="no template"
        ),
        pytest.param(
            workload(template={"spec": {"containers": 5}}, replicas=7),
            "its pod template cannot be read",
            id="a template that is none, said once",
        ),
    ],
)
def test_a_workload_that_cannot_be_expanded_says_why(made: dict[str, Any], problem: str) -> None:
    (said,) = problems_of(made)

    assert said.startswith(f"f.yaml, document 1, Deployment default/web: {problem}")
