import pytest

from daiku_local.plugins.kubernetes import awaiting, objects, outputs
from daiku_local.plugins.servicer import Subject
from daiku_local.plugins.values import UNKNOWN

SUBJECT = Subject(urn="urn:pulumi:dev::p::kubernetes:core/v1:ConfigMap::conf")
SEED = bytes(range(32))


def test_a_name_is_made_once_and_kept_over_updates() -> None:
    first = objects.named(SUBJECT, {}, {"kind": "ConfigMap"}, SEED)
    second = objects.named(SUBJECT, first, {"kind": "ConfigMap"}, b"another seed")

    assert first["metadata"]["name"] == "conf-00010203"
    assert second == first


def test_a_name_that_was_given_once_is_not_kept_when_it_is_no_longer() -> None:
    old = {"metadata": {"name": "given"}}

    assert objects.named(SUBJECT, old, {}, SEED)["metadata"]["name"] == "conf-00010203"


@pytest.mark.parametrize("given", [{"name": "a"}, {"generateName": "a-"}, {"name": UNKNOWN}])
def test_a_name_that_is_given_stays(given: dict[str, object]) -> None:
    assert objects.named(SUBJECT, {}, {"metadata": given}, SEED) == {"metadata": given}


@pytest.mark.parametrize(
    ("api_version", "kind", "path", "expected"),
    [
        pytest.param("apps/v1", "Deployment", "spec.selector.matchLabels.app", True, id="selector"),
        pytest.param("apps/v1", "Deployment", "spec.replicas", False, id="replicas"),
        pytest.param("v1", "ConfigMap", "data.a", True, id="a ConfigMap's data"),
        pytest.param("v1", "ConfigMap", "metadata.labels.a", False, id="a label"),
        pytest.param("v1", "Secret", 'stringData["a.b"]', True, id="a Secret's data"),
        pytest.param("v1", "Secret", "metadata.namespace", True, id="the namespace"),
        pytest.param("batch/v1", "Job", "spec.template.spec.x", True, id="a Job's template"),
        pytest.param("batch/v1", "Job", "spec.templateX", False, id="a name that only begins so"),
        pytest.param(
            "rbac.authorization.k8s.io/v1", "RoleBinding", "roleRef.name", True, id="roleRef"
        ),
    ],
)
def test_a_field_that_kubernetes_cannot_change_replaces_the_object(
    api_version: str, kind: str, path: str, expected: bool
) -> None:
    inputs = {"apiVersion": api_version, "kind": kind}

    assert objects.replaces(inputs, inputs, path, mutable=frozenset()) is expected


def test_another_group_is_another_object_and_another_version_is_not() -> None:
    old = {"apiVersion": "apps/v1", "kind": "Deployment"}

    def moved(api_version: str) -> bool:
        new = {**old, "apiVersion": api_version}
        return objects.replaces(old, new, "apiVersion", mutable=frozenset())

    assert (moved("apps/v1beta1"), moved("extensions/v1")) == (False, True)


def test_a_provider_may_let_data_change_in_place() -> None:
    inputs = {"apiVersion": "v1", "kind": "Secret"}
    mutable = frozenset({"Secret"})

    assert not objects.replaces(inputs, inputs, "data.a", mutable=mutable)
    assert objects.replaces(inputs, inputs, "type", mutable=mutable)


def _deployment(**status: int) -> dict[str, object]:
    return {
        "kind": "Deployment",
        "metadata": {"generation": 2},
        "spec": {"replicas": 3},
        "status": status,
    }


@pytest.mark.parametrize(
    ("status", "lack"),
    [
        pytest.param({"observedGeneration": 1}, "has not seen it yet", id="not seen"),
        pytest.param(
            {"observedGeneration": 2, "updatedReplicas": 1}, "1 of 3 replicas are of", id="updating"
        ),
        pytest.param(
            {"observedGeneration": 2, "updatedReplicas": 3, "replicas": 4},
            "1 replicas of the old",
            id="an old one is left",
        ),
        pytest.param(
            {"observedGeneration": 2, "updatedReplicas": 3, "replicas": 3, "availableReplicas": 2},
            "2 of 3 replicas are available",
            id="not available",
        ),
        pytest.param(
            {"observedGeneration": 2, "updatedReplicas": 3, "replicas": 3, "availableReplicas": 3},
            None,
            id="rolled out",
        ),
    ],
)
def test_a_deployment_says_what_it_lacks(status: dict[str, int], lack: str | None) -> None:
    said = awaiting.lack_of({"apiVersion": "apps/v1", **_deployment(**status)})

    assert (said is None) if lack is None else (said is not None and lack in said)


def test_a_job_that_failed_is_not_waited_for() -> None:
    failed = {"type": "Failed", "status": "True", "message": "too many tries"}
    job = {"apiVersion": "batch/v1", "kind": "Job", "status": {"conditions": [failed]}}

    with pytest.raises(awaiting.FailedError, match="too many tries"):
        awaiting.lack_of(job)


def test_a_dry_runs_made_up_values_are_unknown() -> None:
    made_up = {
        "kind": "Service",
        "metadata": {"name": "a", "uid": "u", "managedFields": []},
        "spec": {"clusterIP": "10.0.0.1", "ports": []},
        "status": {},
    }

    preview = outputs.unknown_yet(outputs.of(made_up, ""))

    assert preview["metadata"]["name"] == "a"
    assert preview["metadata"]["uid"] is UNKNOWN
    assert preview["spec"] == {"clusterIP": UNKNOWN, "ports": []}
    assert "managedFields" not in preview["metadata"]


def test_drift_is_taken_from_the_live_object_only_where_applying_again_would_change_it() -> None:
    inputs = {"spec": {"replicas": 3, "cpu": "1000m"}, "data": {"a": "b"}}
    live = {"spec": {"replicas": 1, "cpu": "1"}, "data": {"a": "b", "c": "d"}}
    again = {"spec": {"replicas": 3, "cpu": "1"}, "data": {"a": "b", "c": "d"}}

    assert outputs.overlaid(inputs, live, again) == {
        "spec": {"replicas": 1, "cpu": "1000m"},
        "data": {"a": "b"},
    }
