"""Whatever is interrupted while a world runs for it ends the world too: no process is left behind."""

import fcntl
import os
import pty
import select
import signal
import subprocess
import sys
import termios
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.running import DAIKU

from daiku_local import world

pytestmark = pytest.mark.world

ROOT = Path(__file__).resolve().parents[2]
SECONDS_MAX = 120.0
BENCH = """
from tests.performance import worlds
with worlds.standing():
    raise AssertionError("it was to be interrupted before")
"""


def test_a_second_interrupt_does_not_keep_up_from_stopping_what_it_started(tmp_path: Path) -> None:
    folder = tmp_path / "world"
    command = _start([DAIKU, "local", "up"], folder)
    _until(lambda: b"kube-apiserver" in _text(folder / world.FILE_NAME))
    started = _ours(folder)

    for _ in range(5):
        command.send_signal(signal.SIGINT)
        time.sleep(0.02)
    _, said = command.communicate(timeout=SECONDS_MAX)

    assert started
    assert _ours(folder) == {}
    assert "is being stopped" in said


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_the_world_of_a_benchmark_ends_with_it(tmp_path: Path, number: int) -> None:
    command = _start([sys.executable, "-c", BENCH], tmp_path, TMPDIR=str(tmp_path))
    _until(lambda: any("kube-apiserver" in line for line in _ours(tmp_path).values()))

    command.send_signal(number)
    command.communicate(timeout=SECONDS_MAX)

    assert command.returncode != 0
    assert _ours(tmp_path) == {}


def test_a_demo_that_is_interrupted_while_the_engine_works_leaves_nothing(tmp_path: Path) -> None:
    folder = tmp_path / "world"
    command = _start([DAIKU, "local", "demo"], folder)
    _until(lambda: any("pulumi up" in line for line in _ours(folder).values()))
    _until(lambda: any("daiku_local.plugins.aws" in line for line in _ours(folder).values()))
    time.sleep(3)

    command.send_signal(signal.SIGINT)
    said, _ = command.communicate(timeout=SECONDS_MAX)

    assert command.returncode == 130, said
    assert "Interrupted: stopping what runs" in said
    assert _ours(folder) == {}
    assert not folder.exists()


@pytest.mark.parametrize(
    ("command", "at_work"),
    [
        ("up", "kube-apiserver"),
        ("demo", "kube-apiserver"),
        ("demo", "daiku_local.plugins.aws"),
    ],
)
def test_a_terminal_that_closes_takes_the_world_with_it(
    tmp_path: Path, command: str, at_work: str
) -> None:
    folder = tmp_path / "world"
    terminal = _Terminal(["local", command], folder, is_controlling=True)
    terminal.until(lambda: any(at_work in line for line in _ours(folder).values()))

    terminal.close()
    terminal.process.wait(SECONDS_MAX)

    assert terminal.process.returncode != 0
    assert _ours(folder) == {}
    assert not (folder / world.FILE_NAME).exists()


def test_a_demo_that_can_no_longer_write_takes_its_world_with_it(tmp_path: Path) -> None:
    """Without a signal, as where somebody ignores SIGHUP for it: only writes fail."""
    folder = tmp_path / "world"
    terminal = _Terminal(["local", "demo"], folder, is_controlling=False)
    terminal.until(lambda: any("kube-apiserver" in line for line in _ours(folder).values()))

    terminal.close()
    terminal.process.wait(SECONDS_MAX)

    assert terminal.process.returncode != 0
    assert _ours(folder) == {}
    assert not folder.exists()


class _Terminal:
    """A terminal of its own, and one command on it."""

    def __init__(self, arguments: list[str], folder: Path, *, is_controlling: bool) -> None:
        self._ours, theirs = pty.openpty()
        self.process = subprocess.Popen(
            [DAIKU, *arguments],
            cwd=ROOT,
            env={**os.environ, "DAIKU_WORLD": str(folder), "TERM": "xterm"},
            stdin=theirs,
            stdout=theirs,
            stderr=theirs,
            start_new_session=True,
            preexec_fn=(lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0)) if is_controlling else None,  # noqa: PLW1509
        )
        os.close(theirs)

    def until(self, is_so: Callable[[], bool]) -> None:
        """Read what is written, which would block the command otherwise, until `is_so`."""

        def read_and_so() -> bool:
            while select.select([self._ours], [], [], 0)[0]:
                os.read(self._ours, 65536)
            return is_so()

        _until(read_and_so)

    def close(self) -> None:
        """Have it hung up: whoever it controls is sent SIGHUP, and every write to it fails."""
        os.close(self._ours)


def _start(command: list[str], folder: Path, **environ: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        command,
        cwd=ROOT,
        env={**os.environ, "DAIKU_WORLD": str(folder), "NO_COLOR": "1", **environ},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        # Of a shell's background job SIGINT is ignored, and so it would be of its children.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),  # noqa: PLW1509
    )


def _ours(folder: Path) -> dict[int, str]:
    """Living processes that have the folder in their environment or arguments, with their command lines."""
    found: dict[int, str] = {}
    for place in Path("/proc").iterdir():
        if not place.name.isdigit() or int(place.name) == os.getpid():
            continue
        line = _text(place / "cmdline")
        if str(folder).encode() in line + _text(place / "environ"):
            found[int(place.name)] = line.replace(b"\0", b" ").decode()
    return found


def _text(file: Path) -> bytes:
    try:
        return file.read_bytes()
    except OSError:
        return b""


def _until(is_so: Callable[[], bool]) -> None:
    deadline = time.monotonic() + SECONDS_MAX
    while not is_so():
        assert time.monotonic() < deadline
        time.sleep(0.1)
