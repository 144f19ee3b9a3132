"""A node as scheduling and disruption see it: the Node, its NodeClaim, and the pods on it, as one thing.

The problem: a node exists long before its Node object does, and what is true of it comes from different places as
it grows up. Until it is registered, its NodeClaim says what it will be; until it is initialized, its kubelet
does not yet report everything and it carries taints that will go away.

Source: Karpenter's StateNode.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

from daiku.model import labels, resources, taints
from daiku.model.condition import find
from daiku.model.node import Node
from daiku.model.nodeclaim import NodeClaim
from daiku.model.nodepool import NodePool
from daiku.model.pod import Pod
from daiku.model.taints import Taint


@dataclass(frozen=True, slots=True, kw_only=True)
class StateNode:
    """A Node, or a NodeClaim that has none yet, or both."""

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

    @property
    def name(self) -> str:
        """The Node's name, or the NodeClaim's while there is no Node."""
        if self.node is not None:
            return self.node.meta.name
        return self.claim.meta.name if self.claim is not None else ""

    @property
    def claim_name(self) -> str:
        """The NodeClaim's name; empty when there is none."""
        return self.claim.meta.name if self.claim is not None else ""

    @property
    def provider_id(self) -> str:
        """The instance's identity; empty while it is not launched."""
        if self.claim is not None and self.claim.provider_id:
            return self.claim.provider_id
        return self.node.provider_id if self.node is not None else ""

    @property
    def nodepool(self) -> str:
        """Name of its NodePool; empty when it belongs to none."""
        if self.claim is not None:
            return self.claim.nodepool
        return self.node.meta.labels.get(labels.NODEPOOL, "") if self.node is not None else ""

    @property
    def is_registered(self) -> bool:
        """Its Node carries all that its NodeClaim says. Nodes of others always do."""
        return self.claim is None or self._is_labelled(labels.REGISTERED)

    @property
    def is_initialized(self) -> bool:
        """It is ready for pods. Nodes of others always are."""
        return self.claim is None or self._is_labelled(labels.INITIALIZED)

    @property
    def is_deleting(self) -> bool:
        """It is on its way out, and counts no more."""
        if self.claim is not None and (
            self.claim.meta.deleted is not None or self.claim.is_true("InstanceTerminating")
        ):
            return True
        return self.node is not None and self.node.meta.deleted is not None

    @property
    def is_leaving(self) -> bool:
        """It is on its way out, or will be when what was asked for has happened: nothing is planned onto it."""
        return self.ending or self.is_deleting

    @property
    def labels(self) -> Mapping[str, str]:
        """The Node's once registered, until then the NodeClaim's."""
        if self.node is not None and self.is_registered:
            return self.node.meta.labels
        return self.claim.meta.labels if self.claim is not None else {}

    @property
    def taints(self) -> tuple[Taint, ...]:
        """Those that pods have to tolerate: without the ones that go away as it comes up."""
        if self.claim is None:
            return self.node.taints if self.node is not None else ()
        if self.node is None or not self.is_registered:
            return self.claim.taints
        if self.is_initialized:
            return self.node.taints
        lasting = tuple(t for t in self.node.taints if not taints.is_ephemeral(t))
        return taints.without(lasting, self.claim.startup_taints)

    @property
    def allocatable(self) -> Mapping[str, int]:
        """What pods can have; what a young kubelet does not report yet is taken from the NodeClaim."""
        return self._reported(
            self.node.allocatable if self.node is not None else {},
            self.claim.allocatable if self.claim is not None else {},
        )

    @property
    def capacity(self) -> Mapping[str, int]:
        """What the machine has, and `nodes`=1."""
        reported = self._reported(
            self.node.capacity if self.node is not None else {},
            self.claim.capacity if self.claim is not None else {},
        )
        return {**reported, resources.NODES: 1}

    def used(self) -> dict[str, int]:
        """What its unfinished pods ask for."""
        return resources.add(*(pod.requests for pod in self.pods if not pod.is_finished))

    def quiet_since(self) -> datetime | None:
        """Since when no pod has come or gone; None while it is not initialized."""
        if self.claim is None or not self.is_initialized:
            return None
        initialized = find(self.claim.conditions, "Initialized")
        born = initialized.last_transition if initialized is not None else None
        known = [t for t in (self.pod_event, self.claim.last_pod_event, born) if t is not None]
        return max(known, default=None)

    def consolidatable_at(self, pool: NodePool) -> datetime | None:
        """From when on it has been quiet for as long as `pool` asks; None: not at all as things are."""
        since = self.quiet_since()
        if since is None or pool.consolidate_after is None:
            return None
        return since + pool.consolidate_after

    def _is_labelled(self, key: str) -> bool:
        return self.node is not None and self.node.meta.labels.get(key) == "true"

    def _reported(
        self, of_node: Mapping[str, int], of_claim: Mapping[str, int]
    ) -> Mapping[str, int]:
        if self.claim is None or self.is_initialized:
            return of_node
        return {**of_claim, **{r: amount for r, amount in of_node.items() if amount}}
