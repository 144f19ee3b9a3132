"""One command, carried out: the calls it comes to, and what came of them as events.

Nothing is decided here. Each command is idempotent: what is already so counts as done. Every write first asks whether
this process still leads.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import TypeVar

from prometheus_client import Counter, Summary

from daiku import commands, events, reasons
from daiku.api import encode, kinds
from daiku.cloud import errors as cloud_errors
from daiku.cloud.provider import CloudProvider
from daiku.kube import errors, eviction, inspection
from daiku.kube.client import Client
from daiku.kube.record import Recorder
from daiku.model.instance_type import NodeClassRef
from daiku.model.nodeclass import NodeClass
from daiku.runtime import clock
from daiku.telemetry import log, metrics

_log = log.get("carrier")
T = TypeVar("T")


class NotLeadingError(Exception):
    """This process does not hold the Lease (any more), so it writes nothing."""


@dataclass(slots=True, kw_only=True)
class NodeClassIndex:
    """The node classes as last seen; replaced whole by the owner thread, read by all."""

    by_ref: dict[NodeClassRef, NodeClass] = field(default_factory=dict[NodeClassRef, NodeClass])


@dataclass(frozen=True, slots=True, kw_only=True)
class Carrier:
    """Carries out commands. Any thread may call it."""

    client: Client
    cloud: CloudProvider
    recorder: Recorder
    node_classes: NodeClassIndex
    may_write: Callable[[], bool]

    def carry(self, command: commands.Command) -> Sequence[events.Event]:
        """Carry `command` out and give what happened beside it being done.

        Raises:
            NotLeadingError: Nothing was done.
            KubeError: The API server did not do it.
            CloudError: The cloud did not do it.
        """
        self._fence(command.key)
        match command:
            case commands.CreateNodeClaim():
                self._create(command)
            case commands.Launch():
                return self._launch(command)
            case commands.PatchNodeClaim():
                return (events.Written(command.key, self._patch_node_claim(command)),)
            case commands.DeleteNodeClaim():
                path = kinds.NODE_CLAIMS.object_path(command.name)
                _delete(self.client, path, command.uid)
            case commands.PatchNode():
                return (events.Written(command.key, self._patch_node(command)),)
            case commands.DeleteNode():
                _delete(self.client, kinds.NODES.object_path(command.name), command.uid)
            case commands.Evict():
                if eviction.evict(self.client, command):
                    self.recorder.announce(_evicted(command))
            case commands.DeletePod():
                eviction.delete(self.client, command)
            case commands.PatchPod():
                path = kinds.PODS.object_path(command.name, command.namespace)
                self.client.patch(path, encode.pod_patch(command))
            case commands.InspectDeployment():
                return (inspection.inspect(self.client, command, clock.now()),)
            case commands.PatchDeployment():
                path = kinds.DEPLOYMENTS.object_path(command.name, command.namespace)
                suffix, body = encode.deployment_patch(command)
                self.client.patch(f"{path}{suffix}", body)
            case commands.TerminateInstance():
                self._cloud("Delete", lambda: self.cloud.terminate(command.provider_id))
            case commands.PatchNodePool():
                path = kinds.NODE_POOLS.object_path(command.name)
                found = encode.current(self.client.get(path))
                self._send(path, encode.node_pool_patches(command, found, clock.now()))
            case commands.Announce():
                self.recorder.announce(command)
        return ()

    def _fence(self, what: str) -> None:
        if not self.may_write():
            raise NotLeadingError(f"{what}: this process does not lead, so it writes nothing")

    def _create(self, command: commands.CreateNodeClaim) -> None:
        try:
            self.client.create(kinds.NODE_CLAIMS.path, encode.node_claim(command.node_claim))
        except errors.AlreadyExists:
            # An earlier try of the same command: its name is its token.
            return

    def _patch_node_claim(self, command: commands.PatchNodeClaim) -> str:
        path = kinds.NODE_CLAIMS.object_path(command.name)
        found = encode.current(self.client.get(path))
        patches = encode.node_claim_patches(command, found, clock.now())
        # The last finalizer takes the object away, so its status comes first then.
        return self._send(path, patches, status_first=command.remove_finalizer)

    def _send(self, path: str, patches: encode.Patches, *, status_first: bool = False) -> str:
        """Send both parts; the version of the object that comes of it, empty when nothing was to be sent."""
        steps = [(path, patches.metadata), (f"{path}/status", patches.status)]
        if status_first:
            steps.reverse()
        version: str | None = None
        for target, patch in steps:
            if patch is None:
                continue
            # Reading took time; somebody else may lead by now.
            self._fence(target)
            if version is not None:
                # Our own first step made this version.
                patch["metadata"]["resourceVersion"] = version
            version = encode.current(self.client.patch(target, patch)).metadata.resource_version
        return version or ""

    def _patch_node(self, command: commands.PatchNode) -> str:
        path = kinds.NODES.object_path(command.name)
        operations = encode.node_operations(command)
        if operations is not None:
            self._fence(path)
            found = self.client.operate(path, operations) if operations else self.client.get(path)
            return encode.current(found).metadata.resource_version

        patches = encode.node_patches(command, encode.current(self.client.get(path)))
        self._nominate(command)
        return self._send(path, patches)

    def _nominate(self, command: commands.PatchNode) -> None:
        """Tell kube-scheduler of the pods that are expected on a Node. A hint: the Node does not wait for it."""
        for pod in command.nominates:
            self._fence(command.key)
            path = kinds.PODS.object_path(pod.name, pod.namespace)
            try:
                self.client.patch(f"{path}/status", encode.nomination(pod, command.name))
            except (errors.NotFound, errors.Conflict):
                # Gone, or another pod of the same name by now.
                continue
            except errors.KubeError as error:
                if command.only_nominates:
                    # There is nothing else to do, so it is tried again.
                    raise
                _log.warning(
                    "pods are not nominated to their node, kube-scheduler places them as it likes",
                    node=command.name,
                    pod=f"{pod.namespace}/{pod.name}",
                    error=str(error),
                )
                return

    def _launch(self, command: commands.Launch) -> Sequence[events.Event]:
        claim = command.node_claim
        node_class = self.node_classes.by_ref.get(claim.node_class)
        if node_class is None:
            raise cloud_errors.NodeClassNotReady(
                f"NodeClaim {claim.meta.name!r} names {claim.node_class.kind} {claim.node_class.name!r}, "
                "which does not exist"
            )
        launched = self._cloud(
            "Create", lambda: self.cloud.launch(claim, node_class, command.options)
        )
        return (events.Launched(claim.meta.name, launched),)

    def _cloud(self, method: str, call: Callable[[], T]) -> T:
        began = clock.monotonic()
        try:
            return call()
        except cloud_errors.CloudError as error:
            metrics.CLOUD_ERRORS.labels("", method, self.cloud.name, _error_name(error)).inc()
            raise
        finally:
            elapsed = clock.monotonic() - began
            metrics.CLOUD_SECONDS.labels("", method, self.cloud.name).observe(elapsed)


def _error_name(error: cloud_errors.CloudError) -> str:
    """The names that Karpenter's dashboards know; empty for any other error."""
    match error:
        case cloud_errors.InstanceNotFound():
            return "NodeClaimNotFoundError"
        case cloud_errors.InsufficientCapacity():
            return "InsufficientCapacityError"
        case cloud_errors.NodeClassNotReady():
            return "NodeClassNotReadyError"
        case _:
            return ""


def _evicted(command: commands.Evict) -> commands.Announce:
    return commands.Announce(
        kind="Pod",
        namespace=command.namespace,
        name=command.name,
        uid=command.uid,
        type="Normal",
        reason=reasons.EVICTED,
        message=f"Evicted pod: {command.reason}",
    )


def _delete(client: Client, path: str, uid: str) -> None:
    try:
        client.delete(path, encode.deletion(uid))
    except (errors.NotFound, errors.Conflict):
        # Gone, or another object of the same name by now.
        return


def count(command: commands.Command, outcome: str, seconds: float) -> None:
    """Count a command that ended."""
    commands_ended, lasted = _counters(type(command).__name__, outcome)
    commands_ended.inc()
    lasted.observe(seconds)


@cache
def _counters(name: str, outcome: str) -> tuple[Counter, Summary]:
    """Looking them up by their labels takes longer than counting."""
    return metrics.COMMANDS.labels(name, outcome), metrics.COMMAND_SECONDS.labels(name)
