"""Every word that events, conditions, metrics and tools give as a reason: one table, and no other spelling.

Whoever decides takes a constant of this module and adds the sentence with the names and numbers of the case. What the
word means in general, and what would change it, is asked here: `means`, `remedy`. Words that come from elsewhere are
not in the table: AWS's own error codes, and what other controllers write into conditions. Nor are types of conditions,
which are the reason of a condition that has nothing else to say.

`docs/reasons.md` is this table for people.
"""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from daiku.reason import Kind, Reason, Row

_rows: dict[str, Row] = {}
TABLE: Final[Mapping[str, Row]] = MappingProxyType(_rows)
"""Word -> its row, in the order of this module."""


def means(reason: Reason) -> str:
    """What a reason says, in the middle of a sentence; empty for a word that is not Daiku's."""
    row = TABLE.get(reason)
    return row.means if row is not None else ""


def remedy(reason: Reason) -> str:
    """What would change it; empty when nothing need or can be done, or the word is not Daiku's."""
    row = TABLE.get(reason)
    return row.remedy if row is not None else ""


def _of(word: str, *kinds: Kind, means: str, remedy: str = "") -> Reason:
    if word in _rows:
        raise AssertionError(f"{word} is in the table already")
    row = Row(reason=Reason(word), kinds=kinds, means=means, remedy=remedy)
    _rows[word] = row
    return row.reason


# fmt: off
# Why pods wait.
INSUFFICIENT_RESOURCES: Final = _of("InsufficientResources", Kind.WAITING,
    means="no instance type that would do has as much on one node",
    remedy="ask for less, or let the NodePool use instance types that have as much")
DAEMON_SET_DOES_NOT_FIT: Final = _of("DaemonSetDoesNotFit", Kind.WAITING,
    means="DaemonSets that would run on each node of the NodePool ask for more than an instance type that would do has",
    remedy="tie the DaemonSet by a node selector to nodes that have what it asks for, or let it ask for less")
REQUIREMENTS_NOT_MET: Final = _of("RequirementsNotMet", Kind.WAITING,
    means="nodes of the NodePool do not have the labels that the pod asks for",
    remedy="drop the node selector or affinity that it names, or add what it asks for to the NodePool")
TAINT_NOT_TOLERATED: Final = _of("TaintNotTolerated", Kind.WAITING,
    means="nodes of the NodePool have a taint that the pod does not tolerate",
    remedy="add the toleration to the pods, or take the taint off the NodePool")
NO_OFFERING: Final = _of("NoOffering", Kind.WAITING,
    means="instance types that would do are sold out, or are not offered in such a zone and capacity type",
    remedy="allow more zones, capacity types or instance types; what is sold out is tried again after 3 minutes")
LIMIT_EXCEEDED: Final = _of("LimitExceeded", Kind.WAITING, Kind.KEPT, Kind.CALLED_OFF,
    means="the limits of the NodePool leave no room for one more node",
    remedy="raise spec.limits of the NodePool")
CAPACITY_UNAVAILABLE: Final = _of("CapacityUnavailable", Kind.WAITING, Kind.KEPT, Kind.EVENT,
    means="instance types at the usual price are sold out, and others cost more than the price guard allows",
    remedy="wait, allow more instance types or zones, or raise daiku.dev/price-guard of the NodePool")
MIN_VALUES_NOT_MET: Final = _of("MinValuesNotMet", Kind.WAITING,
    means="fewer values would do than minValues of the NodePool asks for",
    remedy="lower minValues, or allow more instance types")
NODE_POOL_NOT_READY: Final = _of("NodePoolNotReady", Kind.WAITING,
    means="no node can be made from the NodePool now",
    remedy="mend what the NodePool's condition Ready names")
NO_NODE_POOL: Final = _of("NoNodePool", Kind.WAITING,
    means="there is no NodePool",
    remedy="create a NodePool")
VOLUME_NOT_READY: Final = _of("VolumeNotReady", Kind.WAITING,
    means="where the pod's volumes can be is not known yet, or cannot be",
    remedy="mend the PersistentVolumeClaim or StorageClass that it names")
RESOURCE_CLAIMS_NOT_SUPPORTED: Final = _of("ResourceClaimsNotSupported", Kind.WAITING,
    means="the pod asks for devices by ResourceClaims, which Daiku does not allocate",
    remedy="ask for the devices as extended resources, or run the pod on nodes that Daiku does not manage")
TOPOLOGY_SPREAD_NOT_MET: Final = _of("TopologySpreadNotMet", Kind.WAITING,
    means="no place is left that keeps the pod's topology spread constraint",
    remedy="raise maxSkew, set whenUnsatisfiable to ScheduleAnyway, or allow nodes in more of its domains")
POD_AFFINITY_NOT_MET: Final = _of("PodAffinityNotMet", Kind.WAITING,
    means="no place is left beside the pods that its affinity asks for",
    remedy="run such a pod first, allow more room where they are, or make the affinity preferred")
POD_ANTI_AFFINITY_NOT_MET: Final = _of("PodAntiAffinityNotMet", Kind.WAITING,
    means="every place is beside pods from which anti-affinity keeps it apart",
    remedy="allow nodes in more domains of its topologyKey, or make the anti-affinity preferred")
HOST_PORT_TAKEN: Final = _of("HostPortTaken", Kind.WAITING,
    means="another pod has its host port wherever it could be",
    remedy="allow more nodes, or give up the host port")

# Why nodes are kept.
BUDGET: Final = _of("Budget", Kind.KEPT, Kind.CALLED_OFF,
    means="the budgets of its NodePool allow no more disruptions for this reason now",
    remedy="raise spec.disruption.budgets of the NodePool, or wait")
CONSOLIDATION_DISABLED: Final = _of("ConsolidationDisabled", Kind.KEPT,
    means="consolidateAfter of its NodePool is Never",
    remedy="set spec.disruption.consolidateAfter of the NodePool")
DISRUPTING: Final = _of("Disrupting", Kind.KEPT,
    means="a disruption that it has a part in is decided or under way")
DO_NOT_DISRUPT: Final = _of("DoNotDisrupt", Kind.KEPT, Kind.CALLED_OFF,
    means="the annotation karpenter.sh/do-not-disrupt of the node or its NodeClaim forbids it",
    remedy="take the annotation off the node and its NodeClaim")
DRIFT_STOPPED: Final = _of("DriftStopped", Kind.KEPT, Kind.EVENT,
    means="new nodes that replaced drifted ones did not come up, or are not ready",
    remedy="mend what keeps the new nodes from becoming ready; it is tried again by itself")
DRIFT_WAITS: Final = _of("DriftWaits", Kind.KEPT,
    means="it has drifted, and other nodes of its NodePool are replaced before it")
DRIFT_WAVE: Final = _of("DriftWave", Kind.KEPT,
    means="it has drifted, and nodes that replace others must prove themselves before more follow")
DRY_RUN: Final = _of("DryRun", Kind.KEPT, Kind.EVENT,
    means="it would be disrupted, but its NodePool asks only to be told",
    remedy="take the annotation daiku.dev/disruption off the NodePool")
LET_OFF: Final = _of("LetOff", Kind.KEPT,
    means="a disruption of it was called off lately, and it is left alone for a while")
LOOP: Final = _of("Loop", Kind.KEPT,
    means="nodes of one shape were made and taken away several times within an hour, so its NodePool is left alone")
NODE_POOL_NOT_FOUND: Final = _of("NodePoolNotFound", Kind.KEPT,
    means="its NodePool does not exist, so nothing says how it may be disrupted",
    remedy="create the NodePool again, or delete the NodeClaim")
NO_PLACE: Final = _of("NoPlace", Kind.KEPT, Kind.CALLED_OFF, Kind.REFUSED,
    means="some of its pods would have no place",
    remedy="make room for the pods that it names: what keeps them from each NodePool is said with them")
NOMINATED: Final = _of("Nominated", Kind.KEPT,
    means="pods that have no node yet are expected on it")
NOT_EMPTY: Final = _of("NotEmpty", Kind.KEPT, Kind.CALLED_OFF,
    means="pods run on it, and only empty nodes may go",
    remedy="set spec.disruption.consolidationPolicy of the NodePool to WhenEmptyOrUnderutilized")
NOT_INITIALIZED: Final = _of("NotInitialized", Kind.KEPT,
    means="its node is not ready for pods yet")
PAUSED: Final = _of("Paused", Kind.KEPT,
    means="its NodePool is paused by the annotation daiku.dev/disruption",
    remedy="take the annotation off the NodePool")
POD_DISRUPTION_BUDGET: Final = _of("PodDisruptionBudget", Kind.KEPT,
    means="a PodDisruptionBudget allows no disruption of one of its pods",
    remedy="allow it one disruption, run one replica more, or let the replacement come first (daiku.dev/surge)")
POD_DO_NOT_DISRUPT: Final = _of("PodDoNotDisrupt", Kind.KEPT, Kind.CALLED_OFF,
    means="a pod on it carries the annotation karpenter.sh/do-not-disrupt",
    remedy="take the annotation off the pod, or wait until it has ended")
RETURN_WAITS: Final = _of("ReturnWaits", Kind.KEPT,
    means="spot is back, and another node returns to it first")
SEVERAL_BUDGETS: Final = _of("SeveralBudgets", Kind.KEPT, Kind.CALLED_OFF,
    means="several PodDisruptionBudgets select one of its pods, which eviction refuses",
    remedy="let only one PodDisruptionBudget select the pod")
STATIC_NODE_POOL: Final = _of("StaticNodePool", Kind.KEPT, Kind.CONDITION,
    means="its NodePool has a fixed number of nodes (spec.replicas), which does not follow pods")
TOO_YOUNG: Final = _of("TooYoung", Kind.KEPT,
    means="a pod came or went recently; consolidateAfter of its NodePool is not over")
UNCONSOLIDATABLE: Final = _of("Unconsolidatable", Kind.KEPT, Kind.EVENT,
    means="taking it away would save nothing, or its pods would have no place")
WAITS: Final = _of("Waits", Kind.KEPT,
    means="it is looked at after others, or when a disruption that may need its room is over")

# Why disruptions are called off, or not begun.
CALLED_OFF_STRAY: Final = _of("CalledOff", Kind.CALLED_OFF,
    means="the node is marked as disrupted, and no disruption of it is under way")
REPLACEMENT_FAILED: Final = _of("ReplacementFailed", Kind.CALLED_OFF,
    means="a replacement did not come up in time, or was deleted",
    remedy="see the events of the replacement's NodeClaim; it is tried again after 10 minutes, drift after 30")
SURGE_STOPPED: Final = _of("SurgeStopped", Kind.CALLED_OFF, Kind.EVENT,
    means="the replacement of a pod did not come up, or somebody set its Deployment's replicas",
    remedy="mend what the event names; it is tried again after an hour")
SURGE_WAITS: Final = _of("SurgeWaits", Kind.CALLED_OFF,
    means="the replacement of a pod cannot be made now",
    remedy="mend what is said of the pod, or wait")
TOO_MANY_NEW_NODES: Final = _of("TooManyNewNodes", Kind.REFUSED,
    means="its pods would need more new nodes than may be made for them")
NOT_CHEAPER: Final = _of("NotCheaper", Kind.REFUSED,
    means="its pods would need new nodes, and none is cheap enough to save anything")

# Why nodes go.
EMPTY: Final = _of("Empty", Kind.DISRUPTED,
    means="no pod runs on it that would have to move",
    remedy="to keep empty nodes for longer, raise spec.disruption.consolidateAfter of the NodePool")
UNDERUTILIZED: Final = _of("Underutilized", Kind.DISRUPTED,
    means="its pods can run elsewhere for less",
    remedy="to keep it, set spec.disruption.consolidationPolicy or budgets of the NodePool")
DRIFTED: Final = _of("Drifted", Kind.DISRUPTED,
    means="it is not what its NodePool and node class ask for any more",
    remedy="to keep it, set a budget of the NodePool for the reason Drifted")
NODE_POOL_DRIFTED: Final = _of("NodePoolDrifted", Kind.DRIFT,
    means="the template of its NodePool has changed")
REQUIREMENTS_DRIFTED: Final = _of("RequirementsDrifted", Kind.DRIFT,
    means="it does not meet the requirements of its NodePool any more")
INSTANCE_TYPE_NOT_FOUND: Final = _of("InstanceTypeNotFound", Kind.DRIFT,
    means="its instance type is not sold any more as it was bought")
NODE_CLASS_DRIFT: Final = _of("NodeClassDrift", Kind.DRIFT,
    means="its EC2NodeClass has changed")
AMI_DRIFT: Final = _of("AMIDrift", Kind.DRIFT,
    means="its EC2NodeClass selects another image now")
SECURITY_GROUP_DRIFT: Final = _of("SecurityGroupDrift", Kind.DRIFT,
    means="its EC2NodeClass selects other security groups now")
SUBNET_DRIFT: Final = _of("SubnetDrift", Kind.DRIFT,
    means="its EC2NodeClass does not select its subnet any more")
PLACEMENT_GROUP_DRIFT: Final = _of("PlacementGroupDrift", Kind.DRIFT,
    means="its EC2NodeClass selects another placement group now")
CAPACITY_RESERVATION_DRIFT: Final = _of("CapacityReservationDrift", Kind.DRIFT,
    means="its EC2NodeClass does not select its capacity reservation any more")
ROLL_REQUESTED: Final = _of("RollRequested", Kind.DRIFT,
    means="a person asked for its replacement: daiku roll")
REBALANCE_RECOMMENDED: Final = _of("RebalanceRecommended", Kind.DRIFT,
    means="EC2 expects that it will have to take the instance back")

# Why NodeClaims are deleted and made. These words are values of labels, written as Karpenter's metrics do.
ENDED_EXPIRED: Final = _of("expired", Kind.ENDED,
    means="expireAfter of the node is over",
    remedy="raise spec.template.spec.expireAfter of the NodePool, for nodes that are made from then on")
ENDED_LAUNCH_TIMEOUT: Final = _of("launch_timeout", Kind.ENDED,
    means="no instance was launched in time",
    remedy="see its condition Launched")
ENDED_REGISTRATION_TIMEOUT: Final = _of("registration_timeout", Kind.ENDED,
    means="its node did not join the cluster in time",
    remedy="see its console output; most often its network, role or user data keeps a node away")
ENDED_NODE_CLASS_NOT_READY: Final = _of("nodeclass_not_ready", Kind.ENDED,
    means="its node class cannot launch anything",
    remedy="mend what the node class's condition Ready names")
ENDED_INSUFFICIENT_CAPACITY: Final = _of("insufficient_capacity", Kind.ENDED,
    means="nothing of what it asks for can be had now",
    remedy="allow more zones, capacity types or instance types")
ENDED_UNNEEDED: Final = _of("unneeded", Kind.ENDED,
    means="the pods that it was made for need it no more")
ENDED_NODE_DELETED: Final = _of("node_deleted", Kind.ENDED,
    means="its Node was deleted")
ENDED_GARBAGE_COLLECTED: Final = _of("garbage_collected", Kind.ENDED,
    means="its instance does not exist any more")
ENDED_UNHEALTHY: Final = _of("unhealthy", Kind.ENDED,
    means="its node has been broken for longer than the repair policy tolerates")
ENDED_SCALED_DOWN: Final = _of("scaled_down", Kind.ENDED,
    means="its static NodePool has more nodes than replicas")
ENDED_CAPACITY_BLOCK: Final = _of("capacity_block_ending", Kind.ENDED,
    means="its capacity block ends within 40 minutes")
ENDED_SPOT: Final = _of("spot_interrupted", Kind.ENDED,
    means="EC2 takes the spot instance back")
ENDED_SCHEDULED_CHANGE: Final = _of("scheduled_change", Kind.ENDED,
    means="AWS Health has scheduled a change of the instance")
ENDED_STOPPED: Final = _of("instance_stopped", Kind.ENDED,
    means="the instance stops")
ENDED_TERMINATED: Final = _of("instance_terminated", Kind.ENDED,
    means="the instance is being terminated")
ENDED_RESERVATION: Final = _of("capacity_reservation_interrupted", Kind.ENDED,
    means="the owner of the capacity reservation takes it back")
ENDED_EVENT_STATUS: Final = _of("event_status", Kind.ENDED,
    means="EC2 has scheduled an event for the instance")
ENDED_INSTANCE_STATUS: Final = _of("instance_status", Kind.ENDED,
    means="the instance fails EC2's instance status check")
ENDED_SYSTEM_STATUS: Final = _of("system_status", Kind.ENDED,
    means="the instance's host fails EC2's system status check")
FORCEFUL: Final = _of("Forceful Termination", Kind.ENDED,
    means="its node is being deleted, and not because the controller chose to disrupt it")
PROVISIONED: Final = _of("provisioned", Kind.MADE,
    means="pods wait for it, or a static NodePool lacks a node")

# What events tell.
DISRUPTION_BLOCKED: Final = _of("DisruptionBlocked", Kind.EVENT,
    means="the node could be disrupted but for what the message says",
    remedy="ask `daiku explain node`")
DISRUPTION_LAUNCHING: Final = _of("DisruptionLaunching", Kind.EVENT,
    means="a NodeClaim that replaces others waits for its instance")
DISRUPTION_WAITING_READINESS: Final = _of("DisruptionWaitingReadiness", Kind.EVENT,
    means="Waiting on readiness to continue disruption")
DISRUPTION_TERMINATING: Final = _of("DisruptionTerminating", Kind.EVENT,
    means="the node is deleted to disrupt it")
DISRUPTION_CALLED_OFF: Final = _of("DisruptionCalledOff", Kind.EVENT,
    means="a disruption that had begun is given up, and the node stays")
CONSOLIDATION_CANDIDATE: Final = _of("ConsolidationCandidate", Kind.EVENT,
    means="a consolidation of the node is decided, and is checked again before it begins")
CONSOLIDATION_APPROVED: Final = _of("ConsolidationApproved", Kind.EVENT,
    means="a consolidation is worth it by the policy Balanced")
CONSOLIDATION_REJECTED: Final = _of("ConsolidationRejected", Kind.EVENT,
    means="a consolidation that was decided is not right any more, and is dropped")
CONSOLIDATION_LOOP: Final = _of("ConsolidationLoop", Kind.EVENT,
    means="nodes of one shape were made and taken away several times within an hour",
    remedy="look for what evicts or scales their pods; the NodePool is consolidated again by itself")
DO_NOT_DISRUPT_UNTIL: Final = _of("DoNotDisruptUntil", Kind.EVENT,
    means="the pod is not disrupted before the time in its annotation karpenter.sh/do-not-disrupt is over")
DO_NOT_DISRUPT_OVER: Final = _of("DoNotDisruptGracePeriodElapsed", Kind.EVENT,
    means="the time in the pod's annotation karpenter.sh/do-not-disrupt is over, it may be disrupted")
INVALID_DO_NOT_DISRUPT: Final = _of("InvalidDoNotDisruptAnnotation", Kind.EVENT,
    means="the pod's annotation karpenter.sh/do-not-disrupt is neither true nor a duration, and is ignored",
    remedy="write true, or a duration such as 30m")
FAILED_SCHEDULING: Final = _of("FailedScheduling", Kind.EVENT,
    means="the pod fits on no node, and no node is made for it",
    remedy="ask `daiku explain pod`")
SURGE_STARTED: Final = _of("SurgeStarted", Kind.EVENT,
    means="the pod's node is to go, and its Deployment gets one replica more first")
SURGE_REFUSED: Final = _of("SurgeRefused", Kind.EVENT,
    means="the pod cannot have its replacement first",
    remedy="mend what the message names, or take daiku.dev/surge off the pod")
EVICTED: Final = _of("Evicted", Kind.EVENT,
    means="the pod is asked to leave its node")
POD_DISRUPTED: Final = _of("Disrupted", Kind.EVENT,
    means="the pod is deleted, because its node must be gone at a set time",
    remedy="raise terminationGracePeriod of the NodePool, or shorten terminationGracePeriodSeconds of the pod")
TERMINATION_EXPIRING: Final = _of("TerminationGracePeriodExpiring", Kind.EVENT,
    means="the node must be gone at a set time, and its pods are deleted by then")
FAILED_DRAINING: Final = _of("FailedDraining", Kind.EVENT,
    means="pods hold up the end of the node",
    remedy="mend what the message names")
FAILED_TERMINATION: Final = _of("FailedTermination", Kind.EVENT,
    means="AWS refuses to end the instance, which still runs",
    remedy="mend what the message names")
FINALIZER_FORCED: Final = _of("FinalizerForced", Kind.EVENT,
    means="the NodeClaim goes although its Node, which has no machine any more, is still held by others",
    remedy="have whoever set them take their finalizers off the Node")
INSUFFICIENT_CAPACITY_ERROR: Final = _of("InsufficientCapacityError", Kind.EVENT,
    means="the NodeClaim is given up: nothing of what it asks for can be had now",
    remedy="allow more zones, capacity types or instance types")
UNNEEDED: Final = _of("Unneeded", Kind.EVENT,
    means="the NodeClaim is given up: the pods that it was made for need it no more")
UNREGISTERED_TAINT_MISSING: Final = _of("UnregisteredTaintMissing", Kind.EVENT,
    means="the node joined without the taint karpenter.sh/unregistered, so pods may have come too early",
    remedy="let its user data register it with that taint")
FAILED_CONSISTENCY_CHECK: Final = _of("FailedConsistencyCheck", Kind.EVENT,
    means="the node has less of a resource than it was bought for",
    remedy="see whether its image and kubelet settings reserve as much as expected")
SPOT_INTERRUPTED: Final = _of("SpotInterrupted", Kind.EVENT, means="EC2 takes the spot instance back")
SPOT_REBALANCE: Final = _of("SpotRebalanceRecommendation", Kind.EVENT,
    means="EC2 expects that it will have to take the spot instance back")
INSTANCE_UNHEALTHY: Final = _of("InstanceUnhealthy", Kind.EVENT,
    means="AWS says that the instance is broken, or has scheduled something for it")
INSTANCE_STOPPING: Final = _of("InstanceStopping", Kind.EVENT, means="the instance stops")
INSTANCE_TERMINATING: Final = _of("InstanceTerminating", Kind.EVENT, means="the instance is being terminated")
RESERVATION_INTERRUPTED: Final = _of("CapacityReservationInstanceInterrupted", Kind.EVENT,
    means="the owner of the capacity reservation takes it back")
TERMINATING_ON_INTERRUPTION: Final = _of("TerminatingOnInterruption", Kind.EVENT,
    means="the node is drained because its instance will not stay")
CAPACITY_BLOCK_ENDING: Final = _of("CapacityBlockEnding", Kind.EVENT,
    means="the node is drained because its capacity block ends within 40 minutes")
CAPACITY_RESERVATION_ENDED: Final = _of("CapacityReservationEnded", Kind.EVENT,
    means="the capacity reservation has ended, and the instance is an on-demand one now")
NODE_REPAIR: Final = _of("NodeRepair", Kind.EVENT,
    means="the node has been broken for longer than the repair policy tolerates, and is replaced")
NODE_REPAIR_BLOCKED: Final = _of("NodeRepairBlocked", Kind.EVENT,
    means="so many nodes are broken that none is replaced",
    remedy="look for what broke them all")

# What conditions of NodeClaims and NodePools say.
AWAITING_RECONCILIATION: Final = _of("AwaitingReconciliation", Kind.CONDITION,
    means="object is awaiting reconciliation")
RECONCILING_DEPENDENTS: Final = _of("ReconcilingDependents", Kind.CONDITION,
    means="a condition that Ready depends on is not known yet")
UNHEALTHY_DEPENDENTS: Final = _of("UnhealthyDependents", Kind.CONDITION, Kind.CLASS,
    means="a condition that Ready depends on is False",
    remedy="mend what that condition says")
CATALOGUE_MISSING: Final = _of("CatalogueMissing", Kind.CONDITION,
    means="what the cloud offers is not known yet")
NODE_NOT_FOUND: Final = _of("NodeNotFound", Kind.CONDITION,
    means="Node not registered with cluster",
    remedy="if it lasts, see its console output; most often its network, role or user data keeps a node away")
MULTIPLE_NODES_FOUND: Final = _of("MultipleNodesFound", Kind.CONDITION,
    means="several Nodes name the instance of one NodeClaim",
    remedy="delete the Nodes that have no machine of their own")
NODE_NOT_READY: Final = _of("NodeNotReady", Kind.CONDITION,
    means="the Node is not ready",
    remedy="if it lasts, see the conditions of the Node")
STARTUP_TAINTS_EXIST: Final = _of("StartupTaintsExist", Kind.CONDITION,
    means="a startup taint is still on the Node",
    remedy="if it lasts, see whether the DaemonSet that takes it off runs")
EPHEMERAL_TAINTS_EXIST: Final = _of("KnownEphemeralTaintsExist", Kind.CONDITION,
    means="a taint that Kubernetes takes off a new Node is still there")
RESOURCE_NOT_REGISTERED: Final = _of("ResourceNotRegistered", Kind.CONDITION,
    means="the Node does not report a resource yet that was asked for",
    remedy="if it lasts, see whether the device plugin runs on the node")
NOT_CONSOLIDATABLE: Final = _of("NotConsolidatable", Kind.CONDITION,
    means="a pod came or went too recently")
CONSISTENCY_CHECK_FAILED: Final = _of("ConsistencyCheckFailed", Kind.CONDITION,
    means="the node has less of a resource than it was bought for",
    remedy="see whether its image and kubelet settings reserve as much as expected")
NOT_DRIFTED: Final = _of("NotDrifted", Kind.CONDITION,
    means="it is what its NodePool asks for")
DRAINING: Final = _of("Draining", Kind.CONDITION,
    means="pods still have to leave the node",
    remedy="if it lasts, mend what the message names")
AWAITING_DETACHMENT: Final = _of("AwaitingVolumeDetachment", Kind.CONDITION, Kind.EVENT,
    means="volumes of pods that have left are still attached to the node")
DETACHMENT_GRACE_OVER: Final = _of("TerminationGracePeriodElapsed", Kind.CONDITION,
    means="the node must be gone now, although volumes are still attached")
DETACHMENT_TIMED_OUT: Final = _of("VolumeDetachmentTimedOut", Kind.CONDITION,
    means="volumes are still attached after so long that the node goes without waiting for them",
    remedy="see the VolumeAttachments and the CSI driver")
TERMINATION_REFUSED: Final = _of("TerminationRefused", Kind.CONDITION,
    means="AWS refuses to end the instance",
    remedy="mend what the message names")
REGISTRATION_FAILED: Final = _of("RegistrationFailed", Kind.CONDITION,
    means="Failed to register node",
    remedy="see its console output; most often its network, role or user data keeps a node away")
NODE_POOL_VALIDATION_FAILED: Final = _of("NodePoolValidationFailed", Kind.CONDITION,
    means="the NodePool asks for something that cannot be",
    remedy="mend what the message names")
NO_COMPATIBLE_INSTANCE_TYPES: Final = _of("NoCompatibleInstanceTypes", Kind.CONDITION,
    means="no instance type meets the requirements of the NodePool",
    remedy="widen spec.template.spec.requirements")
NODE_POOL_TERMINATING: Final = _of("NodePoolTerminating", Kind.CONDITION,
    means="it is being deleted")
NODE_CLASS_NOT_FOUND: Final = _of("NodeClassNotFound", Kind.CONDITION,
    means="the node class of the NodePool does not exist",
    remedy="create it, or name another one")
NODE_CLASS_TERMINATING: Final = _of("NodeClassTerminating", Kind.CONDITION,
    means="the node class of the NodePool is being deleted",
    remedy="name another one")
NODE_CLASS_READINESS_UNKNOWN: Final = _of("NodeClassReadinessUnknown", Kind.CONDITION,
    means="nobody has said yet whether the node class can launch anything")
NODE_CLASS_NOT_READY: Final = _of("NodeClassNotReady", Kind.CONDITION, Kind.EVENT,
    means="the node class cannot launch anything",
    remedy="mend what the node class's condition Ready names")
NO_INSTANCE_TYPES: Final = _of("NoInstanceTypes", Kind.CONDITION, Kind.CLASS,
    means="the cloud has no instance types for the node class (yet)",
    remedy="let the node class and its NodePools allow instance types that the region has")
NODE_CLAIM_REFUSED: Final = _of("NodeClaimRefused", Kind.CONDITION,
    means="its last NodeClaim could not be created",
    remedy="mend what the API server says")

# Why nothing is launched: what AWS answers. The remedy for one code is said with it (`cloud.aws.errors`).
LAUNCH_FAILED: Final = _of("LaunchFailed", Kind.LAUNCH,
    means="AWS did not launch an instance")
INSUFFICIENT_CAPACITY: Final = _of("InsufficientCapacity", Kind.LAUNCH, Kind.CLASS,
    means="AWS has no such instance to give now",
    remedy="allow more zones, capacity types or instance types")
REQUEST_LIMIT_EXCEEDED: Final = _of("RequestLimitExceeded", Kind.LAUNCH,
    means="AWS throttles calls of this account; it is asked again later")
UNAUTHORIZED: Final = _of("Unauthorized", Kind.LAUNCH,
    means="AWS does not permit the call",
    remedy="allow it in the controller's IAM role, or mend its credentials")
INTERNAL_ERROR: Final = _of("InternalError", Kind.LAUNCH,
    means="AWS did not answer, or failed; it is asked again")
LAUNCH_TEMPLATE_NOT_FOUND: Final = _of("LaunchTemplateNotFound", Kind.LAUNCH,
    means="somebody removed a launch template; it is made again")
FLEET_QUOTA_EXCEEDED: Final = _of("FleetQuotaExceeded", Kind.LAUNCH,
    means="the account has as many fleets as its quota allows",
    remedy="ask for a higher quota of fleets in Service Quotas")
SPOT_QUOTA_EXCEEDED: Final = _of("SpotQuotaExceeded", Kind.LAUNCH,
    means="the account has as many spot instances as its quota allows",
    remedy="ask for a higher quota in Service Quotas, or allow other instance families")
VCPU_LIMIT_EXCEEDED: Final = _of("VCPULimitExceeded", Kind.LAUNCH,
    means="the account has as many vCPUs of this kind as its quota allows",
    remedy="ask for a higher quota in Service Quotas, or allow other instance families")
NO_FREE_ADDRESSES: Final = _of("InsufficientFreeAddressesInSubnet", Kind.LAUNCH,
    means="the subnet has too few free addresses",
    remedy="select more or larger subnets in the EC2NodeClass")
SPOT_ROLE_MISSING: Final = _of("SpotSLRCreationFailed", Kind.LAUNCH,
    means="the account has no service-linked role for spot instances",
    remedy="make the role once: aws iam create-service-linked-role --aws-service-name spot.amazonaws.com")
ACCOUNT_PENDING: Final = _of("AccountPendingVerification", Kind.LAUNCH,
    means="AWS has not verified the account yet",
    remedy="wait until AWS has verified the account, or ask AWS Support")
AMI_NOT_FOUND: Final = _of("AMINotFound", Kind.LAUNCH, Kind.CLASS,
    means="the image does not exist, or none is selected",
    remedy="choose an image that exists in amiSelectorTerms")
INVALID_AMI_ID: Final = _of("InvalidAMIID", Kind.LAUNCH,
    means="what is given as the id of an image is none",
    remedy="give ids of the form ami-... in amiSelectorTerms")
SUBNET_RESOLUTION_FAILED: Final = _of("SubnetResolutionFailed", Kind.LAUNCH,
    means="a subnet does not exist any more; the EC2NodeClass selects again within a minute")
AMI_AUTHORIZATION_FAILURE: Final = _of("AMIAuthorizationFailure", Kind.LAUNCH,
    means="the image is not shared with this account",
    remedy="have the owner of the image share it with this account")
VPC_MISMATCH: Final = _of("SecurityGroupSubnetVPCMismatch", Kind.LAUNCH,
    means="security groups and subnets are of different VPCs",
    remedy="select security groups and subnets of one VPC in the EC2NodeClass")
INSTANCE_PROFILE_NAME_INVALID: Final = _of("InstanceProfileNameInvalid", Kind.LAUNCH,
    means="EC2 does not know the instance profile",
    remedy="name an instance profile that exists; one just made takes IAM some seconds")
FREE_TIER_INELIGIBLE: Final = _of("FreeTierIneligible", Kind.LAUNCH,
    means="the account's plan does not include the instance type",
    remedy="upgrade the account's plan, or allow only types of the Free Tier in the NodePool")
USER_DATA_TOO_LONG: Final = _of("UserDataSizeLimitExceeded", Kind.LAUNCH, Kind.CLASS,
    means="user data is longer than EC2 takes",
    remedy="shorten spec.userData of the EC2NodeClass: 16384 bytes with what is added")

# What conditions of EC2NodeClasses say.
NOT_RELEASED: Final = _of("NotReleased", Kind.CLASS,
    means="the class is being deleted, and AWS refuses to remove what was made for it",
    remedy="mend what the message names")
UNSUPPORTED_ALIAS: Final = _of("UnsupportedAlias", Kind.CLASS,
    means="amiSelectorTerms name an alias that there is not",
    remedy="name an alias of a supported family, such as al2023@latest")
SUBNETS_NOT_FOUND: Final = _of("SubnetsNotFound", Kind.CLASS,
    means="subnetSelectorTerms select no subnet",
    remedy="tag the private subnets so, or change the terms")
SECURITY_GROUPS_NOT_FOUND: Final = _of("SecurityGroupsNotFound", Kind.CLASS,
    means="securityGroupSelectorTerms select no security group",
    remedy="tag the nodes' group so, or change the terms")
PLACEMENT_GROUP_RESOLUTION_FAILED: Final = _of("PlacementGroupResolutionFailed", Kind.CLASS,
    means="AWS does not say which placement groups there are",
    remedy="mend what the message names")
PLACEMENT_GROUP_NOT_FOUND: Final = _of("PlacementGroupNotFound", Kind.CLASS,
    means="placementGroupSelector names no placement group that is available",
    remedy="create it, or name another")
ROLE_NOT_FOUND: Final = _of("RoleNotFound", Kind.CLASS,
    means="the role in spec.role does not exist",
    remedy="create the role, or name one that exists")
INSTANCE_PROFILE_NOT_FOUND: Final = _of("InstanceProfileNotFound", Kind.CLASS,
    means="EC2 does not know the instance profile in spec.instanceProfile",
    remedy="create it, or name another")
DEPENDENCIES_NOT_READY: Final = _of("DependenciesNotReady", Kind.CLASS,
    means="other conditions of the class must be True first")
TAG_VALIDATION_FAILED: Final = _of("TagValidationFailed", Kind.CLASS,
    means="spec.tags sets a tag that Daiku sets",
    remedy="take the tag out of spec.tags")
INVALID_USER_DATA: Final = _of("InvalidUserData", Kind.CLASS,
    means="spec.userData cannot be read, so nothing can be added to it",
    remedy="mend what the message names")
INVALID_KUBELET: Final = _of("InvalidKubeletConfiguration", Kind.CLASS,
    means="spec.kubelet has a value that the kubelet would refuse",
    remedy="mend what the message names")
UNSUPPORTED_KUBELET: Final = _of("UnsupportedKubeletConfiguration", Kind.CLASS,
    means="spec.kubelet has a field that this image family cannot be told",
    remedy="take the field out, or choose another image family")
KUBELET_EXPRESSIONS_DISABLED: Final = _of("KubeletExpressionsDisabled", Kind.CLASS,
    means="spec.kubelet has an expression, which Daiku does not evaluate",
    remedy="write a number")
LAUNCH_REFUSED: Final = _of("LaunchRefused", Kind.CLASS,
    means="EC2 would refuse every machine of the class",
    remedy="mend what the message names")
RESOURCE_NOT_FOUND: Final = _of("ResourceNotFound", Kind.CLASS,
    means="something that the class names does not exist in AWS",
    remedy="mend what the message names")
THROTTLED: Final = _of("Throttled", Kind.CLASS,
    means="AWS throttles calls of this account; it is asked again later")
DENIED: Final = _of("Denied", Kind.CLASS,
    means="AWS does not permit the call",
    remedy="allow it in the controller's IAM role")
UNREACHABLE: Final = _of("Unreachable", Kind.CLASS,
    means="AWS did not answer; it is asked again")
CREATE_FLEET_DENIED: Final = _of("CreateFleetAuthCheckFailed", Kind.CLASS,
    means="the controller may not call ec2:CreateFleet",
    remedy="attach the controller's policies to its role")
CREATE_TEMPLATE_DENIED: Final = _of("CreateLaunchTemplateAuthCheckFailed", Kind.CLASS,
    means="the controller may not call ec2:CreateLaunchTemplate",
    remedy="attach the controller's policies to its role")
RUN_INSTANCES_DENIED: Final = _of("RunInstancesAuthCheckFailed", Kind.CLASS,
    means="the controller may not call ec2:RunInstances",
    remedy="attach the controller's policies to its role")
# fmt: on
