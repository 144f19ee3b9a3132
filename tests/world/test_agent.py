"""The agent on a real control plane: pods of local images are processes, with all that pods have."""

import datetime as dt
import json
import os
import signal
import subprocess
import sys
import urllib.request
from collections.abc import Generator
from pathlib import Path
from typing import Any

import boto3
import botocore.exceptions
import pytest
from tests.world import local_pods

from daiku_local import down, processes, toolchain, up
from daiku_local.agent import addresses
from daiku_local.agent.kubernetes_api import KubernetesApi, KubernetesError
from daiku_local.agent.objects import dig
from daiku_local.world import World

pytestmark = pytest.mark.world

ROLE = "arn:aws:iam::123456789012:role/worker"


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Generator[World]:
    folder = tmp_path_factory.mktemp("agent") / "world"
    there = up.up(folder, toolchain.ensure(), _now(), print)
    settings = {"images": {local_pods.IMAGE: [sys.executable, str(local_pods.PROGRAM)]}}
    (folder / "agent.json").write_text(json.dumps(settings))
    api = KubernetesApi(there.kubeconfig)
    accounts = "/api/v1/namespaces/default/serviceaccounts"
    annotations = {"eks.amazonaws.com/role-arn": ROLE}
    try:
        local_pods.make_node(api, local_pods.NODE)
        api.create(accounts, {"metadata": {"name": "worker", "annotations": annotations}})
        yield there
    finally:
        down.down(folder, print)


def _now() -> dt.datetime:
    return dt.datetime.now(dt.UTC)  # noqa: TID251 - certificates must be valid in real time


@pytest.fixture
def api(world: World) -> KubernetesApi:
    return KubernetesApi(world.kubeconfig)


def test_a_pod_of_a_local_image_runs_as_a_process_with_the_manifests_args_and_env(
    world: World, api: KubernetesApi
) -> None:
    config = {"metadata": {"name": "settings"}, "data": {"level": "high"}}
    api.create("/api/v1/namespaces/default/configmaps", config)
    secret = {"metadata": {"name": "password"}, "stringData": {"word": "xyzzy"}}
    api.create("/api/v1/namespaces/default/secrets", secret)
    extra = [
        {"name": "LEVEL", "valueFrom": {"configMapKeyRef": {"name": "settings", "key": "level"}}},
        {"name": "WORD", "valueFrom": {"secretKeyRef": {"name": "password", "key": "word"}}},
        {"name": "NODE", "valueFrom": {"fieldRef": {"fieldPath": "spec.nodeName"}}},
        {"name": "URL", "value": "http://$(POD_IP):8080/$(UNKNOWN)"},
    ]

    api.create(local_pods.PODS, local_pods.pod("arguments", env=extra))
    pod = local_pods.ready(api, "arguments")

    ip = dig(pod, "status", "podIP")
    said = local_pods.ask(ip, "/")
    own = addresses.real(ip)
    assert said["argv"][1:] == [own, "8080"]
    assert said["env"]["LEVEL"] == "high"
    assert said["env"]["WORD"] == "xyzzy"
    assert said["env"]["NODE"] == local_pods.NODE
    assert said["env"]["URL"] == f"http://{own}:8080/$(UNKNOWN)"
    assert dig(pod, "status", "hostIP") == "10.0.9.9"
    assert dig(pod, "status", "phase") == "Running"
    assert dig(pod, "status", "containerStatuses", 0, "started") is True
    assert local_pods.conditions(pod)["PodScheduled"] == "True"
    log = Path(world.folder) / "logs" / "pods" / "default_arguments_0.log"
    assert log.read_text().splitlines()[0] == "hello"


def test_nothing_of_the_agents_own_credentials_or_home_reaches_a_pod(
    world: World, api: KubernetesApi
) -> None:
    api.create(local_pods.PODS, local_pods.pod("plain"))
    pod = local_pods.ready(api, "plain")

    env = local_pods.ask(dig(pod, "status", "podIP"), "/")["env"]

    home = Path(world.folder) / "workloads" / dig(pod, "metadata", "uid")
    assert env["HOME"] == str(home)
    assert env["AWS_ENDPOINT_URL"] == world.aws_endpoint
    assert env["KUBECONFIG"] == str(home / "kubeconfig")
    assert {name for name in env if name.startswith("AWS_")} - {"AWS_CA_BUNDLE"} == {
        "AWS_ENDPOINT_URL",
        "AWS_EC2_METADATA_DISABLED",
    }


def test_a_pods_token_is_its_service_accounts_and_is_bound_to_it(
    world: World, api: KubernetesApi
) -> None:
    api.create(local_pods.PODS, local_pods.pod("token", service_account="worker"))
    pod = local_pods.ready(api, "token")
    env = local_pods.ask(dig(pod, "status", "podIP"), "/")["env"]

    own = KubernetesApi(Path(env["KUBECONFIG"]))
    review = {"apiVersion": "authentication.k8s.io/v1", "kind": "SelfSubjectReview"}
    answer = own.create("/apis/authentication.k8s.io/v1/selfsubjectreviews", review)

    assert dig(answer, "status", "userInfo", "username") == "system:serviceaccount:default:worker"
    extra = dig(answer, "status", "userInfo", "extra")
    assert extra["authentication.kubernetes.io/pod-name"] == ["token"]
    with pytest.raises(KubernetesError, match="Forbidden"):
        own.get("/api/v1/nodes")
    assert env["AWS_ROLE_ARN"] == ROLE
    assert env["AWS_REGION"] == env["AWS_DEFAULT_REGION"] == world.region
    claims = local_pods.claims(Path(env["AWS_WEB_IDENTITY_TOKEN_FILE"]).read_text())
    assert claims["aud"] == ["sts.amazonaws.com"]
    assert claims["iss"] == world.service_account_issuer
    assert claims["sub"] == "system:serviceaccount:default:worker"
    folder = Path(env["HOME"])
    assert {stat.st_mode & 0o777 for each in folder.iterdir() if (stat := each.stat())} == {0o600}


def test_a_pods_token_opens_the_cloud_to_its_role_and_to_no_other(
    world: World, api: KubernetesApi
) -> None:
    _make_role(world, "worker", "system:serviceaccount:default:worker")
    _make_role(world, "other", "system:serviceaccount:default:other")
    api.create(local_pods.PODS, local_pods.pod("cloud", service_account="worker"))
    pod = local_pods.ready(api, "cloud")
    env = local_pods.ask(dig(pod, "status", "podIP"), "/")["env"]
    token = Path(env["AWS_WEB_IDENTITY_TOKEN_FILE"]).read_text()

    def assume(role: str) -> Any:
        return _client(world, "sts").assume_role_with_web_identity(
            RoleArn=role, RoleSessionName="test", WebIdentityToken=token
        )

    assert dig(assume(ROLE), "AssumedRoleUser", "Arn").endswith(":assumed-role/worker/test")
    with pytest.raises(botocore.exceptions.ClientError, match="AccessDenied"):
        assume(ROLE.replace("worker", "other"))


def test_a_second_agent_is_refused(world: World) -> None:
    command = [sys.executable, "-m", "daiku_local.agent", "--world", world.folder]

    answer = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)

    assert answer.returncode == 1
    assert "another agent runs the world" in answer.stderr


def test_a_token_is_renewed_in_its_file(world: World, api: KubernetesApi) -> None:
    with local_pods.settings(world, token_refresh_seconds=1):
        api.create(local_pods.PODS, local_pods.pod("renewed"))
        pod = local_pods.ready(api, "renewed")
        path = Path(world.folder) / "workloads" / dig(pod, "metadata", "uid") / "token"
        first = path.read_text()

        second = local_pods.until(path.read_text, lambda token: token != first)

    assert local_pods.claims(second)["exp"] >= local_pods.claims(first)["exp"]


def test_every_pod_has_an_address_of_its_own_so_ports_never_collide(api: KubernetesApi) -> None:
    for name in ("left", "right"):
        api.create(local_pods.PODS, local_pods.pod(name))

    found = [local_pods.ready(api, name) for name in ("left", "right")]

    left, right = (dig(pod, "status", "podIP") for pod in found)
    assert left != right
    assert left.startswith("240.")
    assert left.split(".")[1] == right.split(".")[1]


def test_a_crashed_process_is_started_again_after_a_while(world: World, api: KubernetesApi) -> None:
    api.create(local_pods.PODS, local_pods.pod("crashing"))
    pod = local_pods.ready(api, "crashing")

    local_pods.tell(dig(pod, "status", "podIP"), "/crash")

    waiting = local_pods.until(
        lambda: local_pods.get(api, "crashing"), lambda pod: not local_pods.is_ready(pod)
    )
    status = dig(waiting, "status", "containerStatuses", 0)
    assert dig(status, "state", "waiting", "reason") == "CrashLoopBackOff"
    assert dig(status, "lastState", "terminated", "exitCode") == 3
    again = local_pods.ready(api, "crashing")
    assert dig(again, "status", "containerStatuses", 0, "restartCount") == 1
    assert dig(again, "status", "podIP") == dig(pod, "status", "podIP")
    assert (Path(world.folder) / "logs" / "pods" / "default_crashing_1.log").exists()


def test_a_failing_liveness_probe_restarts_the_process(api: KubernetesApi) -> None:
    api.create(local_pods.PODS, local_pods.pod("sick"))
    pod = local_pods.ready(api, "sick")

    local_pods.tell(dig(pod, "status", "podIP"), "/sicken")

    again = local_pods.until(
        lambda: local_pods.get(api, "sick"),
        lambda pod: dig(pod, "status", "containerStatuses", 0, "restartCount") == 1,
    )
    ended = dig(again, "status", "containerStatuses", 0, "lastState", "terminated")
    assert "liveness probe failed: HTTP status 500" in ended["message"]
    assert ended["exitCode"] == 0, "it was asked to end, and did"


def test_a_failing_readiness_probe_takes_the_pod_out_and_lets_it_run(api: KubernetesApi) -> None:
    api.create(local_pods.PODS, local_pods.pod("unready"))
    pod = local_pods.ready(api, "unready")

    local_pods.tell(dig(pod, "status", "podIP"), "/unready")

    taken_out = local_pods.until(
        lambda: local_pods.get(api, "unready"), lambda pod: not local_pods.is_ready(pod)
    )
    assert dig(taken_out, "status", "phase") == "Running"
    status = dig(taken_out, "status", "containerStatuses", 0)
    assert (status["ready"], status["started"], status["restartCount"]) == (False, True, 0)


def test_a_deleted_pods_process_is_asked_to_end_and_given_its_grace(
    world: World, api: KubernetesApi
) -> None:
    api.create(local_pods.PODS, local_pods.pod("polite", seconds_to_end=1.5))
    pod = local_pods.ready(api, "polite")

    local_pods.delete(api, pod)

    terminating = local_pods.get(api, "polite")
    assert dig(terminating, "metadata", "deletionTimestamp")
    local_pods.gone(api, "polite")
    log = Path(world.folder) / "logs" / "pods" / "default_polite_0.log"
    assert log.read_text().splitlines() == ["hello", "told to end", "ended by itself"]
    uid = dig(pod, "metadata", "uid")
    local_pods.until(
        lambda: list((Path(world.folder) / "workloads").glob(f"{uid}*")), lambda left: not left
    )


def test_a_deleted_pods_process_is_forced_when_its_grace_is_over(
    world: World, api: KubernetesApi
) -> None:
    api.create(local_pods.PODS, local_pods.pod("stubborn", seconds_to_end=600, grace=1))
    pod = local_pods.ready(api, "stubborn")
    process = local_pods.process(world, pod)

    local_pods.delete(api, pod)

    local_pods.gone(api, "stubborn")
    assert not processes.is_alive(process)


def test_a_pod_whose_object_vanishes_leaves_no_process(world: World, api: KubernetesApi) -> None:
    api.create(local_pods.PODS, local_pods.pod("vanishing"))
    pod = local_pods.ready(api, "vanishing")
    process = local_pods.process(world, pod)

    api.delete(f"{local_pods.PODS}/vanishing", uid=dig(pod, "metadata", "uid"), grace_seconds=0)

    local_pods.until(lambda: processes.is_alive(process), lambda alive: not alive)


def test_a_pod_whose_node_vanishes_leaves_no_process(world: World, api: KubernetesApi) -> None:
    node = local_pods.make_node(api, "short-lived")
    api.create(local_pods.PODS, local_pods.pod("stranded", node="short-lived"))
    pod = local_pods.ready(api, "stranded")
    process = local_pods.process(world, pod)

    api.delete("/api/v1/nodes/short-lived", uid=dig(node, "metadata", "uid"))

    local_pods.until(lambda: processes.is_alive(process), lambda alive: not alive)


@pytest.mark.parametrize(
    ("change", "reason", "message"),
    [
        pytest.param(
            {"image": "daiku.local/none"},
            "ErrImageNeverPull",
            "daiku.local/none",
            id="an image that is not local",
        ),
        pytest.param(
            {"envFrom": [{"secretRef": {"name": "nope"}}]},
            "CreateContainerConfigError",
            "no Secret 'nope'",
            id="a secret that does not exist",
        ),
        pytest.param(
            {"livenessProbe": {"exec": {"command": ["true"]}}},
            "CreateContainerConfigError",
            "neither httpGet nor tcpSocket",
            id="a probe that runs a command",
        ),
    ],
)
def test_what_cannot_run_says_why_in_its_status(
    api: KubernetesApi, change: dict[str, Any], reason: str, message: str
) -> None:
    pod = local_pods.pod("wrong")
    pod["spec"]["containers"][0] |= change

    api.create(local_pods.PODS, pod)

    found = local_pods.until(
        lambda: local_pods.get(api, "wrong"),
        lambda pod: (
            dig(pod, "status", "containerStatuses", 0, "state", "waiting", "reason") == reason
        ),
    )
    waiting = dig(found, "status", "containerStatuses", 0, "state", "waiting")
    assert message in waiting["message"]
    assert dig(found, "status", "phase") == "Pending"
    local_pods.delete(api, found)
    local_pods.gone(api, "wrong")


def _client(world: World, service: str) -> Any:
    keys = dict.fromkeys(("aws_access_key_id", "aws_secret_access_key"), "local")
    session: Any = boto3.Session(region_name=world.region, **keys)
    return session.client(service, endpoint_url=world.aws_endpoint)


def _make_role(world: World, name: str, subject: str) -> None:
    """A role that one ServiceAccount may assume, as the stack makes it."""
    iam, issuer = _client(world, "iam"), world.service_account_issuer
    if not iam.list_open_id_connect_providers()["OpenIDConnectProviderList"]:
        iam.create_open_id_connect_provider(Url=issuer, ClientIDList=["sts.amazonaws.com"])
    host = issuer.removeprefix("https://")
    statement = {
        "Effect": "Allow",
        "Action": "sts:AssumeRoleWithWebIdentity",
        "Principal": {"Federated": f"arn:aws:iam::{world.account}:oidc-provider/{host}"},
        "Condition": {"StringEquals": {f"{host}:sub": subject, f"{host}:aud": "sts.amazonaws.com"}},
    }
    trust = {"Version": "2012-10-17", "Statement": [statement]}
    iam.create_role(RoleName=name, AssumeRolePolicyDocument=json.dumps(trust))


def _kubectl(world: World, *arguments: str) -> subprocess.CompletedProcess[str]:
    command = [str(toolchain.ensure().folder / "kubectl"), "--kubeconfig", str(world.kubeconfig)]
    return subprocess.run(
        [*command, *arguments], capture_output=True, text=True, check=False, timeout=60
    )


def test_kubectl_shows_the_log_of_a_pod_and_of_the_run_before_and_follows_it(
    world: World, api: KubernetesApi
) -> None:
    api.create(local_pods.PODS, local_pods.pod("written"))
    pod = local_pods.ready(api, "written")

    assert _kubectl(world, "logs", "written").stdout == "hello\n"
    assert _kubectl(world, "logs", "written", "--tail=0").stdout == ""
    assert "has not been restarted" in _kubectl(world, "logs", "written", "-p").stderr
    assert "no times of its own" in _kubectl(world, "logs", "written", "--since=5s").stderr
    local_pods.tell(dig(pod, "status", "podIP"), "/crash")
    local_pods.until(
        lambda: dig(local_pods.get(api, "written"), "status", "containerStatuses", 0),
        lambda shown: dig(shown, "restartCount") == 1,
    )
    assert _kubectl(world, "logs", "written", "-p").stdout == "hello\n"
    pod = local_pods.ready(api, "written")
    followed = subprocess.Popen(
        [
            toolchain.ensure().folder / "kubectl",
            "--kubeconfig",
            world.kubeconfig,
            "logs",
            "-f",
            "written",
        ],
        stdout=subprocess.PIPE,
        text=True,
    )
    assert followed.stdout is not None
    assert followed.stdout.readline() == "hello\n"
    local_pods.delete(api, pod)

    assert followed.communicate(timeout=30)[0] == "told to end\nended by itself\n"


def test_kubectl_forwards_a_port_of_a_pod(world: World, api: KubernetesApi) -> None:
    api.create(local_pods.PODS, local_pods.pod("forwarded"))
    pod = local_pods.ready(api, "forwarded")
    forward = subprocess.Popen(
        [
            toolchain.ensure().folder / "kubectl",
            *("--kubeconfig", world.kubeconfig, "port-forward", "pod/forwarded", ":8080"),
        ],
        stdout=subprocess.PIPE,
        text=True,
    )
    assert forward.stdout is not None
    port = forward.stdout.readline().split(":")[1].split()[0]

    try:
        said = [
            json.load(urllib.request.urlopen(f"http://127.0.0.1:{port}/", timeout=10))
            for _ in range(3)
        ]
    finally:
        forward.terminate()
        forward.communicate(timeout=10)

    assert {each["pid"] for each in said} == {local_pods.process(world, pod).pid}


def test_a_pod_that_kwok_plays_has_no_log_and_the_answer_says_so(
    world: World, api: KubernetesApi
) -> None:
    played = local_pods.pod("played")
    played["spec"]["containers"][0]["image"] = "nginx"
    api.create(local_pods.PODS, played)
    local_pods.ready(api, "played")

    done = _kubectl(world, "logs", "played")

    assert done.returncode != 0
    assert "pod default/played has no container: kwok plays it" in done.stderr
    assert (
        "exec does not exist in a laptop world"
        in _kubectl(world, "exec", "played", "--", "ls").stderr
    )


def test_a_new_agent_takes_up_the_processes_of_one_that_was_killed(
    world: World, api: KubernetesApi
) -> None:
    for name in ("surviving", "orphaned"):
        api.create(local_pods.PODS, local_pods.pod(name))
    surviving = local_pods.ready(api, "surviving")
    orphaned = local_pods.ready(api, "orphaned")
    kept, stray = local_pods.process(world, surviving), local_pods.process(world, orphaned)
    agent = next(process for process in world.processes if process.name == "agent")

    os.kill(agent.pid, signal.SIGKILL)
    local_pods.until(lambda: processes.is_alive(agent), lambda alive: not alive)
    api.delete(f"{local_pods.PODS}/orphaned", uid=dig(orphaned, "metadata", "uid"), grace_seconds=0)
    assert processes.is_alive(kept)
    assert processes.is_alive(stray)
    successor = local_pods.start_agent(world)

    local_pods.until(lambda: processes.is_alive(stray), lambda alive: not alive)
    local_pods.until((Path(world.folder) / "agent.ready").exists, bool)
    assert local_pods.process(world, surviving) == kept
    assert processes.is_alive(kept)
    assert local_pods.is_ready(local_pods.get(api, "surviving"))
    again = local_pods.get(api, "surviving")
    assert dig(again, "status", "containerStatuses", 0, "restartCount") == 0
    local_pods.tell(dig(again, "status", "podIP"), "/crash")
    restarted = local_pods.until(
        lambda: local_pods.get(api, "surviving"),
        lambda pod: dig(pod, "status", "containerStatuses", 0, "restartCount") == 1,
    )
    assert dig(restarted, "status", "podIP") == dig(surviving, "status", "podIP")

    # The agent that is told to end takes its processes with it.
    last = local_pods.until(lambda: local_pods.process(world, restarted), bool)
    assert processes.stop(successor, 10)
    assert not processes.is_alive(last)
    assert list((Path(world.folder) / "workloads").iterdir()) == []
    assert not (Path(world.folder) / "agent.ready").exists()
