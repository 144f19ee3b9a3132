"""What the one container of a pod goes through: created, running, ended, running again.

A kubelet's rules without its machinery. Nothing here knows a process or a clock: monotonic seconds
(`now`) and wall clock texts (`at`) are arguments.
"""

from dataclasses import dataclass, field, replace

from daiku_local.agent import status
from daiku_local.agent.objects import Json, dig
from daiku_local.agent.status import Container, Running, Terminated, Waiting

BACK_OFF_SECONDS_MAX = 30.0
"""Longest wait before a restart; the first is 1 s, each next one is twice as long."""
STEADY_SECONDS = 60.0
"""A run of this length ends the back-off."""
RETRY_SECONDS = 2.0
"""Between two attempts to create a container that could not be created."""
LOST_EXIT_CODE = 137
"""What is reported of a process whose end nobody saw, as Kubernetes does of lost containers."""


def _created() -> Container:
    return Container(state=Waiting(reason="ContainerCreating"))


@dataclass(slots=True, kw_only=True)
class ContainerLife:
    """The state of a container, and when it may be started."""

    container: Container = field(default_factory=_created)
    """What its status shows."""
    start_at: float = 0.0
    """Monotonic time before which it is not started."""
    run_since: float = 0.0
    """Monotonic time at which its current run began."""
    back_off: int = 0
    """Restarts without a steady run between them."""

    @property
    def is_over(self) -> bool:
        """Whether it has ended for good."""
        return isinstance(self.container.state, Terminated)

    @property
    def next_restart_count(self) -> int:
        """Number of the run that would begin now."""
        return self.container.restart_count + (1 if self.container.last else 0)

    def refuse(self, now: float, reason: str, message: str) -> bool:
        """Note why it cannot be created now; tell whether that is news."""
        state = Waiting(reason=reason, message=message)
        is_news = self.container.state != state
        self.container = replace(self.container, state=state, started=False, ready=False)
        self.start_at = now + RETRY_SECONDS
        return is_news

    def begin(self, now: float, at: str, container_id: str, restart_count: int) -> None:
        """Note that a run has begun."""
        self.run_since = now
        self.container = replace(
            self.container,
            state=Running(started_at=at),
            container_id=container_id,
            restart_count=restart_count,
        )

    def judge(self, *, started: bool, ready: bool) -> None:
        """Take over what the probes say."""
        self.container = replace(self.container, started=started, ready=ready)

    def end(self, now: float, at: str, exit_code: int, message: str, *, again: bool) -> None:
        """Note that the run has ended, and when the next may begin if there is one."""
        state = self.container.state
        ended = Terminated(
            exit_code=exit_code,
            started_at=state.started_at if isinstance(state, Running) else at,
            finished_at=at,
            container_id=self.container.container_id,
            message=message,
        )
        self.container = replace(self.container, state=ended, started=False, ready=False)
        if not again:
            return
        if now - self.run_since >= STEADY_SECONDS:
            self.back_off = 0
        seconds = min(2.0**self.back_off, BACK_OFF_SECONDS_MAX)
        self.back_off += 1
        self.start_at = now + seconds
        waiting = Waiting(
            reason="CrashLoopBackOff", message=f"starts again {seconds:.0f} s after its end"
        )
        self.container = replace(self.container, state=waiting, last=ended)

    def close(self, at: str) -> None:
        """Note that it will not be started any more."""
        if not isinstance(self.container.state, Waiting):
            return
        never_ran = Terminated(
            exit_code=0, started_at=at, finished_at=at, container_id="", message="it did not run"
        )
        self.container = replace(self.container, state=self.container.last or never_ran)


def resume(pod: Json, at: str) -> ContainerLife:
    """Begin with a pod that an earlier agent may have run, and whose process is not there."""
    shown = dig(pod, "status", "containerStatuses", 0)
    restart_count = dig(shown, "restartCount") or 0
    if not dig(shown, "containerID"):
        return ContainerLife()
    terminated = dig(shown, "state", "terminated") or dig(shown, "lastState", "terminated")
    ended = Terminated(
        exit_code=LOST_EXIT_CODE if terminated is None else dig(terminated, "exitCode") or 0,
        started_at=dig(shown, "state", "running", "startedAt")
        or dig(terminated, "startedAt")
        or at,
        finished_at=dig(terminated, "finishedAt") or at,
        container_id=dig(shown, "containerID"),
    )
    is_final = dig(pod, "status", "phase") in {"Succeeded", "Failed"}
    if is_final or not status.restarts(pod, ended.exit_code):
        return ContainerLife(container=Container(state=ended, restart_count=restart_count))
    waiting = Waiting(reason="CrashLoopBackOff", message="nobody saw it end")
    container = Container(state=waiting, last=ended, restart_count=restart_count)
    return ContainerLife(container=container)
