"""Real processes, started and stopped: nothing here is simulated."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Generator
from pathlib import Path

import pytest

from daiku_local import processes
from daiku_local.world import Process

Starter = Callable[[str], Process]


class RecordRefusedError(Exception):
    """The record of a process could not be written."""


@pytest.fixture
def start(tmp_path: Path) -> Generator[Starter]:
    """Start Python programs, and stop whatever is left of them."""
    started: list[Process] = []

    def run(program: str) -> Process:
        return processes.start(_command(tmp_path, program), started.append)

    yield run
    processes.stop_together(started, 0)


def test_a_started_process_is_alive_and_in_a_group_of_its_own(start: Starter) -> None:
    process = start("import time; time.sleep(60)")

    assert processes.is_alive(process)
    assert os.getpgid(process.pid) == process.pid
    assert os.getsid(process.pid) == process.pid


def test_output_goes_to_a_log_that_only_the_owner_reads(start: Starter) -> None:
    process = start("import sys; print('to stdout'); print('to stderr', file=sys.stderr)")

    _wait(lambda: not processes.is_alive(process))
    log = Path(process.log)
    assert sorted(log.read_text().splitlines()) == ["to stderr", "to stdout"]
    assert log.stat().st_mode & 0o777 == 0o600


def test_no_file_of_the_starter_is_open_in_the_process(start: Starter, tmp_path: Path) -> None:
    with (tmp_path / "held").open("w") as held:
        os.set_inheritable(held.fileno(), True)
        process = start(
            "import os; print(*(os.readlink(f'/proc/self/fd/{n}') for n in (0, 1, 2)));"
            "print(len(os.listdir('/proc/self/fd')))"
        )
        _wait(lambda: not processes.is_alive(process))

    targets, count = Path(process.log).read_text().splitlines()
    assert targets == f"/dev/null {process.log} {process.log}"
    assert int(count) == 4, "standard input, output, error, and the listing itself"


def test_a_program_whose_record_cannot_be_written_never_runs(tmp_path: Path) -> None:
    proof = tmp_path / "it ran"
    recorded: list[Process] = []

    def refuse(process: Process) -> None:
        recorded.append(process)
        raise RecordRefusedError

    with pytest.raises(RecordRefusedError):
        processes.start(_command(tmp_path, f"open({str(proof)!r}, 'w')"), refuse)

    _wait(lambda: not processes.is_alive(recorded[0]))
    assert not proof.exists()


def test_the_record_names_the_process_that_runs_later(start: Starter) -> None:
    process = start("import os; print(os.getpid())")

    _wait(lambda: not processes.is_alive(process))
    assert int(Path(process.log).read_text()) == process.pid


def test_a_recycled_pid_is_not_the_process() -> None:
    ticks = processes.start_ticks(os.getpid())
    assert ticks is not None
    earlier = Process(name="x", pid=os.getpid(), started_ticks=ticks - 1, log="")

    assert not processes.is_alive(earlier)
    assert not processes.stop(earlier, 0), "or this test would have ended itself"


def test_a_dead_process_that_nobody_collected_is_dead(tmp_path: Path) -> None:
    child = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    ticks = processes.start_ticks(child.pid)
    assert ticks is not None
    process = Process(name="zombie", pid=child.pid, started_ticks=ticks, log=str(tmp_path))

    child.send_signal(signal.SIGKILL)

    _wait(lambda: not processes.is_alive(process))
    child.communicate()


def test_stop_ends_a_process_that_listens(start: Starter) -> None:
    process = start("import time; time.sleep(60)")

    assert processes.stop(process, 5)
    assert not processes.is_alive(process)


def test_stop_forces_a_process_that_does_not_listen(start: Starter) -> None:
    process = start(
        "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN);"
        "print('deaf', flush=True); time.sleep(60)"
    )
    _wait(lambda: Path(process.log).read_text() == "deaf\n")

    assert processes.stop(process, 0.2)
    assert not processes.is_alive(process)


def test_stop_ends_the_children_in_the_group_too(start: Starter) -> None:
    process = start(
        "import subprocess, sys, time;"
        "child = subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(60)']);"
        "print(child.pid, flush=True); time.sleep(60)"
    )
    _wait(lambda: Path(process.log).read_text().endswith("\n"))
    child = int(Path(process.log).read_text())

    processes.stop(process, 5)

    _wait(lambda: processes.start_ticks(child) is None)


def test_stopping_a_dead_process_says_that_it_was_dead(start: Starter) -> None:
    process = start("pass")
    _wait(lambda: not processes.is_alive(process))

    assert not processes.stop(process, 5)


def test_readiness_is_what_the_probe_says_while_the_process_lives(start: Starter) -> None:
    process = start("import time; time.sleep(60)")

    assert processes.is_ready(process, lambda: True, 10)
    assert not processes.is_ready(process, lambda: False, 10)


def test_an_early_death_is_told_with_the_last_lines_of_the_log(start: Starter) -> None:
    process = start("raise SystemExit('the disk is on fire')")
    _wait(lambda: not processes.is_alive(process))

    with pytest.raises(processes.PartFailedError, match="ended before it was ready") as caught:
        processes.is_ready(process, lambda: True, 10)

    assert caught.value.lines == ["the disk is on fire"]
    assert not caught.value.port_was_taken


def test_a_part_that_never_gets_ready_fails_when_the_time_is_over(start: Starter) -> None:
    process = start("import time; time.sleep(60)")

    with pytest.raises(processes.PartFailedError, match="not ready in time"):
        processes.is_ready(process, lambda: False, -1)


@pytest.mark.parametrize(
    "line",
    [
        pytest.param("listen tcp 127.0.0.1:80: bind: address already in use", id="as Go says it"),
        pytest.param("OSError: [Errno 98] Address already in use", id="as Python says it"),
    ],
)
def test_a_taken_port_is_recognised_in_the_log(start: Starter, line: str) -> None:
    process = start(f"raise SystemExit({line!r})")
    _wait(lambda: not processes.is_alive(process))

    assert processes.PartFailedError(process, "ended").port_was_taken


def test_a_missing_program_is_told_in_the_log(tmp_path: Path) -> None:
    command = processes.Command(
        name="gone", arguments=["/nowhere/gone"], environment={}, log=tmp_path / "gone.log"
    )
    process = processes.start(command, lambda _: None)

    _wait(lambda: not processes.is_alive(process))
    assert "/nowhere/gone" in "\n".join(processes.tail(tmp_path / "gone.log"))


def test_tail_gives_the_last_lines_and_none_of_a_missing_log(tmp_path: Path) -> None:
    log = tmp_path / "log"
    log.write_text("\n".join(f"line {n}" for n in range(9999)) + "\n\n")

    assert processes.tail(log, lines=2) == ["line 9997", "line 9998"]
    assert processes.tail(tmp_path / "missing") == []


def _command(folder: Path, program: str) -> processes.Command:
    return processes.Command(
        name="program",
        arguments=[sys.executable, "-c", program],
        environment={"PATH": os.defpath},
        log=folder / "logs" / "program.log",
    )


def _wait(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 10
    while not condition():
        assert time.monotonic() < deadline, "it did not happen within 10 s"
        time.sleep(0.02)
