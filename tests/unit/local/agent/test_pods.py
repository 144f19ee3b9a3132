"""Which pods run as processes, and what such a process is given."""

from pathlib import Path
from typing import Any

import pytest

from daiku_local.agent import pods
from daiku_local.agent.environment import PodConfigError, Surroundings
from daiku_local.agent.pods import Network

IMAGES = {"daiku.local/controller": ("/venv/bin/daiku",)}
ROLE = "arn:aws:iam::123456789012:role/controller"
AROUND = Surroundings(
    pod_ip="127.10.1.1", host_ip="10.0.1.7", allocatable={}, lookup=lambda _kind, _name: None
)
HOME = Path("/world/workloads/u-1")


def _pod(image: str = "daiku.local/controller:dev", **container: Any) -> dict[str, Any]:
    only = {"name": "controller", "image": image, "args": ["run"], **container}
    return {
        "metadata": {"name": "daiku-0", "namespace": "kube-system", "uid": "u-1"},
        "spec": {"nodeName": "node-1", "containers": [only]},
    }


def _network(*, token: bool = True, web_identity: bool = True) -> Network:
    return Network(
        inherited={"LANG": "C.UTF-8"},
        aws_endpoint="http://127.0.0.1:5000",
        region="us-west-2",
        program_folder=Path("/venv/bin"),
        home=HOME,
        kubeconfig=HOME / "kubeconfig" if token else None,
        web_identity_token=HOME / "aws-token" if web_identity else None,
    )


def _account(role: str | None = None) -> dict[str, Any]:
    return {"metadata": {"annotations": {pods.ROLE_ANNOTATION: role} if role else {}}}


@pytest.mark.parametrize(
    ("pod", "expected"),
    [
        pytest.param(_pod(), True, id="a local image"),
        pytest.param(_pod("registry.k8s.io/pause:3.9"), False, id="another image"),
        pytest.param(_pod() | {"spec": {"containers": _pod()["spec"]["containers"]}}, False, id="no node"),
        pytest.param({"spec": {"nodeName": "node-1"}}, False, id="no container"),
    ],
)  # fmt: skip
def test_bound_pods_of_local_images_are_ours(pod: dict[str, Any], expected: bool) -> None:
    assert pods.is_local(pod) is expected


@pytest.mark.parametrize(
    "image",
    [
        "daiku.local/controller",
        "daiku.local/controller:dev",
        "daiku.local/controller@sha256:0123",
        "daiku.local/controller:dev@sha256:0123",
    ],
)
def test_tag_and_digest_do_not_matter(image: str) -> None:
    assert pods.image_name(image) == "daiku.local/controller"


def test_a_process_gets_what_its_manifest_says_and_nothing_by_accident() -> None:
    pod = _pod(env=[{"name": "CLUSTER_NAME", "value": "demo"}])

    launch = pods.launch(pod, _account(), AROUND, _network(), IMAGES)

    assert launch.arguments == ["/venv/bin/daiku", "run"]
    assert launch.variables == {
        "LANG": "C.UTF-8",
        "PATH": f"/venv/bin:{pods.SYSTEM_PATH}",
        "HOME": str(HOME),
        "HOSTNAME": "daiku-0",
        "PYTHONUNBUFFERED": "1",
        "AWS_ENDPOINT_URL": "http://127.0.0.1:5000",
        "AWS_EC2_METADATA_DISABLED": "true",
        "KUBECONFIG": str(HOME / "kubeconfig"),
        "CLUSTER_NAME": "demo",
    }


def test_a_service_account_with_a_role_gets_what_eks_injects() -> None:
    launch = pods.launch(_pod(), _account(ROLE), AROUND, _network(), IMAGES)

    assert launch.variables["AWS_ROLE_ARN"] == ROLE
    assert launch.variables["AWS_WEB_IDENTITY_TOKEN_FILE"] == str(HOME / "aws-token")
    assert launch.variables["AWS_REGION"] == "us-west-2"
    assert launch.variables["AWS_DEFAULT_REGION"] == "us-west-2"
    assert launch.variables["AWS_STS_REGIONAL_ENDPOINTS"] == "regional"


def test_what_the_manifest_sets_itself_is_not_replaced() -> None:
    pod = _pod(env=[{"name": "AWS_REGION", "value": "eu-west-1"}])

    launch = pods.launch(pod, _account(ROLE), AROUND, _network(), IMAGES)

    assert launch.variables["AWS_REGION"] == "eu-west-1"
    assert launch.variables["AWS_DEFAULT_REGION"] == "us-west-2"


def test_without_a_token_there_is_no_kubeconfig() -> None:
    launch = pods.launch(_pod(), _account(), AROUND, _network(token=False), IMAGES)

    assert "KUBECONFIG" not in launch.variables


@pytest.mark.parametrize(
    ("of_pod", "of_account", "expected"),
    [
        (None, None, True),
        (None, False, False),
        (True, False, True),
        (False, True, False),
    ],
)
def test_the_pods_own_word_on_its_token_goes_first(
    of_pod: bool | None, of_account: bool | None, expected: bool
) -> None:
    pod = {"spec": {} if of_pod is None else {"automountServiceAccountToken": of_pod}}
    account = {} if of_account is None else {"automountServiceAccountToken": of_account}

    assert pods.shows_token(pod, account) is expected


def test_an_unknown_local_image_is_refused_with_those_that_there_are() -> None:
    with pytest.raises(PodConfigError, match="there are daiku") as error:
        pods.launch(_pod("daiku.local/other"), _account(), AROUND, _network(), IMAGES)

    assert error.value.reason == "ErrImageNeverPull"


@pytest.mark.parametrize("field", ["containers", "initContainers"])
def test_a_second_container_is_refused(field: str) -> None:
    pod = _pod()
    second = {"name": "sidecar", "image": "other"}
    pod["spec"][field] = [*pod["spec"].get(field, []), second]

    with pytest.raises(PodConfigError, match="sidecar"):
        pods.container(pod)
