"""The status of a local pod, as a kubelet would write it, from what is known of its process."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from daiku_local.agent.objects import Json, dig, items

Phase = Literal["Pending", "Running", "Succeeded", "Failed"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Waiting:
    """The container does not run now, and may later."""

    reason: str
    """Such as ContainerCreating or CrashLoopBackOff."""
    message: str = ""
    """For people."""

    def encode(self) -> Json:
        """Give the wire form."""
        return {"waiting": _without_empty(reason=self.reason, message=self.message)}


@dataclass(frozen=True, slots=True, kw_only=True)
class Running:
    """The container runs."""

    started_at: str
    """Wall clock."""

    def encode(self) -> Json:
        """Give the wire form."""
        return {"running": {"startedAt": self.started_at}}


@dataclass(frozen=True, slots=True, kw_only=True)
class Terminated:
    """The container ran."""

    exit_code: int
    """Its exit status, or 128 + the signal that ended it."""
    started_at: str
    """Wall clock."""
    finished_at: str
    """Wall clock."""
    container_id: str
    """Which run it was."""
    message: str = ""
    """For people, such as which probe was to blame."""

    @property
    def reason(self) -> str:
        """Completed or Error."""
        return "Error" if self.exit_code else "Completed"

    def encode(self) -> Json:
        """Give the wire form."""
        terminated = _without_empty(
            reason=self.reason,
            message=self.message,
            startedAt=self.started_at,
            finishedAt=self.finished_at,
            containerID=self.container_id,
        )
        return {"terminated": {"exitCode": self.exit_code, **terminated}}


State = Waiting | Running | Terminated


@dataclass(frozen=True, slots=True, kw_only=True)
class Container:
    """All that is known of the one container of a pod."""

    state: State
    """What it does now."""
    last: Terminated | None = None
    """How its previous run ended."""
    container_id: str = ""
    """Which run this is; empty before the first."""
    started: bool = False
    """Whether its startup probe has succeeded; without one, whether it runs."""
    ready: bool = False
    """Whether its readiness probe succeeds; without one, whether it is started."""
    restart_count: int = 0
    """Runs before this one."""


def pod_status(pod: Json, container: Container, pod_ip: str, host_ip: str, now: str) -> Json:
    """Give the status to patch in.

    Args:
        pod: The pod as it is; conditions that do not change keep their time.
        container: What its process does.
        pod_ip: Its address, empty before it has one.
        host_ip: Address of its node, empty if unknown.
        now: Wall clock.
    """
    spec = dig(pod, "spec", "containers", 0)
    name, image = dig(spec, "name"), dig(spec, "image")
    reason = "" if container.ready else "ContainersNotReady"
    message = "" if container.ready else f"containers with unready status: [{name}]"
    wanted = [
        _condition("PodScheduled", holds=True),
        _condition("PodReadyToStartContainers", holds=bool(pod_ip)),
        _condition("Initialized", holds=True),
        _condition("ContainersReady", holds=container.ready, reason=reason, message=message),
        _condition("Ready", holds=container.ready, reason=reason, message=message),
    ]
    status: Json = {
        "phase": phase(pod, container),
        "startTime": dig(pod, "status", "startTime") or now,
        "conditions": _timed(wanted, items(pod, "status", "conditions"), now),
        "containerStatuses": [_container_status(name, image, container)],
    }
    if pod_ip:
        status |= {"podIP": pod_ip, "podIPs": [{"ip": pod_ip}]}
    if host_ip:
        status |= {"hostIP": host_ip, "hostIPs": [{"ip": host_ip}]}
    return status


def phase(pod: Json, container: Container) -> Phase:
    """Source: kubelet, getPhase: a pod whose container has run and may run again is Running."""
    state = container.state
    if isinstance(state, Terminated) and not restarts(pod, state.exit_code):
        return "Failed" if state.exit_code else "Succeeded"
    if isinstance(state, Waiting) and container.last is None:
        return "Pending"
    return "Running"


def restarts(pod: Json, exit_code: int) -> bool:
    """Whether a container that ended so is started again."""
    policy = dig(pod, "spec", "restartPolicy") or "Always"
    return policy == "Always" or (policy == "OnFailure" and exit_code != 0)


def _container_status(name: str, image: str, container: Container) -> Json:
    return {
        "name": name,
        "image": image,
        # A local image has no digest: it is whatever is installed.
        "imageID": image,
        "ready": container.ready,
        "started": container.started,
        "restartCount": container.restart_count,
        "state": container.state.encode(),
        "lastState": container.last.encode() if container.last else {},
        **({"containerID": container.container_id} if container.container_id else {}),
    }


def _condition(kind: str, *, holds: bool, reason: str = "", message: str = "") -> Json:
    condition: Json = {"type": kind, "status": "True" if holds else "False"}
    # An empty text removes what an earlier patch wrote; leaving the field out would keep it.
    return condition | {"reason": reason or None, "message": message or None}


def _timed(wanted: Sequence[Json], known: Sequence[Json], now: str) -> list[Json]:
    times = {
        (dig(each, "type"), dig(each, "status")): dig(each, "lastTransitionTime") for each in known
    }
    return [
        each | {"lastTransitionTime": times.get((each["type"], each["status"])) or now}
        for each in wanted
    ]


def _without_empty(**fields: str) -> dict[str, str]:
    return {name: value for name, value in fields.items() if value}
