"""Everything a tick may know, at one instant. Immutable; made by `Cluster.snapshot`.

Whatever is decided is decided from this value, the catalogue, the settings and the time. Sequences are in the
order of names, so that equal beliefs make equal plans.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime

from daiku.cloud.errors import CloudError
from daiku.cloud.provider import LaunchedInstance
from daiku.events import Inspected, InstancesListed, Interrupted
from daiku.model import quick
from daiku.model.daemonset import DaemonSet
from daiku.model.deployment import Deployment
from daiku.model.instance_type import NodeClassRef
from daiku.model.node import Node
from daiku.model.nodeclaim import NodeClaim
from daiku.model.nodeclass import NodeClass
from daiku.model.nodepool import NodePool
from daiku.model.pdb import PodDisruptionBudget
from daiku.model.pod import Pod
from daiku.report import Look, Proposal, Unschedulable
from daiku.state.derived import Derived
from daiku.state.inflight import Hold
from daiku.state.past import Past
from daiku.state.registrations import Result
from daiku.state.soldout import Pool
from daiku.state.statenode import StateNode
from daiku.state.volumes import Volumes


@dataclass(frozen=True, slots=True, kw_only=True)
class Nomination:
    """A pending pod is expected on a node."""

    target: str
    """Name of the node, or of the NodeClaim that it is to come from."""
    until: datetime
    """From when on an initialized node is no longer believed to get the pod."""
    lost: datetime | None = None
    """Since when there is no room for it there any more; None while there is."""


@quick.made
@dataclass(frozen=True, slots=True, kw_only=True)
class Snapshot:
    """What is believed at one instant."""

    at: datetime
    synced: bool
    """Every kind has been listed once; before that nothing may be concluded from absence."""
    waiting: tuple[Pod, ...] = ()
    """Pods without a node, in the order of their keys."""
    state_nodes: tuple[StateNode, ...] = ()
    """Nodes and NodeClaims, each pair once, in the order of their names."""
    of_nodes: Derived = field(default_factory=Derived, compare=False, repr=False)
    """What has been worked out from `state_nodes`; ask `derived`."""
    node_pools: tuple[NodePool, ...] = ()
    node_classes: Mapping[NodeClassRef, NodeClass] = field(
        default_factory=dict[NodeClassRef, NodeClass]
    )
    daemon_sets: tuple[DaemonSet, ...] = ()
    pdbs: tuple[PodDisruptionBudget, ...] = ()
    namespaces: Mapping[str, Mapping[str, str]] = field(
        default_factory=dict[str, Mapping[str, str]]
    )
    """Labels of namespaces, for affinity that selects namespaces by them; one that is missing has none."""
    asking_namespaces: Mapping[str, frozenset[str]] = field(
        default_factory=dict[str, frozenset[str]]
    )
    """Annotation of `labels.ON_MANY` -> namespaces that ask by it for all their pods; ask `asking`."""
    deployments: Mapping[str, Deployment] = field(default_factory=dict[str, Deployment])
    """Those with a surge under way, by namespace/name."""
    inspections: Mapping[str, Inspected] = field(default_factory=dict[str, Inspected])
    """What was read of Deployments lately, by namespace/name."""
    volumes: Volumes = field(default_factory=Volumes)
    """Claims, volumes and classes, and how many volumes nodes take."""

    by_name: Mapping[str, StateNode] = field(default_factory=dict[str, StateNode])
    """State nodes by the name of their Node and by that of their NodeClaim."""
    nodes_of: Mapping[str, tuple[Node, ...]] = field(default_factory=dict[str, tuple[Node, ...]])
    """Nodes by provider id; more than one is a mistake that registration reports."""

    instances: InstancesListed | None = None
    """The cloud's last list; None before the first."""
    gone_instances: frozenset[str] = frozenset()
    """Provider ids that the cloud denied knowing when it was told to end them."""
    launched: Mapping[str, LaunchedInstance] = field(default_factory=dict[str, LaunchedInstance])
    """NodeClaim name -> its instance, until the NodeClaim itself says so."""
    unnamed: Mapping[str, str] = field(default_factory=dict[str, str])
    """NodeClaim name -> provider id, for those that may not name their instance themselves; ask `instance_of`."""
    launch_failures: Mapping[str, CloudError] = field(default_factory=dict[str, CloudError])
    """NodeClaim name -> why the last launch came to nothing."""
    sold_out: Mapping[Pool, datetime] = field(default_factory=dict[Pool, datetime])
    """What cannot be had -> until when that is believed."""
    interruptions: tuple[Interrupted, ...] = ()
    """What the cloud has said about instances, oldest first, until it is settled."""

    registrations: Mapping[str, tuple[Result, ...]] = field(
        default_factory=dict[str, tuple[Result, ...]]
    )
    """NodePool uid -> how its last launches ended, oldest first."""

    holds: Mapping[str, Hold] = field(default_factory=dict[str, Hold])
    """Command keys for which nothing is planned now."""
    nominations: Mapping[str, Nomination] = field(default_factory=dict[str, Nomination])
    """Pending pod -> where it is expected."""
    places: Mapping[str, tuple[Pod, ...]] = field(default_factory=dict[str, tuple[Pod, ...]])
    """NodeClaim that is kept closed -> pods that run elsewhere and are about to move there, or went a moment ago."""
    unneeded: frozenset[str] = frozenset()
    """NodeClaims that were made for pods which have gone, or found their places elsewhere, before the launch."""
    arrivals: Mapping[str, datetime] = field(default_factory=dict[str, datetime])
    """Provisionable pod -> when it was first seen to wait."""
    scale_out_since: datetime | None = None
    """When the oldest scale-out began of those that go on; None when none does."""
    last_pass: datetime | None = None
    """When pods were last planned."""
    unschedulable: tuple[Unschedulable, ...] = ()
    """What the last pass found no place for."""

    proposals: tuple[Proposal, ...] = ()
    """Disruptions that were decided and have not begun."""
    looks: Mapping[str, Look] = field(default_factory=dict[str, Look])
    """What methods of disruption remember of the nodes they have seen, by the method's name."""
    changes: int = 0
    """Grows with everything that could change a decision to disrupt."""
    past: Past = field(default_factory=Past)
    """Whose pods were moved lately, and which nodes came and went."""

    def derived(self) -> Derived:
        """What has been worked out from its state nodes already."""
        return self.of_nodes if self.of_nodes.of is self.state_nodes else Derived(self.state_nodes)

    def node_pool(self, name: str) -> NodePool | None:
        """The NodePool called `name`, or None."""
        return next((pool for pool in self.node_pools if pool.meta.name == name), None)

    @property
    def provisionable(self) -> list[Pod]:
        """Pods that wait for a node that could be made for them, in the order of their keys."""
        return [pod for pod in self.waiting if self.is_provisionable(pod)]

    def is_provisionable(self, pod: Pod) -> bool:
        """Whether it waits for a node, and kube-scheduler is not making room for it."""
        return pod.is_provisionable and not self._is_preempting(pod)

    def instance_of(self, claim: NodeClaim) -> str:
        """Provider id of its instance, even if the NodeClaim does not name it; empty when none is known."""
        return claim.provider_id or self.unnamed.get(claim.meta.name, "")

    def _is_preempting(self, pod: Pod) -> bool:
        """Whether kube-scheduler makes room for it: pods that matter less are leaving the node it is nominated to.

        Source: Karpenter takes every nominated pod for one of these. But a nomination may be a hint of where to look
        first, ours for one, and from Kubernetes 1.35 on such a hint stays on a pod that finds no room there.
        """
        node = self.by_name.get(pod.nominated_node_name)
        return node is not None and any(
            p.meta.deleted is not None and p.priority < pod.priority for p in node.pods
        )

    def is_held(self, key: str) -> bool:
        """Whether a command of this key is under way, or not to be repeated yet."""
        return key in self.holds
