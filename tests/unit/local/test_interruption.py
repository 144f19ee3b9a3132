"""`daiku_local.interruption`: what is interrupted ends in order, with all that it started, and only once."""

import errno
import os
import pty
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from daiku_local import interruption

CHILD = """
import os, signal, subprocess, sys, time
def end(number, frame):
    time.sleep(1)
    open(sys.argv[1] + "/ended", "w").close()
    sys.exit(3)
signal.signal(signal.SIGINT, end)
left = subprocess.Popen(["sleep", "300"], process_group=0)
open(sys.argv[1] + "/left", "w").write(str(left.pid))
time.sleep(300)
"""
"""Takes a second to end in order, and leaves a process behind that has a group of its own, as plugins have."""
CALLER = """
import sys
from daiku_local import interruption
interruption.end_in_order()
try:
    interruption.run([sys.executable, "-c", sys.argv[2], sys.argv[1]])
except BaseException as ended:
    sys.exit(f"ended by {type(ended).__name__}")
"""
GO = """#!/bin/sh
sleep 300 &
echo $! > left.part && mv left.part left
wait
"""
BUILD = """
import pathlib, sys
from daiku_local.toolchain import go
here = pathlib.Path(sys.argv[1])
found = go.Go(root=here, version="0", environment={"PATH": "/usr/bin:/bin"})
go.run(found, ["build"], tool="x", folder=here, report=print)
"""
"""As it is run by all that builds tools."""


@pytest.mark.parametrize(
    ("number", "name"), [(signal.SIGINT, "KeyboardInterrupt"), (signal.SIGTERM, "SystemExit")]
)
def test_a_command_ends_in_order_before_its_caller_does_and_leaves_nothing(
    tmp_path: Path, number: int, name: str
) -> None:
    caller = _start(CALLER, str(tmp_path), CHILD)
    left = int(_text(tmp_path / "left"))

    caller.send_signal(number)
    _, said = caller.communicate(timeout=30)

    assert f"ended by {name}" in said
    assert (tmp_path / "ended").exists()
    assert _has_ended(left)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_build_that_is_interrupted_takes_its_compilers_with_it(
    tmp_path: Path, number: int
) -> None:
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "go").write_text(GO)
    (tmp_path / "bin" / "go").chmod(0o700)
    builder = _start(
        f"from daiku_local import interruption\ninterruption.end_in_order(){BUILD}", str(tmp_path)
    )
    left = int(_text(tmp_path / "left"))

    builder.send_signal(number)
    builder.communicate(timeout=30)

    assert _has_ended(left)


def test_an_end_is_not_interrupted_again_and_says_so() -> None:
    said: list[str] = []
    # Of a shell's background job SIGINT is ignored.
    before = signal.signal(signal.SIGINT, signal.default_int_handler)

    try:
        with interruption.shielded(said.append):
            os.kill(os.getpid(), signal.SIGINT)
            os.kill(os.getpid(), signal.SIGTERM)
        after = signal.getsignal(signal.SIGINT)
    finally:
        signal.signal(signal.SIGINT, before)

    assert len(said) == 2
    assert after is signal.default_int_handler


def test_an_end_is_not_broken_off_where_nothing_can_be_written_any_more() -> None:
    def dead(_line: str) -> None:
        raise OSError(errno.EIO, "Input/output error")

    has_ended = False

    with interruption.shielded(dead):
        os.kill(os.getpid(), signal.SIGHUP)
        has_ended = True

    assert has_ended


def test_progress_does_not_fail_where_the_terminal_has_closed() -> None:
    ours, theirs = pty.openpty()
    os.close(ours)
    code = "from daiku_local import saying\nsaying.progress('a')\nsaying.error('b')\nprint('done')"

    ended = subprocess.run(
        [sys.executable, "-c", code], stderr=theirs, stdout=subprocess.PIPE, check=False
    )
    os.close(theirs)

    assert ended.stdout == b"done\n"


def test_how_a_command_ended_and_what_it_wrote_is_given() -> None:
    done = interruption.run(
        [sys.executable, "-c", "print('so'); raise SystemExit(4)"], output=subprocess.PIPE
    )

    assert (done.returncode, done.stdout) == (4, "so\n")


def _start(code: str, *arguments: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", code, *arguments],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        # Of a shell's background job SIGINT is ignored, and so it would be of its children.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),  # noqa: PLW1509
    )


def _text(file: Path) -> str:
    _until(lambda: file.exists() and file.read_text().strip() != "")
    return file.read_text()


def _has_ended(pid: int) -> bool:
    def ended() -> bool:
        try:
            return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
        except (FileNotFoundError, ProcessLookupError):
            return True

    _until(ended)
    return True


def _until(is_so: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 20
    while not is_so():
        assert time.monotonic() < deadline
        time.sleep(0.05)
