"""Keeps the status of EC2NodeClasses true, and lets a deleted one go when nothing needs it any more.

Runs as a poller, woken by changes. Only the leader writes; everything is derived anew each time, so a lost write is
made up for by the next run.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final, cast

from daiku.api import decode, encode
from daiku.api.kinds import EC2_NODE_CLASSES, NODE_CLAIMS
from daiku.cloud.aws import status
from daiku.cloud.aws.provider import AwsProvider
from daiku.kube import errors
from daiku.kube.client import Client
from daiku.model.nodeclass import NodeClass
from daiku.runtime import clock
from daiku.telemetry import log

SECONDS: Final = 60.0
"""How often selectors are looked up anew: new subnets, images and groups show up within this."""

_log = log.get("node-classes")


@dataclass(slots=True)
class NodeClassKeeper:
    """Looks after every EC2NodeClass."""

    provider: AwsProvider
    client: Client
    may_write: Callable[[], bool]

    def __call__(self) -> None:
        """Look after each once."""
        if not self.may_write():
            return
        try:
            contents = [
                bytes(raw) for page in self.client.list(EC2_NODE_CLASSES.path) for raw in page.items
            ]
        except errors.KubeError as error:
            _log.warning("node classes not listed", error=str(error))
            return
        for content in contents:
            try:
                self._keep(content)
            except decode.Unreadable as error:
                _log.warning("node class left out", error=str(error))
            except (errors.Conflict, errors.NotFound):
                # It changed meanwhile, which woke us again.
                continue
            except errors.KubeError as error:
                _log.warning("node class not written", error=str(error))

    def _keep(self, content: bytes) -> None:
        found = cast("NodeClass", decode.guarded(EC2_NODE_CLASSES.decode, content))
        current = encode.current(content)
        if found.meta.deleted is not None:
            self._let_go(found, current)
            return
        resolved = status.resolve(self.provider, found, clock.now())
        path = EC2_NODE_CLASSES.object_path(found.meta.name)
        version = self._write_metadata(path, found, resolved.annotations)
        body = {
            **resolved.fields,
            "conditions": encode.merged_conditions(current, resolved.conditions, clock.now()),
        }
        if any(found.status.get(name) != value for name, value in body.items()):
            change = {"metadata": {"resourceVersion": version}, "status": body}
            self.client.patch(f"{path}/status", change)
            ready = resolved.conditions[-1]
            _log.info(
                "node class resolved",
                name=found.meta.name,
                ready=ready.status,
                message=ready.message,
            )

    def _write_metadata(self, path: str, found: NodeClass, annotations: Mapping[str, str]) -> str:
        """Add the finalizer and the hash where they are missing; the object's version after that."""
        changes: dict[str, Any] = {}
        if status.FINALIZER not in found.meta.finalizers:
            changes["finalizers"] = [*found.meta.finalizers, status.FINALIZER]
        if any(found.meta.annotations.get(key) != value for key, value in annotations.items()):
            changes["annotations"] = dict(annotations)
        if not changes:
            return found.meta.resource_version
        body = {"metadata": {"resourceVersion": found.meta.resource_version, **changes}}
        return encode.current(self.client.patch(path, body)).metadata.resource_version

    def _let_go(self, found: NodeClass, current: encode.Current) -> None:
        if status.FINALIZER not in found.meta.finalizers:
            return
        users = self._users(found)
        if users:
            _log.info(
                "node class waits for its NodeClaims", name=found.meta.name, nodeclaims=len(users)
            )
            return
        status.release(self.provider, found)
        kept = [f for f in current.metadata.finalizers or () if f != status.FINALIZER]
        body = {"metadata": {"resourceVersion": found.meta.resource_version, "finalizers": kept}}
        self.client.patch(EC2_NODE_CLASSES.object_path(found.meta.name), body)
        _log.info("node class released", name=found.meta.name)

    def _users(self, found: NodeClass) -> list[str]:
        names: list[str] = []
        for page in self.client.list(NODE_CLAIMS.path):
            for raw in page.items:
                claim: Any = decode.guarded(NODE_CLAIMS.decode, bytes(raw))
                if claim.node_class == found.ref:
                    names.append(claim.meta.name)
        return names
