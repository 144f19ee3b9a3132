"""Keeps the status of EC2NodeClasses true, and lets a deleted one go when nothing needs it any more.

Runs as a poller, woken by changes. Only the leader writes; everything is derived anew each time, so a lost write is
made up for by the next run.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Final, cast

from daiku.api import decode, encode
from daiku.api.kinds import EC2_NODE_CLASSES, NODE_CLAIMS, NODE_POOLS
from daiku.cloud.aws import instance_profiles, status
from daiku.cloud.aws.provider import PROFILE, AwsProvider
from daiku.cloud.errors import CloudError
from daiku.kube import errors
from daiku.kube.client import Client
from daiku.lifecycle.node_class_drift import HASH, HASH_VERSION
from daiku.model.nodeclaim import NodeClaim
from daiku.model.nodeclass import NodeClass
from daiku.model.nodepool import NodePool
from daiku.runtime import clock
from daiku.telemetry import log

SECONDS: Final = 60.0
"""How often selectors are looked up anew: new subnets, images and groups show up within this."""

COLLECT_EVERY: Final = timedelta(minutes=30)

_log = log.get("node-classes")


@dataclass(slots=True)
class NodeClassKeeper:
    """Looks after every EC2NodeClass."""

    provider: AwsProvider
    client: Client
    may_write: Callable[[], bool]
    _collected: datetime | None = None
    """When profiles were last collected."""

    def __call__(self) -> None:
        """Look after each once."""
        if not self.may_write():
            return
        try:
            contents = self._list(EC2_NODE_CLASSES.path)
            pools = [
                cast("NodePool", decode.guarded(NODE_POOLS.decode, raw))
                for raw in self._list(NODE_POOLS.path)
            ]
        except (errors.KubeError, decode.Unreadable) as error:
            _log.warning("node classes not listed", error=str(error))
            return
        for content in contents:
            try:
                self._keep(content, pools)
            except decode.Unreadable as error:
                _log.warning("node class left out", error=str(error))
            except (errors.Conflict, errors.NotFound):
                # It changed meanwhile, which woke us again.
                continue
            except errors.KubeError as error:
                _log.warning("node class not written", error=str(error))
        try:
            if removed := self.provider.templates.collect():
                _log.info("unused launch templates removed", templates=removed)
        except CloudError as error:
            _log.warning("unused launch templates not removed", error=str(error))
        self._collect(contents)

    def _keep(self, content: bytes, pools: Sequence[NodePool]) -> None:
        found = cast("NodeClass", decode.guarded(EC2_NODE_CLASSES.decode, content))
        current = encode.current(content)
        if found.meta.deleted is not None:
            self._let_go(found, current)
            return
        wanted = [p.template.requirements for p in pools if p.template.node_class == found.ref]
        resolved = status.resolve(self.provider, found, clock.now(), wanted)
        path = EC2_NODE_CLASSES.object_path(found.meta.name)
        self._stamp_claims(found, resolved.annotations)
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

    def _write_metadata(
        self, path: str, found: NodeClass, annotations: Mapping[str, str | None]
    ) -> str:
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
        try:
            status.release(self.provider, found)
        except CloudError as error:
            self._say_kept(found, current, error)
            return
        kept = [f for f in current.metadata.finalizers or () if f != status.FINALIZER]
        body = {"metadata": {"resourceVersion": found.meta.resource_version, "finalizers": kept}}
        self.client.patch(EC2_NODE_CLASSES.object_path(found.meta.name), body)
        _log.info("node class released", name=found.meta.name)

    def _say_kept(self, found: NodeClass, current: encode.Current, error: CloudError) -> None:
        """What was made for a class cannot be removed, so it stays until that is possible."""
        _log.warning("node class not released", name=found.meta.name, error=str(error))
        conditions = encode.merged_conditions(
            current, [status.not_released(error, found.meta.generation)], clock.now()
        )
        if found.status.get("conditions") != conditions:
            body = {
                "metadata": {"resourceVersion": found.meta.resource_version},
                "status": {"conditions": conditions},
            }
            self.client.patch(f"{EC2_NODE_CLASSES.object_path(found.meta.name)}/status", body)

    def _stamp_claims(self, found: NodeClass, stamp: Mapping[str, str | None]) -> None:
        """Write our hash on the claims of a class that carries one of another version, so that none drifts by it."""
        known = found.meta.annotations.get(HASH_VERSION)
        if known is None or known == stamp[HASH_VERSION]:
            return
        for claim in self._users(found):
            annotations = {key: stamp[key] for key in (HASH, HASH_VERSION)}
            if claim.is_true("Drifted"):
                # It differs already; with our hash it would look as if it did not.
                annotations.pop(HASH)
            change = {"metadata": {"annotations": annotations}}
            self.client.patch(NODE_CLAIMS.object_path(claim.meta.name), change)

    def _collect(self, contents: Sequence[bytes]) -> None:
        """Remove instance profiles that no class and no claim names any more, now and then."""
        now = clock.now()
        due = self._collected is None or now - self._collected >= COLLECT_EVERY
        if not due or self.provider.options.isolated_vpc:
            return
        try:
            used = {
                str(
                    cast("NodeClass", decode.guarded(EC2_NODE_CLASSES.decode, raw)).status.get(
                        "instanceProfile"
                    )
                )
                for raw in contents
            }
            used |= {claim.meta.annotations.get(PROFILE, "") for claim in self._claims()}
            options = self.provider.options
            removed = instance_profiles.collect(
                self.provider.session, options.cluster_name, used, now
            )
        except (errors.KubeError, decode.Unreadable, CloudError) as error:
            _log.warning("instance profiles not collected", error=str(error))
            return
        self._collected = now
        if removed:
            _log.info("instance profiles collected", names=removed)

    def _users(self, found: NodeClass) -> list[NodeClaim]:
        return [claim for claim in self._claims() if claim.node_class == found.ref]

    def _claims(self) -> list[NodeClaim]:
        return [
            cast("NodeClaim", decode.guarded(NODE_CLAIMS.decode, raw))
            for raw in self._list(NODE_CLAIMS.path)
        ]

    def _list(self, path: str) -> list[bytes]:
        return [bytes(raw) for page in self.client.list(path) for raw in page.items]
