"""`daiku local` when there is no world: every command says so, none makes one."""

import os
import subprocess
import sys
from pathlib import Path

import pytest


@pytest.mark.parametrize("command", [["status"], ["exec", "--", "true"]])
def test_a_command_that_needs_a_world_says_how_to_get_one(
    tmp_path: Path, command: list[str]
) -> None:
    ended = _local(tmp_path / "world", *command)

    assert ended.returncode == 1
    assert "daiku local up" in ended.stderr
    assert "Traceback" not in ended.stderr
    assert not (tmp_path / "world").exists()


def test_down_without_a_world_is_no_error(tmp_path: Path) -> None:
    ended = _local(tmp_path / "world", "down")

    assert ended.returncode == 0
    assert "nothing to do" in ended.stderr


def test_down_refuses_somebody_elses_folder(tmp_path: Path) -> None:
    (tmp_path / "thesis.tex").write_text("years of work")

    ended = _local(tmp_path, "down")

    assert ended.returncode == 1
    assert "DAIKU_WORLD" in ended.stderr
    assert (tmp_path / "thesis.tex").exists()


def _local(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "daiku_local.cli", *arguments],
        env={**os.environ, "DAIKU_WORLD": str(folder)},
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
