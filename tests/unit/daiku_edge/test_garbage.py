"""`runtime.garbage`: a program whose memory is not freed ends as any other does."""

import subprocess
import sys
from pathlib import Path

import pytest

PROGRAM = """
import atexit, pathlib, sys
from daiku.runtime import garbage

class Freed:
    def __del__(self):
        print("freed")

def answer():
    atexit.register(pathlib.Path(sys.argv[1]).unlink)
    garbage.keep(Freed())
    print("answer")
    {end}

garbage.run_once(answer)
"""


def run(end: str, file: Path, stdout: int = subprocess.PIPE) -> subprocess.CompletedProcess[str]:
    file.write_text("a key")
    return subprocess.run(
        [sys.executable, "-c", PROGRAM.format(end=end), str(file)],
        stdout=stdout,
        stderr=subprocess.PIPE,
        text=True,
        check=False,
    )


@pytest.mark.parametrize(
    ("end", "code", "said"),
    [
        ("", 0, ""),
        ("sys.exit()", 0, ""),
        ("sys.exit(3)", 3, ""),
        ("sys.exit('no such pod')", 1, "no such pod\n"),
    ],
)
def test_it_says_all_and_ends_with_its_own_code(
    end: str, code: int, said: str, tmp_path: Path
) -> None:
    ended = run(end, tmp_path / "key")

    assert (ended.stdout, ended.stderr, ended.returncode) == ("answer\n", said, code)


def test_an_error_nobody_expected_is_shown(tmp_path: Path) -> None:
    ended = run("1 / 0", tmp_path / "key")

    assert ended.returncode == 1
    assert ended.stderr.endswith("ZeroDivisionError: division by zero\n")


def test_what_is_to_be_done_at_the_end_is_done(tmp_path: Path) -> None:
    run("", tmp_path / "key")

    assert not (tmp_path / "key").exists()


def test_an_answer_that_cannot_be_written_is_no_success(tmp_path: Path) -> None:
    with Path("/dev/full").open("w") as full:
        ended = run("", tmp_path / "key", stdout=full.fileno())

    assert ended.returncode == 1
