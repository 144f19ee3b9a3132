"""What tests of local pods share: a pod that runs pod_program.py, a node for it, and questions to both."""

import base64
import json
import os
import sys
import time
import urllib.request
from collections.abc import Callable, Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

from daiku_local import environment, processes
from daiku_local.agent import addresses, records
from daiku_local.agent.kubernetes_api import KubernetesApi, KubernetesError
from daiku_local.agent.objects import dig, items
from daiku_local.world import Process, World

T = TypeVar("T")
IMAGE = "daiku.local/test"
PROGRAM = Path(__file__).with_name("pod_program.py")
NODE = "node-of-pods"
PODS = "/api/v1/namespaces/default/pods"


def pod(
    name: str,
    *,
    node: str = NODE,
    service_account: str = "default",
    seconds_to_end: float | None = None,
    grace: int = 5,
    env: list[dict[str, Any]] | None = None,
) -> dict[str, Any]:
    ip = {"name": "POD_IP", "valueFrom": {"fieldRef": {"fieldPath": "status.podIP"}}}
    arguments = ["$(POD_IP)", "8080"] + ([str(seconds_to_end)] if seconds_to_end else [])
    container = {
        "name": "main",
        "image": f"{IMAGE}:dev",
        "args": arguments,
        "env": [ip, *(env or [])],
        "ports": [{"name": "http", "containerPort": 8080}],
        "readinessProbe": {
            "httpGet": {"path": "/ready", "port": "http"},
            "periodSeconds": 1,
            "failureThreshold": 1,
        },
        "livenessProbe": {
            "httpGet": {"path": "/healthz", "port": 8080},
            "periodSeconds": 1,
            "failureThreshold": 2,
        },
    }
    return {
        "metadata": {"name": name},
        "spec": {
            "nodeName": node,
            "serviceAccountName": service_account,
            "terminationGracePeriodSeconds": grace,
            "containers": [container],
        },
    }


def make_node(api: KubernetesApi, name: str) -> dict[str, Any]:
    resources = {"cpu": "4", "memory": "8Gi", "pods": "50"}
    node = {
        "metadata": {"name": name, "annotations": {"kwok.x-k8s.io/node": "fake"}},
        "status": {
            "capacity": resources,
            "allocatable": resources,
            "addresses": [
                {"type": "InternalIP", "address": "10.0.9.9"},
                {"type": "ExternalDNS", "address": "localhost"},
            ],
        },
    }
    return api.create("/api/v1/nodes", node)


def get(api: KubernetesApi, name: str) -> Any:
    try:
        return api.get(f"{PODS}/{name}")
    except KubernetesError as error:
        if error.status != 404:
            raise
        return None


def ready(api: KubernetesApi, name: str) -> Any:
    """The pod, once it is ready."""
    return until(lambda: get(api, name), is_ready)


def gone(api: KubernetesApi, name: str) -> None:
    """Return once there is no such pod."""
    until(lambda: get(api, name), lambda pod: pod is None)


def delete(api: KubernetesApi, pod: Any) -> None:
    name, uid = dig(pod, "metadata", "name"), dig(pod, "metadata", "uid")
    api.delete(f"{PODS}/{name}", uid=uid)


def conditions(pod: Any) -> dict[str, str]:
    return {each["type"]: each["status"] for each in items(pod, "status", "conditions")}


def is_ready(pod: Any) -> bool:
    return conditions(pod).get("Ready") == "True"


def process(world: World, pod: Any) -> Process:
    uid = dig(pod, "metadata", "uid")
    found = records.read_all(records.folder(Path(world.folder)))
    return next(record.process for record in found if record.pod.uid == uid)


def ask(ip: str, path: str) -> Any:
    with urllib.request.urlopen(f"http://{addresses.real(ip)}:8080{path}", timeout=5) as answer:
        return json.load(answer)


def tell(ip: str, path: str) -> None:
    try:
        ask(ip, path)
    except OSError:
        return  # it was told to break


def claims(token: str) -> Any:
    body = token.split(".")[1]
    return json.loads(base64.urlsafe_b64decode(body + "=" * (-len(body) % 4)))


@contextmanager
def settings(world: World, **changed: Any) -> Generator[None]:
    """The agent's settings, changed for as long as the context lasts."""
    path = Path(world.folder) / "agent.json"
    before = path.read_text()
    path.write_text(json.dumps(json.loads(before) | changed))
    yield
    path.write_text(before)


def start_agent(world: World) -> Process:
    folder = Path(world.folder)
    command = processes.Command(
        name="agent",
        arguments=(sys.executable, "-m", "daiku_local.agent", f"--world={folder}"),
        environment=environment.of_parts(folder, folder, os.environ),
        log=world.logs / "agent.log",
    )
    return processes.start(command, lambda _: None)


def until(look: Callable[[], T], is_right: Callable[[T], bool], seconds: float = 30) -> T:
    deadline = time.monotonic() + seconds
    while not is_right(found := look()):
        assert time.monotonic() < deadline, f"still {found!r} after {seconds} s"
        time.sleep(0.1)
    return found
