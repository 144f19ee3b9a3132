"""Processes of containers, and the records by which they are found again."""

import os
import sys
import time
from pathlib import Path

import pytest

from daiku_local import processes, world
from daiku_local.agent import child, records
from daiku_local.agent.child import Child
from daiku_local.agent.pods import Key
from daiku_local.agent.records import Record
from daiku_local.processes import Command

POLITE = "import time; time.sleep(60)"
STUBBORN = (
    "import signal,time; signal.signal(15, signal.SIG_IGN); print('up', flush=True); time.sleep(60)"
)


def _start(folder: Path, script: str, *, record: bool = True) -> Child:
    command = Command(
        name="pod default/x",
        arguments=(sys.executable, "-c", script),
        environment={"GREETING": "hello"},
        log=folder / "logs" / "x.log",
    )

    def refuse(_: world.Process) -> None:
        raise OSError("the disk is full")

    return child.start(command, folder, (lambda _: None) if record else refuse)


def _exit_code(run: Child, seconds: float = 10) -> int:
    deadline = time.monotonic() + seconds
    while (code := run.poll()) is None:
        assert time.monotonic() < deadline, "it still runs"
        time.sleep(0.02)
    return code


def test_a_process_has_only_its_own_environment_and_folder(tmp_path: Path) -> None:
    script = "import os; print(os.environ['GREETING'], os.getcwd(), 'USER' in os.environ)"

    run = _start(tmp_path, script)

    assert _exit_code(run) == 0
    assert (tmp_path / "logs" / "x.log").read_text() == f"hello {tmp_path} False\n"
    assert (tmp_path / "logs" / "x.log").stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize(
    ("script", "code"),
    [("raise SystemExit(3)", 3), ("import os; os.kill(os.getpid(), 9)", 137)],
)
def test_the_exit_code_is_a_containers(tmp_path: Path, script: str, code: int) -> None:
    assert _exit_code(_start(tmp_path, script)) == code


def test_a_process_that_is_asked_to_end_does(tmp_path: Path) -> None:
    run = _start(tmp_path, POLITE)

    run.stop(time.monotonic(), 30)

    assert _exit_code(run) == 143


def test_a_process_that_will_not_end_is_forced_after_its_grace(tmp_path: Path) -> None:
    run = _start(tmp_path, STUBBORN)
    log = tmp_path / "logs" / "x.log"
    while not log.read_text():
        time.sleep(0.02)

    run.stop(100.0, 5)
    time.sleep(0.2)
    assert run.poll() is None
    run.stop(105.0, 0)

    assert _exit_code(run) == 137


def test_a_later_order_can_only_shorten_the_grace(tmp_path: Path) -> None:
    run = _start(tmp_path, POLITE)

    run.stop(100.0, 30)
    run.stop(100.0, 2)
    run.stop(100.0, 60)

    assert run.kill_at == 102.0
    _exit_code(run)


def test_what_a_process_leaves_behind_ends_with_it(tmp_path: Path) -> None:
    script = "import subprocess; print(subprocess.Popen(['sleep', '60']).pid, flush=True)"
    run = _start(tmp_path, script)

    _exit_code(run)

    left = int((tmp_path / "logs" / "x.log").read_text())
    deadline = time.monotonic() + 5
    while processes.start_ticks(left) is not None and time.monotonic() < deadline:
        time.sleep(0.02)
    assert processes.start_ticks(left) is None


def test_nothing_runs_that_could_not_be_recorded(tmp_path: Path) -> None:
    with pytest.raises(OSError, match="the disk is full"):
        _start(tmp_path, "print('ran')", record=False)

    time.sleep(0.2)
    assert (tmp_path / "logs" / "x.log").read_text() == ""


def test_a_process_that_somebody_else_started_is_watched_and_stopped(tmp_path: Path) -> None:
    run = _start(tmp_path, POLITE)
    adopted = Child(run.process)
    assert adopted.poll() is None

    adopted.stop(time.monotonic(), 30)

    _exit_code(run)
    assert adopted.poll() == 137


def test_a_recycled_pid_is_not_the_process_that_was_recorded() -> None:
    other = world.Process(name="x", pid=os.getpid(), started_ticks=1, log="")
    adopted = Child(other)

    adopted.stop(time.monotonic(), 0)

    assert adopted.poll() == 137, "this test still runs, so nobody was killed"


def test_a_record_can_be_read_back_and_swept(tmp_path: Path) -> None:
    record = Record(
        process=world.Process(name="pod default/x", pid=7, started_ticks=8, log="/x.log"),
        pod=Key(namespace="default", name="x", uid="u-1"),
        ip="127.10.1.1",
        restart_count=2,
        started_at="2026-01-01T00:00:00Z",
    )
    records.save(tmp_path, record)
    (tmp_path / "u-2.json").write_text("{}")
    (tmp_path / "u-3").mkdir()

    assert records.read_all(tmp_path) == [record]
    assert (tmp_path / "u-1.json").stat().st_mode & 0o777 == 0o600
    records.sweep(tmp_path, {"u-1"})
    assert [path.name for path in tmp_path.iterdir()] == ["u-1.json"]
    records.remove(tmp_path, "u-1")
    assert records.read_all(tmp_path) == []
