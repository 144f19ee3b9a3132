"""Before a node is emptied by choice: pods that need a surge get one, and the node waits for it.

A pod needs one when its loss would leave its Deployment without a ready pod, or when its PodDisruptionBudget allows
none. What cannot have a surge goes as it would without the annotation, and is told so; to keep a pod where it is,
there are PodDisruptionBudgets and do-not-disrupt.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Final

from daiku import reasons
from daiku.commands import Announce, Command, InspectDeployment, PatchDeployment
from daiku.model import labels, taints
from daiku.model.deployment import Deployment
from daiku.model.pdb import Budgets
from daiku.model.pod import Pod
from daiku.reason import Reason
from daiku.state.snapshot import Snapshot
from daiku.state.statenode import StateNode
from daiku.surge import asks, record
from daiku.surge.asks import Asks
from daiku.surge.record import State

FRESH: Final = timedelta(seconds=30)
"""How old what is known of a Deployment may be when its surge begins; a change since is noticed by the API server."""
FAILURES: Final = 3
"""How often in a row the API server must have refused us before the node is let off."""


@dataclass(slots=True)
class Hold:
    """What stands between some nodes and their end."""

    waiting: dict[str, str] = field(default_factory=dict[str, str])
    """Pods whose replacement is on its way -> what is waited for."""
    blocked: dict[str, str] = field(default_factory=dict[str, str])
    """Pods that should have a surge and cannot have one now -> why."""
    is_stopped: bool = False
    """A surge of one of `blocked` did not work lately."""
    is_under_way: bool = False
    """The surge of one of their pods has begun."""
    commands: list[Command] = field(default_factory=list[Command])
    pdbs: Budgets = field(default_factory=lambda: Budgets.of(()))
    """PodDisruptionBudgets of the cluster."""

    def is_guarded(self, pod: Pod) -> bool:
        """Whether a PodDisruptionBudget keeps `pod` from being evicted now."""
        return any(pdb.disruptions_allowed < 1 for pdb in self.pdbs.about(pod))

    @property
    def looks(self) -> tuple[InspectDeployment, ...]:
        """What has to be found out before anything is begun for their sake."""
        return tuple(c for c in self.commands if isinstance(c, InspectDeployment))


def before(nodes: Sequence[StateNode], snapshot: Snapshot, now: datetime) -> Hold:
    """What has to happen before the pods of `nodes` may be asked to leave."""
    made = Hold(pdbs=Budgets.of(snapshot.pdbs))
    asking = Asks.of(snapshot)
    pods = [(pod, s) for s in nodes for pod in s.pods if asking.asks(pod, s)]
    if not pods:
        return made
    ready = _ready_elsewhere(snapshot, dict.fromkeys(p.meta.namespace for p, _ in pods))
    begun: dict[str, bool] = {}
    for pod, state_node in pods:
        key = asks.key(pod)
        under = snapshot.deployments.get(key)
        state = record.read(under) if under is not None else None
        if state is not None and state.uid == pod.meta.uid:
            made.is_under_way = True
            made.waiting[pod.meta.key] = f"its replacement of Deployment {key} is on its way"
            continue
        if not pod.ready or (ready.get(key, 0) > 0 and not made.is_guarded(pod)):
            continue
        lasting = asking.refusal(pod)
        if lasting:
            _refuse(pod, lasting, made)
        elif under is not None:
            made.waiting[pod.meta.key] = f"another surge of Deployment {key} is under way"
        elif key in begun:
            made.waiting[pod.meta.key] = f"a surge of Deployment {key} begins"
        else:
            begun[key] = True
            _begin(pod, state_node, snapshot, made, now)
    return made


def is_going(state_node: StateNode) -> bool:
    """Whether pods are kept away from it because it is to end."""
    node = state_node.node
    return state_node.is_leaving or (
        node is not None and taints.includes(node.taints, taints.DISRUPTED)
    )


def _begin(pod: Pod, state_node: StateNode, snapshot: Snapshot, made: Hold, now: datetime) -> None:
    """Begin the surge of `pod`, or find out whether it may."""
    namespace, _, name = (key := asks.key(pod)).partition("/")
    known = snapshot.inspections.get(key)
    refused = [snapshot.holds.get(f"{kind}/{key}") for kind in ("Inspection", "Deployment")]
    if why := next((h.why for h in refused if h is not None and h.failures >= FAILURES), ""):
        made.blocked[pod.meta.key] = f"Deployment {key}: {why}"
    elif known is None or known.at + FRESH < now:
        made.commands.append(InspectDeployment(namespace=namespace, name=name))
        made.waiting[pod.meta.key] = f"Deployment {key} is looked at"
    elif known.deployment is None:
        _refuse(pod, f"there is no Deployment {key}", made)
    elif known.autoscaler:
        why = f"HorizontalPodAutoscaler {known.autoscaler} says how many replicas {key} has; give it minReplicas 2"
        _refuse(pod, why, made)
    elif why := record.why_stopped(known.deployment, now):
        made.blocked[pod.meta.key] = f"its last surge was stopped: {why}"
        made.is_stopped = True
    elif not known.deployment.is_settled:
        made.blocked[pod.meta.key] = f"Deployment {key} is being rolled out"
    else:
        made.waiting[pod.meta.key] = f"a surge of Deployment {key} begins"
        made.commands += _start(pod, state_node, known.deployment, now)


def _start(
    pod: Pod, state_node: StateNode, deployment: Deployment, now: datetime
) -> tuple[PatchDeployment, Announce]:
    state = State(
        pod=pod.meta.name,
        uid=pod.meta.uid,
        node=state_node.name,
        cost=pod.meta.annotations.get(labels.POD_DELETION_COST, ""),
        before=deployment.replicas,
        phase="begun",
        since=now.isoformat(timespec="seconds"),
    )
    written = PatchDeployment(
        namespace=deployment.meta.namespace,
        name=deployment.meta.name,
        resource_version=deployment.meta.resource_version,
        labels={labels.SURGING: "true"},
        annotations={labels.SURGE_STATE: record.write(state), labels.SURGE_STOPPED: None},
    )
    told = (
        f"its node {state_node.name} is to go: Deployment {deployment.meta.name} gets "
        f"{state.during} replicas instead of {state.before} until its replacement is ready"
    )
    return written, _tell(pod, reasons.SURGE_STARTED, told)


def _refuse(pod: Pod, why: str, made: Hold) -> None:
    made.commands.append(_tell(pod, reasons.SURGE_REFUSED, f"no surge: {why}", kind="Warning"))
    if made.is_guarded(pod):
        made.blocked[pod.meta.key] = (
            f"its PodDisruptionBudget allows 0 disruptions; no surge: {why}"
        )


def _tell(pod: Pod, reason: Reason, message: str, *, kind: str = "Normal") -> Announce:
    return Announce.on("Pod", pod.meta, type_=kind, reason=reason, message=message)


def _ready_elsewhere(snapshot: Snapshot, namespaces: Mapping[str, object]) -> dict[str, int]:
    """Deployment -> its ready pods on nodes that stay."""
    found: dict[str, int] = {}
    for state_node in snapshot.state_nodes:
        if is_going(state_node):
            continue
        for pod in state_node.pods:
            if pod.meta.namespace in namespaces and pod.ready and pod.is_active:
                key = asks.key(pod)
                found[key] = found.get(key, 0) + 1
    return found
