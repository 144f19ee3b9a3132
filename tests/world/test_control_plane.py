"""The laptop world's life: started, found whole, broken, repaired, removed. Real processes only."""

import base64
import dataclasses
import datetime as dt
import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Generator
from pathlib import Path
from typing import Any, TypeVar

import pytest

from daiku_local import assembly, down, environment, processes, toolchain, up, world_folder
from daiku_local import world as worlds
from daiku_local.control_plane import ports
from daiku_local.toolchain import pins
from daiku_local.world import World

pytestmark = pytest.mark.world

T = TypeVar("T")
NODE = "ip-10-0-1-7.us-west-2.compute.internal"


@pytest.fixture(scope="module")
def tools() -> toolchain.Tools:
    return toolchain.ensure()


@pytest.fixture(scope="module")
def world(tools: toolchain.Tools, tmp_path_factory: pytest.TempPathFactory) -> Generator[World]:
    """A world that the tests share and only add to."""
    folder = tmp_path_factory.mktemp("shared") / "world"
    yield _up(folder, tools)
    down.down(folder, _silent)


@pytest.fixture
def folder(tmp_path: Path) -> Generator[Path]:
    """Where a test puts a world of its own."""
    place = tmp_path / "world"
    yield place
    down.down(place, _silent)


def test_every_part_runs_and_a_second_up_changes_nothing(
    world: World, tools: toolchain.Tools
) -> None:
    told: list[str] = []

    again = _up(Path(world.folder), tools, told.append)

    assert [process.name for process in world.processes] == list(assembly.PARTS)
    assert again == world
    assert told == [f"the laptop world in {world.folder} is up"]


def test_a_node_with_kwoks_annotation_is_ready_and_keeps_what_it_said_of_itself(
    world: World, tools: toolchain.Tools
) -> None:
    _apply(world, tools, _node())

    node = _wait_for(
        lambda: _get(world, tools, "node", NODE),
        lambda node: _condition(node, "Ready") == "True",
    )
    assert node["status"]["capacity"] == _node()["status"]["capacity"]
    assert node["status"]["allocatable"] == _node()["status"]["allocatable"]
    assert node["status"]["nodeInfo"]["kubeletVersion"] == "v1.34.4-eks-abc"
    assert node["status"]["addresses"] == _node()["status"]["addresses"]
    assert _get(world, tools, "lease", NODE, namespace="kube-node-lease")


def test_a_node_that_says_nothing_of_its_version_has_that_of_the_control_plane(
    world: World, tools: toolchain.Tools
) -> None:
    bare = {key: value for key, value in _node().items() if key != "status"}
    _apply(world, tools, {**bare, "metadata": {**bare["metadata"], "name": "bare"}})

    node = _wait_for(
        lambda: _get(world, tools, "node", "bare"),
        lambda node: _condition(node, "Ready") == "True",
    )
    _kubectl(world, tools, "delete", "node", "bare")
    served = json.loads(_kubectl(world, tools, "get", "--raw", "/version").stdout)["gitVersion"]
    assert served.startswith(f"v{toolchain.kubernetes_version()}.")
    assert node["status"]["nodeInfo"]["kubeletVersion"] == served


def test_a_world_that_is_up_is_not_given_to_who_asks_for_another_version(
    world: World, tools: toolchain.Tools, monkeypatch: pytest.MonkeyPatch
) -> None:
    runs = world.kubernetes_version
    other = next(minor for minor in pins.KUBERNETES if minor != runs)
    monkeypatch.setenv(toolchain.VARIABLE, other)

    with pytest.raises(up.UpError, match=rf"runs Kubernetes {runs}, and .* asks for {other}.*down"):
        _up(Path(world.folder), tools)

    assert up.missing_parts(world) == []


def test_pods_of_deployments_daemon_sets_and_jobs_run_on_a_fake_node(
    world: World, tools: toolchain.Tools
) -> None:
    _apply(world, tools, _node())
    _apply(world, tools, _workload("Deployment", "web", "pause"))
    _apply(world, tools, _workload("DaemonSet", "everywhere", "pause"))
    _apply(world, tools, _workload("Job", "once", "busybox"))

    running = _wait_for(
        lambda: _pods(world, tools, "web") + _pods(world, tools, "everywhere"),
        lambda pods: len(pods) == 4 and {pod["status"]["phase"] for pod in pods} == {"Running"},
    )
    assert {_condition(pod, "Ready") for pod in running} == {"True"}
    assert len({pod["status"]["podIP"] for pod in running}) == 4
    _wait_for(
        lambda: _get(world, tools, "job", "once"),
        lambda job: job["status"].get("succeeded") == 1,
    )


def test_a_pod_of_a_local_image_is_bound_but_left_to_the_agent(
    world: World, tools: toolchain.Tools
) -> None:
    _apply(world, tools, _node())
    # No such program exists, so that whoever runs local images cannot make it Running either.
    _apply(world, tools, _workload("Deployment", "local", "daiku.local/none"))
    _apply(world, tools, _workload("Deployment", "other", "pause"))

    _wait_for(
        lambda: _pods(world, tools, "other"),
        lambda pods: {pod["status"]["phase"] for pod in pods} == {"Running"},
    )
    for pod in _pods(world, tools, "local"):
        assert pod["spec"]["nodeName"] == NODE
        assert pod["status"]["phase"] == "Pending"


def test_a_deleted_pod_goes_at_once_unless_a_finalizer_holds_it(
    world: World, tools: toolchain.Tools
) -> None:
    _apply(world, tools, _node())
    for name, finalizers in (("plain", []), ("held", ["example.com/wait"])):
        pod = _workload("Deployment", name, "pause")["spec"]["template"]
        metadata = {"name": name, "finalizers": finalizers}
        _apply(world, tools, {"apiVersion": "v1", "kind": "Pod", **pod, "metadata": metadata})
        _wait_for(lambda name=name: _phase(world, tools, name), lambda phase: phase == "Running")

    _kubectl(world, tools, "delete", "pod", "plain", "held", "--wait=false")

    _wait_for(lambda: _phase(world, tools, "plain"), lambda phase: phase is None)
    held = _get(world, tools, "pod", "held")
    assert held["metadata"]["deletionGracePeriodSeconds"] == 0
    assert held["metadata"]["finalizers"] == ["example.com/wait"]
    release = '{"metadata": {"finalizers": null}}'
    _kubectl(world, tools, "patch", "pod", "held", "--type=merge", f"--patch={release}")
    _wait_for(lambda: _phase(world, tools, "held"), lambda phase: phase is None)


def test_rbac_is_on(world: World, tools: toolchain.Tools) -> None:
    account = "--as=system:serviceaccount:default:default"

    assert _kubectl(world, tools, "auth", "can-i", "delete", "nodes").stdout.strip() == "yes"
    refused = _kubectl(world, tools, "auth", "can-i", "list", "nodes", account, check=False)
    assert refused.stdout.strip() == "no"


def test_service_account_tokens_are_of_the_worlds_issuer(
    world: World, tools: toolchain.Tools
) -> None:
    token = _kubectl(world, tools, "create", "token", "default", "--audience=sts.amazonaws.com")

    payload = token.stdout.split(".")[1]
    claims = json.loads(base64.urlsafe_b64decode(payload + "=" * (-len(payload) % 4)))
    assert claims["iss"] == world.service_account_issuer
    assert claims["aud"] == ["sts.amazonaws.com"]
    assert claims["sub"] == "system:serviceaccount:default:default"


def test_exec_runs_a_command_in_the_world_and_ends_as_it_does(world: World) -> None:
    said = _daiku(Path(world.folder), "exec", "--", "kubectl", "cluster-info")
    ended = _daiku(Path(world.folder), "exec", "--", "sh", "-c", "exit 7")
    missing = _daiku(Path(world.folder), "exec", "--", "no-such-command")

    assert world.kubernetes_endpoint in said.stdout
    assert ended.returncode == 7
    assert missing.returncode == 1
    assert "'no-such-command' was not found" in missing.stderr


def test_status_tells_programs_what_runs(world: World) -> None:
    told = _daiku(Path(world.folder), "status", "--format", "json")

    rows = json.loads(told.stdout)["processes"]
    assert told.returncode == 0
    assert all(row["alive"] and row["memory_bytes"] > 0 for row in rows)
    apiserver = next(row for row in rows if row["name"] == "kube-apiserver")
    assert world.kubernetes_endpoint == f"https://127.0.0.1:{apiserver['ports'][0]}"


def test_a_world_is_up_beside_another_and_down_leaves_nothing(
    world: World, tools: toolchain.Tools, folder: Path
) -> None:
    second = _up(folder, tools)

    assert second.kubernetes_endpoint != world.kubernetes_endpoint
    _kubectl(second, tools, "create", "namespace", "only-here")
    assert not _get(world, tools, "namespace", "only-here")
    down.down(folder, _silent)
    assert not folder.exists()
    assert not [each for each in second.processes if processes.is_alive(each)]
    assert up.missing_parts(world) == []


def test_a_world_that_lost_a_part_is_shown_and_made_anew(
    tools: toolchain.Tools, folder: Path
) -> None:
    broken = _up(folder, tools)
    victim = next(each for each in broken.processes if each.name == "kube-apiserver")
    os.kill(victim.pid, signal.SIGKILL)
    _wait_for(lambda: processes.is_alive(victim), lambda alive: not alive)

    shown = _daiku(folder, "status")
    told: list[str] = []
    whole = _up(folder, tools, told.append)

    assert shown.returncode == 1
    assert "kube-apiserver" in shown.stderr
    assert "was not whole" in told[0]
    assert not [each for each in broken.processes if processes.is_alive(each)]
    assert up.missing_parts(whole) == []


def test_an_up_that_was_killed_half_way_leaves_nothing_that_the_next_does_not_stop(
    tools: toolchain.Tools, folder: Path
) -> None:
    first = subprocess.Popen(
        [sys.executable, "-m", "daiku_local.cli", "up"],
        env={**os.environ, "DAIKU_WORLD": str(folder)},
        stderr=subprocess.DEVNULL,
    )
    _wait_for(lambda: _recorded(folder), lambda found: "kube-apiserver" in found)
    first.kill()
    first.wait()
    left = down.recorded_parts(folder)
    assert any(processes.is_alive(each) for each in left)

    whole = _up(folder, tools)

    assert not [each for each in left if processes.is_alive(each)]
    assert up.missing_parts(whole) == []


def test_an_up_that_is_told_to_end_stops_what_it_started(folder: Path) -> None:
    first = subprocess.Popen(
        [sys.executable, "-m", "daiku_local.cli", "up"],
        env={**os.environ, "DAIKU_WORLD": str(folder)},
        stderr=subprocess.DEVNULL,
    )
    _wait_for(lambda: _recorded(folder), lambda found: "kube-apiserver" in found)
    started = down.recorded_parts(folder)

    first.terminate()

    assert first.wait(30) == 128 + signal.SIGTERM
    assert not [each for each in started if processes.is_alive(each)]


def test_a_port_that_another_program_took_leads_to_another_try(
    tools: toolchain.Tools, folder: Path
) -> None:
    told: list[str] = []
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        chosen = [
            dataclasses.replace(ports.choose(), etcd=other.getsockname()[1]),
            ports.choose(),
        ]
        found = up.up(folder, tools, _now(), told.append, choose_ports=lambda: chosen.pop(0))

    assert any("another program took its port" in line for line in told)
    assert up.missing_parts(found) == []


def test_a_part_that_cannot_run_is_named_and_the_next_up_works(
    tools: toolchain.Tools, folder: Path, tmp_path: Path
) -> None:
    spoilt = tmp_path / "bin"
    spoilt.mkdir()
    for tool in tools.folder.iterdir():
        (spoilt / tool.name).symlink_to(tool)
    (spoilt / "kube-apiserver").unlink()
    (spoilt / "kube-apiserver").write_text("#!/bin/sh\necho the binary is broken >&2\nexit 1\n")
    (spoilt / "kube-apiserver").chmod(0o755)

    with pytest.raises(up.UpError, match="kube-apiserver ended") as caught:
        _up(folder, toolchain.Tools(folder=spoilt))

    assert "the binary is broken" in str(caught.value)
    assert {each.name for each in folder.iterdir()} == {world_folder.MARK, world_folder.LOGS}
    assert up.missing_parts(_up(folder, tools)) == []


def _up(folder: Path, tools: toolchain.Tools, report: Callable[[str], None] | None = None) -> World:
    return up.up(folder, tools, _now(), report or _silent)


def _now() -> dt.datetime:
    return dt.datetime.now(dt.UTC)  # noqa: TID251 - certificates must be valid in real time


def _silent(_line: str) -> None:
    """Take a line of progress and forget it."""


def _recorded(folder: Path) -> set[str]:
    try:
        return {process.name for process in worlds.load(folder).processes}
    except worlds.NoWorldError:
        return set()


def _daiku(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "daiku_local.cli", *arguments],
        env={**os.environ, "DAIKU_WORLD": str(folder)},
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )


def _kubectl(
    world: World, tools: toolchain.Tools, *arguments: str, text: str = "", check: bool = True
) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [str(tools.path("kubectl")), *arguments],
        env=environment.of_commands(world, tools.folder, os.environ),
        input=text,
        capture_output=True,
        text=True,
        check=check,
        timeout=60,
    )


def _apply(world: World, tools: toolchain.Tools, content: dict[str, Any]) -> None:
    _kubectl(world, tools, "apply", "-f", "-", text=json.dumps(content))


def _get(
    world: World, tools: toolchain.Tools, kind: str, name: str, namespace: str = "default"
) -> dict[str, Any]:
    told = _kubectl(world, tools, "get", kind, name, "-n", namespace, "-o", "json", check=False)
    return json.loads(told.stdout) if told.returncode == 0 else {}


def _phase(world: World, tools: toolchain.Tools, pod: str) -> str | None:
    return _get(world, tools, "pod", pod).get("status", {}).get("phase")


def _pods(world: World, tools: toolchain.Tools, app: str) -> list[dict[str, Any]]:
    told = _kubectl(world, tools, "get", "pods", "-l", f"app={app}", "-o", "json")
    return json.loads(told.stdout)["items"]


def _condition(item: dict[str, Any], kind: str) -> str | None:
    found = item.get("status", {}).get("conditions", [])
    return next((each["status"] for each in found if each["type"] == kind), None)


def _wait_for(look: Callable[[], T], is_right: Callable[[T], bool]) -> T:
    deadline = time.monotonic() + 30
    while not is_right(seen := look()):
        assert time.monotonic() < deadline, f"after 30 s it still was {seen!r}"
        time.sleep(0.05)
    return seen


def _node() -> dict[str, Any]:
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": NODE, "annotations": {"kwok.x-k8s.io/node": "fake"}},
        # Not an instance of EC2: such a node would be removed, because no such instance exists.
        "spec": {"providerID": f"kwok://{NODE}"},
        "status": {
            "capacity": {"cpu": "4", "memory": "8Gi", "pods": "58"},
            "allocatable": {"cpu": "3920m", "memory": "7Gi", "pods": "58"},
            "addresses": [{"type": "InternalIP", "address": "10.0.1.7"}],
            "nodeInfo": {
                "architecture": "arm64",
                "operatingSystem": "linux",
                "kubeletVersion": "v1.34.4-eks-abc",
                **dict.fromkeys(("bootID", "machineID", "systemUUID", "osImage"), "x"),
                **dict.fromkeys(("containerRuntimeVersion", "kernelVersion"), "x"),
                "kubeProxyVersion": "",
            },
        },
    }


def _workload(kind: str, name: str, image: str) -> dict[str, Any]:
    pod: dict[str, Any] = {"containers": [{"name": "only", "image": image}]}
    template = {"metadata": {"labels": {"app": name}}, "spec": pod}
    spec: dict[str, Any] = {"template": template}
    if kind == "Job":
        pod["restartPolicy"] = "Never"
        return {"apiVersion": "batch/v1", "kind": kind, "metadata": {"name": name}, "spec": spec}
    spec["selector"] = {"matchLabels": {"app": name}}
    if kind == "Deployment":
        spec["replicas"] = 3
    return {"apiVersion": "apps/v1", "kind": kind, "metadata": {"name": name}, "spec": spec}
