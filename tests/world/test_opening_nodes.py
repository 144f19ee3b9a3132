"""A Node that is opened to pods, on a real API server, while others write to it."""

import datetime as dt
import json
from collections.abc import Generator
from dataclasses import replace
from typing import Any

import pytest
from tests import manifests
from tests.manifests import Json
from tests.world.local_pods import until

from daiku import commands
from daiku.api import kinds
from daiku.kube import errors
from daiku.kube.client import Client
from daiku.kube.credentials import Credentials
from daiku.model import taints
from daiku.model.taints import Taint
from daiku.runtime.carrier import Carrier, NodeClassIndex
from daiku_local import down, toolchain, up

pytestmark = pytest.mark.world

MINE = Taint("mine", "NoSchedule")
GUEST = kinds.PODS.object_path("guest", "default")


class Beside(Client):
    """A client beside which somebody writes to the Node whenever a pod is nominated to it."""

    def __init__(self, credentials: Credentials, writes: dict[str, Any]) -> None:
        super().__init__(credentials)
        self._writes = writes

    def patch(self, path: str, body: object) -> bytes:
        """Write to the Node first."""
        if path == f"{GUEST}/status":
            super().patch(kinds.NODES.object_path("fresh"), self._writes)
        return super().patch(path, body)


@pytest.fixture(scope="module")
def credentials(tmp_path_factory: pytest.TempPathFactory) -> Generator[Credentials]:
    folder = tmp_path_factory.mktemp("opening") / "world"
    now = dt.datetime.now(dt.UTC)  # noqa: TID251 - certificates must be valid in real time
    world = up.up(folder, toolchain.ensure(), now, lambda _line: None)
    yield Credentials({"KUBECONFIG": str(world.kubeconfig)})
    down.down(folder, lambda _line: None)


@pytest.fixture
def command(credentials: Credentials) -> Generator[commands.PatchNode]:
    """What opens a Node that has just joined to a pod that waits."""
    client = Client(credentials)
    births = [{"key": t.key, "effect": t.effect} for t in (taints.UNREGISTERED, MINE)]
    body = {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": "fresh"},
        "spec": {"taints": births},
    }
    client.create(kinds.NODES.path, body)
    # kube-apiserver admits every Node with a taint that kube-controller-manager soon takes off.
    node = until(
        lambda: _node(credentials), lambda node: set(_taints(node)) == {taints.UNREGISTERED, MINE}
    )
    found = _taints(node)
    template = manifests.deployment("any", 1)["spec"]["template"]
    body = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "guest"},
        "spec": template["spec"],
    }
    path = GUEST.rpartition("/")[0]
    pod = json.loads(client.create(path, body))
    yield commands.PatchNode(
        name="fresh",
        resource_version=node["metadata"]["resourceVersion"],
        taints=taints.without(found, (taints.UNREGISTERED,)),
        taints_before=found,
        nominates=(commands.PodRef(namespace="default", name="guest", uid=pod["metadata"]["uid"]),),
    )
    client.delete(kinds.NODES.object_path("fresh"))
    client.delete(GUEST, {"gracePeriodSeconds": 0})


def test_a_word_of_its_kubelet_neither_keeps_it_closed_nor_is_lost(
    credentials: Credentials, command: commands.PatchNode
) -> None:
    said = {"metadata": {"annotations": {"kubelet": "ready"}}}

    _carrier(Beside(credentials, said)).carry(command)

    node = _node(credentials)
    assert MINE in _taints(node)
    assert taints.UNREGISTERED not in _taints(node)
    assert node["metadata"]["annotations"]["kubelet"] == "ready"
    pod = json.loads(Client(credentials).get(GUEST))
    assert pod["status"]["nominatedNodeName"] == "fresh"


def test_a_taint_that_came_meanwhile_is_not_taken_off_unseen(
    credentials: Credentials, command: commands.PatchNode
) -> None:
    theirs = Taint("theirs", "NoExecute")
    known = [*(command.taints_before or ()), theirs]
    said = {"spec": {"taints": [{"key": t.key, "effect": t.effect} for t in known]}}

    with pytest.raises(errors.Conflict):
        _carrier(Beside(credentials, said)).carry(command)

    assert {theirs, taints.UNREGISTERED} <= set(_taints(_node(credentials)))


def test_pods_are_nominated_to_a_node_that_stays_as_it_is(
    credentials: Credentials, command: commands.PatchNode
) -> None:
    before = _node(credentials)

    _carrier(Client(credentials)).carry(replace(command, taints=None, taints_before=None))

    assert (
        _node(credentials)["metadata"]["resourceVersion"] == before["metadata"]["resourceVersion"]
    )
    pod = json.loads(Client(credentials).get(GUEST))
    assert pod["status"]["nominatedNodeName"] == "fresh"


def _node(credentials: Credentials) -> Json:
    return json.loads(Client(credentials).get(kinds.NODES.object_path("fresh")))


def _taints(node: Json) -> tuple[Taint, ...]:
    return tuple(
        Taint(t["key"], t["effect"], t.get("value", "")) for t in node["spec"].get("taints", ())
    )


def _carrier(client: Client) -> Carrier:
    nobody: Any = None
    return Carrier(
        client=client,
        cloud=nobody,
        recorder=nobody,
        node_classes=NodeClassIndex(),
        may_write=lambda: True,
    )
