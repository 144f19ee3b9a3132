"""A node as scheduling and disruption see it: the Node, its NodeClaim, and the pods on it, as one thing.

The problem: a node exists long before its Node object does, and what is true of it comes from different places as
it grows up. Until it is registered, its NodeClaim says what it will be; until it is initialized, its kubelet
does not yet report everything and it carries taints that will go away.

Source: Karpenter's StateNode.
"""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property

from daiku.model import labels, resources, taints
from daiku.model.condition import find
from daiku.model.node import Node
from daiku.model.nodeclaim import NodeClaim
from daiku.model.nodepool import NodePool
from daiku.model.pod import Pod
from daiku.model.requirements import Requirements
from daiku.model.taints import Taint


@dataclass(frozen=True, slots=True, eq=False)
class Group:
    """Pods on one node that no constraint between pods can tell apart."""

    pod: Pod
    """One of them."""
    labels: tuple[tuple[str, str], ...]
    """Theirs, as far as constraints look at them, in the order of keys."""
    count: int


@dataclass(frozen=True, kw_only=True)
class StateNode:
    """A Node, or a NodeClaim that has none yet, or both.

    What is worked out from it is kept with it: most nodes are the same value from one snapshot to the next.
    """

    node: Node | None
    claim: NodeClaim | None
    pods: tuple[Pod, ...] = ()
    """Bound to it, in the order of their keys; finished ones too."""
    pod_event: datetime | None = None
    """When a pod was last seen to come or go; None when none was since the start."""
    expected: bool = False
    """The NodeClaim has been asked for and not been seen yet."""
    ending: bool = False
    """The NodeClaim's deletion has been asked for and not been seen yet."""

    @cached_property
    def name(self) -> str:
        """The Node's name, or the NodeClaim's while there is no Node."""
        if self.node is not None:
            return self.node.meta.name
        return self.claim.meta.name if self.claim is not None else ""

    @cached_property
    def claim_name(self) -> str:
        """The NodeClaim's name; empty when there is none."""
        return self.claim.meta.name if self.claim is not None else ""

    @property
    def provider_id(self) -> str:
        """The instance's identity; empty while it is not launched."""
        if self.claim is not None and self.claim.provider_id:
            return self.claim.provider_id
        return self.node.provider_id if self.node is not None else ""

    @cached_property
    def nodepool(self) -> str:
        """Name of its NodePool; empty when it belongs to none."""
        if self.claim is not None:
            return self.claim.nodepool
        return self.node.meta.labels.get(labels.NODEPOOL, "") if self.node is not None else ""

    @cached_property
    def is_registered(self) -> bool:
        """Its Node carries all that its NodeClaim says. Nodes of others always do."""
        return self.claim is None or (self.node is not None and self.node.is_registered)

    @cached_property
    def is_initialized(self) -> bool:
        """It is ready for pods. Nodes of others always are."""
        return self.claim is None or (self.node is not None and self.node.is_initialized)

    @cached_property
    def is_awaiting(self) -> bool:
        """It is kept closed for pods that are about to move to it."""
        return self.node is not None and taints.includes(self.node.taints, taints.AWAITING_PODS)

    @cached_property
    def is_closed(self) -> bool:
        """It takes only the pods that it was made for: it is kept closed for them, or will come up closed."""
        if self.claim is None or labels.AWAITING_PODS not in self.claim.meta.annotations:
            return self.is_awaiting
        return self.is_awaiting or not self.is_registered

    @cached_property
    def is_deleting(self) -> bool:
        """It is on its way out, and counts no more."""
        if self.claim is not None and (
            self.claim.meta.deleted is not None or self.claim.is_true("InstanceTerminating")
        ):
            return True
        return self.node is not None and self.node.meta.deleted is not None

    @cached_property
    def is_leaving(self) -> bool:
        """It is on its way out, or will be when what was asked for has happened: nothing is planned onto it."""
        return self.ending or self.is_deleting

    @cached_property
    def labels(self) -> Mapping[str, str]:
        """The Node's once registered, until then the NodeClaim's."""
        if self.node is not None and self.is_registered:
            return self.node.meta.labels
        return self.claim.meta.labels if self.claim is not None else {}

    @cached_property
    def taints(self) -> tuple[Taint, ...]:
        """Those that pods have to tolerate: without the ones that go away as it comes up."""
        if self.claim is None:
            return self.node.taints if self.node is not None else ()
        if self.node is None or not self.is_registered:
            return self.claim.taints
        if self.is_initialized:
            return taints.without(self.node.taints, (taints.AWAITING_PODS,))
        lasting = tuple(t for t in self.node.taints if not taints.is_ephemeral(t))
        return taints.without(lasting, (*self.claim.startup_taints, taints.AWAITING_PODS))

    @cached_property
    def allocatable(self) -> Mapping[str, int]:
        """What pods can have; what a young kubelet does not report yet is taken from the NodeClaim."""
        return self._reported(
            self.node.allocatable if self.node is not None else {},
            self.claim.allocatable if self.claim is not None else {},
        )

    @cached_property
    def capacity(self) -> Mapping[str, int]:
        """What the machine has, and `nodes`=1."""
        reported = self._reported(
            self.node.capacity if self.node is not None else {},
            self.claim.capacity if self.claim is not None else {},
        )
        return {**reported, resources.NODES: 1}

    @cached_property
    def requirements(self) -> Requirements:
        """What is certain about its labels; of a node that is not launched yet, all that it may still become."""
        known = Requirements.from_labels(self.labels)
        if self.claim is None or self.is_settled:
            return known
        return self.claim.requirements & known

    @property
    def is_settled(self) -> bool:
        """Whether its labels are known: its NodeClaim says what was launched, or its registered Node does."""
        return self.claim is None or bool(self.claim.provider_id) or self.is_registered

    @cached_property
    def single_values(self) -> Mapping[str, str]:
        """Labels that can have one value only, with that value."""
        return self.requirements.single_values()

    def used(self) -> Mapping[str, int]:
        """What its unfinished pods ask for."""
        return self._used

    @cached_property
    def used_by_daemons(self) -> Mapping[str, int]:
        """What its unfinished pods of DaemonSets ask for."""
        mine = (p.requests for p in self.pods if p.is_daemon and not p.is_finished)
        return resources.add(*mine)

    @cached_property
    def reschedulable(self) -> tuple[Pod, ...]:
        """Its pods that would have to run elsewhere if it went away."""
        return tuple(pod for pod in self.pods if pod.is_reschedulable)

    @cached_property
    def protected(self) -> tuple[Pod, ...]:
        """Its pods that carry an annotation against being disrupted, whether it holds now or not."""
        return tuple(pod for pod in self.pods if pod.protected_until() is not None)

    @cached_property
    def bounded(self) -> tuple[Pod, ...]:
        """Its pods that want to be left alone for a time, or for something that is no time."""
        return tuple(
            pod
            for pod in self.pods
            if pod.meta.annotations.get(labels.DO_NOT_DISRUPT, "true") not in {"true", "false", ""}
        )

    @cached_property
    def active_by_requests(self) -> Mapping[tuple[tuple[str, int], ...], int]:
        """How many of its active pods ask for the same, by what they ask for in the order of resources."""
        return Counter(tuple(sorted(p.requests.items())) for p in self.pods if p.is_active)

    @cached_property
    def namespaces(self) -> frozenset[str]:
        """Those that its pods are in."""
        return frozenset(pod.meta.namespace for pod in self.pods)

    @cached_property
    def anti_affine(self) -> tuple[Pod, ...]:
        """Its pods that keep others away."""
        return tuple(pod for pod in self.pods if pod.pod_anti_affinity)

    def groups(self, seen: frozenset[str]) -> tuple[Group, ...]:
        """Its unfinished pods, those together that differ in nothing that matters to others.

        Args:
            seen: Label keys that constraints look at.
        """
        known = self._groups.get(seen)
        if known is None:
            self._groups.clear()
            known = self._groups[seen] = grouped(self.pods, seen)
        return known

    def quiet_since(self) -> datetime | None:
        """Since when no pod has come or gone; None while it is not initialized."""
        return self._quiet_since

    def consolidatable_at(self, pool: NodePool) -> datetime | None:
        """From when on it has been quiet for as long as `pool` asks; None: not at all as things are."""
        since = self.quiet_since()
        if since is None or pool.consolidate_after is None:
            return None
        return since + pool.consolidate_after

    @cached_property
    def _quiet_since(self) -> datetime | None:
        if self.claim is None or not self.is_initialized:
            return None
        initialized = find(self.claim.conditions, "Initialized")
        born = initialized.last_transition if initialized is not None else None
        known = [t for t in (self.pod_event, self.claim.last_pod_event, born) if t is not None]
        return max(known, default=None)

    @cached_property
    def _used(self) -> Mapping[str, int]:
        return resources.add(*(pod.requests for pod in self.pods if not pod.is_finished))

    @cached_property
    def _groups(self) -> dict[frozenset[str], tuple[Group, ...]]:
        """What `groups` said last."""
        return {}

    def _reported(
        self, of_node: Mapping[str, int], of_claim: Mapping[str, int]
    ) -> Mapping[str, int]:
        if self.claim is None or self.is_initialized:
            return of_node
        return {**of_claim, **{r: amount for r, amount in of_node.items() if amount}}


def grouped(pods: Iterable[Pod], seen: frozenset[str]) -> tuple[Group, ...]:
    """Unfinished pods, those together that constraints between pods cannot tell apart."""
    keys = sorted(seen)
    found: dict[tuple[object, ...], tuple[Pod, tuple[tuple[str, str], ...]]] = {}
    counts: dict[tuple[object, ...], int] = {}
    for pod in pods:
        if pod.is_finished:
            continue
        own = pod.meta.labels
        looked_at = tuple((key, own[key]) for key in keys if key in own)
        # Pods of one template share their terms, so identity brings most of them together.
        rest = pod.meta.deleted is None, id(pod.pod_anti_affinity), id(pod.host_ports)
        key = (pod.meta.namespace, looked_at, *rest)
        found.setdefault(key, (pod, looked_at))
        counts[key] = counts.get(key, 0) + 1
    return tuple(Group(*found[key], count) for key, count in counts.items())
