"""Nodes, NodeClaims and what pods ask of them, kept in step with one addition per event.

The problem: a view that counts every pod again for every frame costs more than the controller. The idea: a pod that
comes, changes or goes changes the sums of one node only. Works on every cluster with Karpenter's API, and on one
without it: a node needs no NodeClaim.

Not here: the controller's own beliefs (`state.cluster`), which hold much more of every pod.
"""

from dataclasses import dataclass, field

from daiku import events
from daiku.model import resources
from daiku.model.node import Node
from daiku.model.nodeclaim import NodeClaim
from daiku.model.pod import Pod


@dataclass(frozen=True, slots=True, kw_only=True)
class Machine:
    """A Node, or a NodeClaim that has none yet, or both, and the sums of its unfinished pods."""

    node: Node | None
    claim: NodeClaim | None
    pods: int = 0
    requests: dict[str, int] = field(default_factory=dict[str, int])
    """cpu in millicores, else base units."""


@dataclass(frozen=True, slots=True)
class _Share:
    """What one pod adds to a node."""

    node: str
    requests: tuple[tuple[str, int], ...]
    state: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Resident:
    """An unfinished pod on a node."""

    key: str
    """namespace/name."""
    state: str
    """ready, ending, or its phase."""
    requests: dict[str, int]


class Ledger:
    """Events in, machines out. Not for several threads at once."""

    def __init__(self) -> None:
        self._nodes: dict[str, Node] = {}
        self._claims: dict[str, NodeClaim] = {}
        self._shares: dict[str, _Share] = {}
        self._sums: dict[str, dict[str, int]] = {}
        self._waiting: dict[str, bool] = {}
        """Pod without a node -> whether kube-scheduler found no place for it."""

    @property
    def waiting(self) -> int:
        """Unfinished pods that have no node."""
        return len(self._waiting)

    def apply(self, event: events.Event) -> None:
        """Take in what happened; kinds that are not shown are passed over."""
        match event:
            case events.Seen(Node() as node):
                self._nodes[node.meta.key] = node
            case events.Seen(NodeClaim() as claim):
                self._claims[claim.meta.key] = claim
            case events.Seen(Pod() as pod):
                self._put_pod(pod)
            case events.Gone(kind, key):
                self._drop(kind, key)
            case events.Listed(kind, keys):
                for key in self._known(kind):
                    if key not in keys:
                        self._drop(kind, key)
            case _:
                pass

    def machines(self) -> list[Machine]:
        """Every node, and every NodeClaim without one, in the order of their names."""
        claims = {c.provider_id: c for c in self._claims.values() if c.provider_id}
        taken: set[str] = set()
        found: list[Machine] = []
        for name in sorted(self._nodes):
            node = self._nodes[name]
            claim = claims.get(node.provider_id) if node.provider_id else None
            if claim is not None:
                taken.add(claim.meta.name)
            sums = self._sums.get(name, {})
            found.append(
                Machine(
                    node=node, claim=claim, pods=sums.get(resources.PODS, 0), requests=dict(sums)
                )
            )
        found += [
            Machine(node=None, claim=self._claims[name])
            for name in sorted(self._claims)
            if name not in taken
        ]
        return found

    def residents(self, node: str) -> list[Resident]:
        """The unfinished pods of a node, in the order of their keys."""
        return [
            Resident(key=key, state=share.state, requests=dict(share.requests))
            for key, share in sorted(self._shares.items())
            if share.node == node
        ]

    def _known(self, kind: type[events.Object]) -> list[str]:
        if kind is Node:
            return list(self._nodes)
        if kind is NodeClaim:
            return list(self._claims)
        return [*self._shares, *self._waiting] if kind is Pod else []

    def _drop(self, kind: type[events.Object], key: str) -> None:
        if kind is Node:
            self._nodes.pop(key, None)
        elif kind is NodeClaim:
            self._claims.pop(key, None)
        elif kind is Pod:
            self._forget(key)

    def _put_pod(self, pod: Pod) -> None:
        key = pod.meta.key
        self._forget(key)
        if pod.is_finished:
            return
        if not pod.node_name:
            self._waiting[key] = pod.unschedulable
            return
        state = "ready" if pod.ready else pod.phase.lower()
        if pod.meta.deleted is not None:
            state = "ending"
        share = _Share(pod.node_name, tuple(pod.requests.items()), state)
        self._shares[key] = share
        sums = self._sums.setdefault(share.node, {})
        for resource, amount in share.requests:
            sums[resource] = sums.get(resource, 0) + amount

    def _forget(self, key: str) -> None:
        self._waiting.pop(key, None)
        share = self._shares.pop(key, None)
        if share is not None:
            sums = self._sums[share.node]
            for resource, amount in share.requests:
                sums[resource] -= amount
