"""What a container goes through, and the status that shows it."""

from typing import Any

import pytest

from daiku_local.agent import container_life, status
from daiku_local.agent.container_life import ContainerLife
from daiku_local.agent.objects import dig
from daiku_local.agent.status import Container, Running, Terminated, Waiting

EARLY, LATE = "2026-01-01T00:00:00Z", "2026-01-01T00:01:00Z"


def _pod(policy: str = "Always", **pod_status: Any) -> dict[str, Any]:
    container = {"name": "main", "image": "daiku.local/test:dev"}
    return {
        "spec": {"containers": [container], "restartPolicy": policy},
        "status": pod_status,
    }


def _running(now: float = 0.0) -> ContainerLife:
    life = ContainerLife()
    life.begin(now, EARLY, "process://1-2", 0)
    life.judge(started=True, ready=True)
    return life


def _ended(code: int = 1) -> Terminated:
    return Terminated(
        exit_code=code, started_at=EARLY, finished_at=LATE, container_id="process://1"
    )


def test_a_new_container_may_start_at_once() -> None:
    life = ContainerLife()

    assert life.container.state == Waiting(reason="ContainerCreating")
    assert life.start_at == 0
    assert life.next_restart_count == 0


def test_a_container_that_ended_is_neither_started_nor_ready() -> None:
    life = _running()

    life.end(10.0, LATE, 3, "", again=True)

    assert not life.container.started
    assert not life.container.ready
    assert dig(life.container.state.encode(), "waiting", "reason") == "CrashLoopBackOff"
    assert life.container.last is not None
    assert life.container.last.exit_code == 3
    assert (life.container.last.started_at, life.container.last.finished_at) == (EARLY, LATE)
    assert life.next_restart_count == 1


def test_the_wait_before_a_restart_doubles_up_to_half_a_minute() -> None:
    life = ContainerLife()
    waits: list[float] = []
    now = 0.0
    for _ in range(7):
        life.begin(now, EARLY, "process://1-2", life.next_restart_count)
        life.end(now, LATE, 1, "", again=True)
        waits.append(life.start_at - now)
        now = life.start_at

    assert waits == [1, 2, 4, 8, 16, 30, 30]
    assert life.next_restart_count == 7


def test_a_steady_run_ends_the_back_off() -> None:
    life = _running()
    for _ in range(4):
        life.end(0.0, LATE, 1, "", again=True)
    life.begin(100.0, EARLY, "process://3-4", 4)

    life.end(160.0, LATE, 1, "", again=True)

    assert life.start_at == 161.0


def test_a_refused_container_is_tried_again_and_is_news_once() -> None:
    life = ContainerLife()

    assert life.refuse(10.0, "CreateContainerConfigError", "no such secret")
    assert life.start_at == 10.0 + container_life.RETRY_SECONDS
    assert not life.refuse(12.0, "CreateContainerConfigError", "no such secret")


@pytest.mark.parametrize(
    ("policy", "code", "expected"),
    [
        ("Always", 0, True),
        ("Always", 1, True),
        ("OnFailure", 0, False),
        ("OnFailure", 1, True),
        ("Never", 1, False),
    ],
)
def test_the_restart_policy_decides_who_starts_again(
    policy: str, code: int, expected: bool
) -> None:
    assert status.restarts(_pod(policy), code) is expected


@pytest.mark.parametrize(
    ("policy", "container", "expected"),
    [
        pytest.param("Always", Container(state=Waiting(reason="x")), "Pending", id="not yet run"),
        pytest.param("Always", Container(state=Running(started_at=EARLY)), "Running", id="runs"),
        pytest.param(
            "Always",
            Container(state=Waiting(reason="CrashLoopBackOff"), last=_ended()),
            "Running",
            id="has run and will again",
        ),
        pytest.param("Never", Container(state=_ended(0)), "Succeeded", id="ended well"),
        pytest.param("Never", Container(state=_ended(1)), "Failed", id="ended badly"),
    ],
)
def test_the_phase_of_a_pod(policy: str, container: Container, expected: str) -> None:
    assert status.phase(_pod(policy), container) == expected


def test_a_ready_pods_status() -> None:
    wanted = status.pod_status(_pod(), _running().container, "127.10.1.1", "10.0.1.7", LATE)

    assert {each["type"]: each["status"] for each in wanted["conditions"]} == {
        "PodScheduled": "True",
        "PodReadyToStartContainers": "True",
        "Initialized": "True",
        "ContainersReady": "True",
        "Ready": "True",
    }
    assert wanted["podIP"] == "127.10.1.1"
    assert wanted["podIPs"] == [{"ip": "127.10.1.1"}]
    assert wanted["hostIP"] == "10.0.1.7"
    assert wanted["startTime"] == LATE
    shown = wanted["containerStatuses"][0]
    assert (shown["started"], shown["ready"], shown["restartCount"]) == (True, True, 0)
    assert shown["state"] == {"running": {"startedAt": EARLY}}
    assert shown["containerID"] == "process://1-2"


def test_a_condition_keeps_its_time_until_it_changes() -> None:
    known = [
        {"type": "Initialized", "status": "True", "lastTransitionTime": EARLY},
        {"type": "Ready", "status": "False", "lastTransitionTime": EARLY},
    ]

    wanted = status.pod_status(
        _pod(conditions=known, startTime=EARLY), _running().container, "127.10.1.1", "", LATE
    )

    times = {each["type"]: each["lastTransitionTime"] for each in wanted["conditions"]}
    assert times["Initialized"] == EARLY
    assert times["Ready"] == LATE
    assert wanted["startTime"] == EARLY


def test_a_pod_that_nobody_has_run_begins_anew() -> None:
    assert container_life.resume(_pod(), LATE) == ContainerLife()


def test_a_process_whose_end_nobody_saw_is_started_again_at_once() -> None:
    shown = {
        "containerID": "process://1-2",
        "restartCount": 4,
        "state": {"running": {"startedAt": EARLY}},
    }

    life = container_life.resume(_pod(containerStatuses=[shown], phase="Running"), LATE)

    assert life.start_at == 0
    assert life.next_restart_count == 5
    assert life.container.last is not None
    assert life.container.last.exit_code == 137


def test_a_pod_that_is_over_stays_over() -> None:
    terminated = {"exitCode": 0, "startedAt": EARLY, "finishedAt": LATE}
    shown = {"containerID": "process://1-2", "state": {"terminated": terminated}}
    pod = _pod("OnFailure", containerStatuses=[shown], phase="Succeeded")

    life = container_life.resume(pod, LATE)

    assert life.is_over
    assert status.phase(pod, life.container) == "Succeeded"


def test_a_container_that_never_ran_is_closed_as_such() -> None:
    life = ContainerLife()

    life.close(LATE)

    assert dig(life.container.state.encode(), "terminated", "message") == "it did not run"
