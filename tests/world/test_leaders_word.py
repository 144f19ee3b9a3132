"""The controller as a pod of a real control plane: asked by the API server's proxies, it answers in its own words."""

import datetime as dt
import json
import os
import subprocess
import time
from collections.abc import Callable, Generator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import pytest
from tests import manifests
from tests.manifests import Json
from tests.running import DAIKU
from tests.world import local_pods

from daiku.api import decisions
from daiku.cli import event_log
from daiku.kube import errors
from daiku.kube.client import Client
from daiku.kube.credentials import Credentials
from daiku_local import down, environment, toolchain, up
from daiku_local.agent.kubernetes_api import KubernetesApi
from daiku_local.world import World

pytestmark = pytest.mark.world

T = TypeVar("T")
SECONDS_MAX = 120.0
SYSTEM = "/api/v1/namespaces/kube-system"
DEPLOYMENTS = "/apis/apps/v1/namespaces/kube-system/deployments"
RBAC = "/apis/rbac.authorization.k8s.io/v1"
DEFAULT_PODS = "/api/v1/namespaces/default/pods"
GUARD = {"karpenter.sh/do-not-disrupt": "true"}
SECRET = "hunter2"  # noqa: S105  (what must not be told)


@dataclass
class Stage:
    """The cluster, with a controller that leads and a node of its making with a pod that is left alone."""

    world: World
    client: Client
    node: str
    pod: str
    """Name of the controller's."""

    def daiku(self, *arguments: str, **environ: str) -> subprocess.CompletedProcess[str]:
        known = environment.of_commands(self.world, toolchain.ensure().folder, os.environ)
        return subprocess.run(
            [DAIKU, *arguments],
            env={**known, **environ},
            capture_output=True,
            text=True,
            check=False,
            timeout=SECONDS_MAX,
        )


@pytest.fixture(scope="module")
def stage(tmp_path_factory: pytest.TempPathFactory) -> Generator[Stage]:
    folder = tmp_path_factory.mktemp("leader") / "world"
    now = dt.datetime.now(dt.UTC)  # noqa: TID251 - certificates must be valid in real time
    world = up.up(folder, toolchain.ensure(), now, print)
    try:
        client = Client(Credentials({"KUBECONFIG": str(world.kubeconfig)}))
        local_pods.make_node(KubernetesApi(world.kubeconfig), "system")
        _bind(client, "controller", "cluster-admin")
        web = manifests.deployment("web", 1, cpu="5", annotations=GUARD, env={"WORD": SECRET})
        manifests.install(client, manifests.node_class(), manifests.node_pool(), web)
        client.create(DEPLOYMENTS, _controller())
        client.create(f"{SYSTEM}/services", _service())
        made = Stage(world, client, _until(lambda: _node_of_web(client), "web runs"), "")
        _until(lambda: _blocked(made), "the controller says why the node stays")
        (pod,) = manifests.items(client, f"{SYSTEM}/pods")
        made.pod = pod["metadata"]["name"]
        yield made
    finally:
        down.down(folder, print)


def _bind(client: Client, account: str, role: str) -> None:
    """Give a ServiceAccount of kube-system a role."""
    client.create(f"{SYSTEM}/serviceaccounts", {"metadata": {"name": account}})
    body = {
        "metadata": {"name": account},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": role},
        "subjects": [{"kind": "ServiceAccount", "name": account, "namespace": "kube-system"}],
    }
    client.create(f"{RBAC}/clusterrolebindings", body)


def _controller() -> Json:
    fields = {
        "POD_NAME": "metadata.name",
        "POD_NAMESPACE": "metadata.namespace",
        "POD_IP": "status.podIP",
    }
    env = [{"name": k, "valueFrom": {"fieldRef": {"fieldPath": v}}} for k, v in fields.items()]
    container = {
        "name": "controller",
        "image": "daiku.local/controller:dev",
        "args": ["run", "--cloud", "kwok"],
        "env": env,
        "ports": [
            {"name": "metrics", "containerPort": 8080},
            {"name": "health", "containerPort": 8081},
        ],
        "readinessProbe": {"httpGet": {"path": "/readyz", "port": 8081}, "periodSeconds": 1},
    }
    labels = {"app": "daiku"}
    spec = {"serviceAccountName": "controller", "containers": [container]}
    return {
        "metadata": {"name": "daiku"},
        "spec": {
            "replicas": 1,
            "selector": {"matchLabels": labels},
            "template": {"metadata": {"labels": labels}, "spec": spec},
        },
    }


def _service() -> Json:
    port = {"name": "http-metrics", "port": 8000, "targetPort": "metrics"}
    return {"metadata": {"name": "daiku"}, "spec": {"selector": {"app": "daiku"}, "ports": [port]}}


def _node_of_web(client: Client) -> str:
    pods = manifests.items(client, DEFAULT_PODS)
    return next(
        (p["spec"].get("nodeName", "") for p in pods if p["status"]["phase"] == "Running"), ""
    )


def _blocked(stage: Stage) -> str:
    """The message of the event on the node."""
    said = event_log.read(stage.client, f"involvedObject.name={stage.node}")
    return next((each.message for each in said if each.reason == "DisruptionBlocked"), "")


def _until(look: Callable[[], T], what: str) -> T:
    deadline = time.monotonic() + SECONDS_MAX
    while not (seen := look()):
        assert time.monotonic() < deadline, f"waited for: {what}"
        time.sleep(0.2)
    return seen


def _raw(stage: Stage, path: str) -> bytes:
    """What kubectl gets there."""
    tools = toolchain.ensure().folder
    done = subprocess.run(
        [str(tools / "kubectl"), "get", "--raw", path],
        env={"KUBECONFIG": str(stage.world.kubeconfig), "PATH": os.environ["PATH"]},
        capture_output=True,
        check=False,
        timeout=SECONDS_MAX,
    )
    assert done.returncode == 0, done.stderr.decode()
    return done.stdout


def test_the_metrics_service_is_reached_through_the_api_server(stage: Stage) -> None:
    # The endpoints controller has to see that the pod is ready.
    path = f"{SYSTEM}/services/daiku:http-metrics/proxy/metrics"

    def answered() -> bytes:
        try:
            return stage.client.get(path)
        except errors.KubeError:
            return b""

    _until(answered, "the Service has an endpoint")

    assert b"daiku_leader 1.0" in _raw(stage, path)


def test_the_pod_is_reached_through_the_api_server(stage: Stage) -> None:
    assert _raw(stage, f"{SYSTEM}/pods/{stage.pod}:8081/proxy/healthz") == b"ok\n"
    content = _raw(stage, f"{SYSTEM}/pods/{stage.pod}:8080/proxy/decisions")

    found = decisions.decode(content)
    assert found.leading
    assert found.identity.startswith(f"daiku_{stage.pod}_")
    assert SECRET.encode() not in content


def test_a_pod_that_kwok_plays_says_that_nobody_listens(stage: Stage) -> None:
    (web,) = manifests.items(stage.client, DEFAULT_PODS)

    with pytest.raises(errors.KubeError, match="kwok plays that pod"):
        stage.client.get(f"{DEFAULT_PODS}/{web['metadata']['name']}:80/proxy/")


def test_a_log_is_still_had_through_the_api_server(stage: Stage) -> None:
    assert b'"logger"' in stage.client.get(f"{SYSTEM}/pods/{stage.pod}/log")


def test_a_node_is_explained_in_the_words_of_the_controllers_event(stage: Stage) -> None:
    text = stage.daiku("explain", "node", stage.node)
    found = json.loads(stage.daiku("explain", "node", stage.node, "--format", "json").stdout)

    assert "still here: PodDoNotDisrupt" in text.stdout, text.stderr
    assert "\nfrom the controller, " in text.stdout
    assert found["reasons"] == [_blocked(stage)]
    assert found["source"] == "controller"
    assert 0 <= found["ageSeconds"] < SECONDS_MAX


def test_a_pool_a_view_and_a_doctor_have_the_controllers_word(stage: Stage) -> None:
    pool = stage.daiku("explain", "nodepool", "default")
    view = json.loads(stage.daiku("view", "--format", "json").stdout)
    table = stage.daiku("view", "--once")
    doctor = stage.daiku("doctor")

    assert "kept, PodDoNotDisrupt  1 node" in pool.stdout
    assert "from the controller, " in pool.stdout
    (node,) = [each for each in view["nodes"] if each["name"] == stage.node]
    assert (node["keptReason"], view["source"]) == ("PodDoNotDisrupt", "controller")
    assert node["keptMessage"] == _blocked(stage)
    assert "0 about to go, 1 stay (PodDoNotDisrupt 1), from the controller, " in table.stdout
    assert "is from the controller, " in doctor.stdout


def test_a_pod_that_fits_nowhere_has_the_controllers_blockers(stage: Stage) -> None:
    big: Any = {
        "metadata": {"name": "big"},
        "spec": {"containers": [{"name": "c", "image": "x", "resources": {"requests": {"cpu": "9000"}}}]},
    }  # fmt: skip
    stage.client.create(DEFAULT_PODS, big)

    def told() -> Json:
        found = json.loads(stage.daiku("explain", "pod", "big", "--format", "json").stdout)
        return found if found["source"] == "controller" else {}

    found = _until(told, "the controller has planned it")

    events = json.loads(
        stage.client.get(
            "/api/v1/namespaces/default/events", {"fieldSelector": "involvedObject.name=big"}
        )
    )["items"]
    # kube-scheduler says why, too, in other words.
    said = [event["message"] for event in events]
    assert found["title"] == "Pod default/big fits nowhere."
    assert any(found["reasons"][0] in message for message in said), (found["reasons"], events)
    stage.client.delete(f"{DEFAULT_PODS}/big")


def test_who_may_not_use_the_proxy_is_told_so_and_gets_an_answer_all_the_same(
    stage: Stage, tmp_path: Path
) -> None:
    every = {"apiGroups": ["*"], "resources": ["*"], "verbs": ["list", "watch"]}
    groups = ["", "coordination.k8s.io"]
    some = {"apiGroups": groups, "resources": ["pods", "leases"], "verbs": ["get"]}
    rules = [every, some]
    stage.client.create(f"{RBAC}/clusterroles", {"metadata": {"name": "looker"}, "rules": rules})
    _bind(stage.client, "looker", "looker")
    asked = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {}}
    answer = json.loads(stage.client.create(f"{SYSTEM}/serviceaccounts/looker/token", asked))
    content = json.loads(stage.world.kubeconfig.read_text())
    content["users"][0]["user"] = {"token": answer["status"]["token"]}
    mine = tmp_path / "kubeconfig"
    mine.write_text(json.dumps(content))

    done = stage.daiku("explain", "node", stage.node, KUBECONFIG=str(mine))

    assert "still here: PodDoNotDisrupt" in done.stdout, done.stderr
    why = "the controller may not be asked without the right to get pods/proxy in kube-system"
    assert f"recomputed here: {why}" in done.stdout


def test_without_a_controller_the_same_is_decided_here_and_it_is_said_why(stage: Stage) -> None:
    before = json.loads(stage.daiku("explain", "node", stage.node, "--format", "json").stdout)
    stage.client.patch(f"{DEPLOYMENTS}/daiku", {"spec": {"replicas": 0}})
    _until(lambda: not manifests.items(stage.client, f"{SYSTEM}/pods"), "the controller ends")

    found = json.loads(stage.daiku("explain", "node", stage.node, "--format", "json").stdout)

    assert (found["source"], found["ageSeconds"]) == ("recomputed", None)
    assert found["whyNotController"].startswith(
        "no controller holds the Lease karpenter-leader-election in kube-system"
    )
    assert found["reasons"] == before["reasons"]
