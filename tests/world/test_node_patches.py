"""Patches of a Node on a real API server, while others write to it."""

import datetime as dt
import json
from collections.abc import Generator, Sequence
from typing import Any

import pytest
from tests import manifests
from tests.manifests import Json
from tests.world.local_pods import until

from daiku import commands
from daiku.api import decode, kinds
from daiku.kube import errors
from daiku.kube.client import Client
from daiku.kube.credentials import Credentials
from daiku.model import taints
from daiku.model.taints import Taint
from daiku.runtime.carrier import Carrier, NodeClassIndex
from daiku_local import down, toolchain, up

pytestmark = pytest.mark.world

MINE = Taint("mine", "NoSchedule")
THEIRS = Taint("theirs", "NoSchedule")
GUEST = kinds.PODS.object_path("guest", "default")


class Beside(Client):
    """A client beside which somebody writes to the Node a moment before it is patched."""

    def __init__(self, credentials: Credentials, writes: dict[str, Any]) -> None:
        super().__init__(credentials)
        self._writes = writes

    def operate(self, path: str, operations: Sequence[object]) -> bytes:
        """Write to the Node first."""
        super().patch(kinds.NODES.object_path("fresh"), self._writes)
        return super().operate(path, operations)


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
    client.create(path, body)
    yield commands.PatchNode(
        name="fresh",
        resource_version=node["metadata"]["resourceVersion"],
        taints=taints.without(found, (taints.UNREGISTERED,)),
        labels={"karpenter.sh/registered": "true"},
        add_finalizer=True,
        before=decode.node(json.dumps(node).encode()),
    )
    client.patch(kinds.NODES.object_path("fresh"), {"metadata": {"finalizers": []}})
    client.delete(kinds.NODES.object_path("fresh"))
    client.delete(GUEST, {"gracePeriodSeconds": 0})


def test_a_kubelets_own_write_is_neither_lost_nor_a_conflict(
    credentials: Credentials, command: commands.PatchNode
) -> None:
    said = {"metadata": {"annotations": {"kubelet": "ready"}}}

    _carrier(Beside(credentials, said)).carry(command)

    node = _node(credentials)
    assert _taints(node) == (MINE,)
    assert node["metadata"]["annotations"]["kubelet"] == "ready"
    assert node["metadata"]["labels"]["karpenter.sh/registered"] == "true"
    assert node["metadata"]["finalizers"] == ["karpenter.sh/termination"]


def test_a_taint_that_came_meanwhile_stays(
    credentials: Credentials, command: commands.PatchNode
) -> None:
    assert command.before is not None
    said = _tainted(*command.before.taints, THEIRS)

    _carrier(Beside(credentials, said)).carry(command)

    assert set(_taints(_node(credentials))) == {MINE, THEIRS}


def test_taints_in_another_order_are_a_conflict_and_stay(
    credentials: Credentials, command: commands.PatchNode
) -> None:
    assert command.before is not None
    said = _tainted(THEIRS, *command.before.taints)

    with pytest.raises(errors.Conflict):
        _carrier(Beside(credentials, said)).carry(command)

    node = _node(credentials)
    assert {THEIRS, taints.UNREGISTERED} <= set(_taints(node))
    assert "karpenter.sh/registered" not in node["metadata"].get("labels", {})


def test_pods_are_nominated_to_a_node_that_stays_as_it_is(
    credentials: Credentials, command: commands.PatchNode
) -> None:
    before = _node(credentials)
    uid = json.loads(Client(credentials).get(GUEST))["metadata"]["uid"]
    guest = commands.PodRef(namespace="default", name="guest", uid=uid)
    version = command.resource_version
    nominates = commands.PatchNode(name="fresh", resource_version=version, nominates=(guest,))

    _carrier(Client(credentials)).carry(nominates)

    assert (
        _node(credentials)["metadata"]["resourceVersion"] == before["metadata"]["resourceVersion"]
    )
    pod = json.loads(Client(credentials).get(GUEST))
    assert pod["status"]["nominatedNodeName"] == "fresh"


def _tainted(*marks: Taint) -> Json:
    return {"spec": {"taints": [{"key": t.key, "effect": t.effect} for t in marks]}}


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
