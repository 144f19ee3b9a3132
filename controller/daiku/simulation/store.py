"""The simulated API server: objects as values, and what the controller's commands make of them.

Every change is told to the cluster state at once, as a watch without delay would.
Not here: what instances and pods do by themselves (`world`).
"""

from collections.abc import Callable, Mapping
from dataclasses import replace
from datetime import datetime

from daiku import commands, events
from daiku.events import Object
from daiku.model import labels
from daiku.model.condition import Condition, find
from daiku.model.meta import Meta, Owner
from daiku.model.node import Node
from daiku.model.nodeclaim import NodeClaim
from daiku.model.nodepool import NodePool


class Store:
    """Every NodeClaim, Node and NodePool. Pods are kept by those who make them."""

    def __init__(self, tell: Callable[[events.Event], None]) -> None:
        self.claims: dict[str, NodeClaim] = {}
        self.nodes: dict[str, Node] = {}
        self.pools: dict[str, NodePool] = {}
        self._tell = tell
        self._version = 0

    def version(self) -> str:
        """A new resource version."""
        self._version += 1
        return str(self._version)

    def put(self, seen: Object) -> None:
        """An object comes, or changes."""
        meta = replace(seen.meta, resource_version=self.version())
        kept = replace(seen, meta=meta)
        match kept:
            case NodeClaim():
                self.claims[meta.name] = kept
            case Node():
                self.nodes[meta.name] = kept
            case NodePool():
                self.pools[meta.name] = kept
            case _:
                pass
        self._tell(events.Seen(kept))

    def create_claim(self, command: commands.CreateNodeClaim, now: datetime) -> None:
        """A NodeClaim is wanted."""
        claim = command.node_claim
        meta = replace(claim.meta, uid=f"claim-{self._version + 1}", generation=1, created=now)
        self.put(replace(claim, meta=meta))

    def patch_claim(self, command: commands.PatchNodeClaim, now: datetime) -> bool:
        """Change a NodeClaim; whether it is gone with that."""
        claim = self.claims[command.name]
        meta = _finalized(claim.meta, add=command.add_finalizer, remove=command.remove_finalizer)
        meta = replace(
            meta,
            labels={**meta.labels, **(command.labels or {})},
            annotations=merged(meta.annotations, command.annotations or {}),
        )
        said = {
            "provider_id": command.provider_id,
            "node_name": command.node_name,
            "image_id": command.image_id,
            "capacity": command.capacity,
            "allocatable": command.allocatable,
            "last_pod_event": command.last_pod_event,
        }
        changed = replace(
            claim,
            meta=meta,
            conditions=_with(claim.conditions, command.conditions, meta.generation, now),
            **{field: value for field, value in said.items() if value is not None},
        )
        if meta.deleted is not None and not meta.finalizers:
            del self.claims[command.name]
            self._tell(events.Gone(NodeClaim, command.name))
            return True
        self.put(changed)
        return False

    def delete_claim(self, name: str, now: datetime) -> None:
        """A NodeClaim is wanted no more."""
        claim = self.claims.get(name)
        if claim is None or claim.meta.deleted is not None:
            return
        if claim.meta.finalizers:
            self.put(replace(claim, meta=replace(claim.meta, deleted=now)))
            return
        del self.claims[name]
        self._tell(events.Gone(NodeClaim, name))

    def patch_node(self, command: commands.PatchNode) -> bool:
        """Change a Node; whether it is gone with that."""
        node = self.nodes[command.name]
        meta = _finalized(node.meta, add=command.add_finalizer, remove=command.remove_finalizer)
        if command.owner is not None:
            meta = replace(meta, owners=(*meta.owners, _owner(command.owner)))
        meta = replace(
            meta,
            labels=merged(meta.labels, command.labels or {}),
            annotations=merged(meta.annotations, command.annotations or {}),
        )
        if meta.deleted is not None and not meta.finalizers:
            self.remove_node(command.name)
            return True
        marks = node.taints if command.taints is None else command.taints
        if (meta, marks) != (node.meta, node.taints):
            self.put(replace(node, meta=meta, taints=marks))
        return False

    def delete_node(self, name: str, now: datetime) -> bool:
        """A Node is wanted no more; whether it is gone with that."""
        node = self.nodes.get(name)
        if node is None or node.meta.deleted is not None:
            return False
        if node.meta.finalizers:
            self.put(replace(node, meta=replace(node.meta, deleted=now)))
            return False
        self.remove_node(name)
        return True

    def remove_node(self, name: str) -> None:
        """A Node is gone."""
        if self.nodes.pop(name, None) is not None:
            self._tell(events.Gone(Node, name))

    def patch_pool(self, command: commands.PatchNodePool, now: datetime) -> None:
        """Change a NodePool."""
        pool = self.pools[command.name]
        meta = replace(
            pool.meta, annotations=merged(pool.meta.annotations, command.annotations or {})
        )
        said = {
            "status_nodes": command.nodes,
            "status_resources": command.resources,
            "status_class_generation": command.class_generation,
        }
        self.put(
            replace(
                pool,
                meta=meta,
                conditions=_with(pool.conditions, command.conditions, meta.generation, now),
                **{field: value for field, value in said.items() if value is not None},
            )
        )


def merged(known: Mapping[str, str], change: Mapping[str, str | None]) -> dict[str, str]:
    """Labels or annotations after a change; None as value removes."""
    both = {**known, **change}
    return {key: value for key, value in both.items() if value is not None}


def _finalized(meta: Meta, *, add: bool, remove: bool) -> Meta:
    if not (add or remove):
        return meta
    others = tuple(f for f in meta.finalizers if f != labels.TERMINATION_FINALIZER)
    return replace(meta, finalizers=(*others, labels.TERMINATION_FINALIZER) if add else others)


def _with(
    known: tuple[Condition, ...], wanted: tuple[Condition, ...], generation: int, now: datetime
) -> tuple[Condition, ...]:
    """Conditions with `wanted` in the place of those of the same type; the encoder's rules."""
    merged = {each.type: each for each in known}
    for each in wanted:
        before = find(known, each.type)
        stays = before is not None and before.status == each.status and before.last_transition
        merged[each.type] = replace(
            each,
            reason=each.reason or each.type,
            last_transition=before.last_transition
            if before and stays
            else each.last_transition or now,
            observed_generation=each.observed_generation or generation,
        )
    return tuple(merged.values())


def _owner(claim: NodeClaim) -> Owner:
    return Owner(
        api_version="karpenter.sh/v1",
        kind="NodeClaim",
        name=claim.meta.name,
        uid=claim.meta.uid,
        block_owner_deletion=True,
    )
