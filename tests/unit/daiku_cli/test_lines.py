import os
import subprocess
import sys
from pathlib import Path

import pytest
from tests.running import DAIKU

from daiku.cli import lines

SENTENCE = "node ip-10-0-1-7.eu-west-1.compute.internal waits for pods that cannot be anywhere else"


def test_a_sentence_is_one_line_where_a_program_reads_it(
    capsys: pytest.CaptureFixture[str],
) -> None:
    lines.say(SENTENCE, first="- ", rest="  ")

    assert capsys.readouterr().out == f"- {SENTENCE}\n"


def test_a_sentence_is_broken_between_words_on_a_terminal(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("COLUMNS", "40")
    monkeypatch.setattr("sys.stdout.isatty", lambda: True)

    folded = lines.folded(SENTENCE, first="- ", rest="  ").splitlines()

    assert folded[0] == "- node"
    assert folded[1] == "  ip-10-0-1-7.eu-west-1.compute.internal"
    assert all(line.startswith("  ") and len(line) <= 40 for line in folded[2:])


@pytest.mark.parametrize("encoding", ["ascii", "latin-1", "utf-8"])
def test_what_a_locale_cannot_write_is_written_plainly(encoding: str) -> None:
    code = "from daiku.cli import lines; lines.allow_any_locale(); print('2 → 3 大工')"

    done = subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, "PYTHONIOENCODING": encoding},
        capture_output=True,
        check=True,
    )

    said = {"ascii": "2 > 3 ??", "latin-1": "2 > 3 ??", "utf-8": "2 → 3 大工"}
    assert done.stdout.decode(encoding) == f"{said[encoding]}\n"


@pytest.mark.parametrize("command", [["--help"], ["plan", "--from", "examples/scheduling"]])
def test_an_answer_that_finds_no_room_on_the_disk_is_an_error_in_one_line(
    command: list[str],
) -> None:
    """`plan` ends without freeing anything, `--help` as programs do."""
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(
            [DAIKU, *command], stdout=full, stderr=subprocess.PIPE, text=True, check=False
        )

    assert done.returncode == 1
    assert done.stderr.splitlines()[-1] == (
        "error: the answer could not be written to its end: No space left on device"
    )
    assert "Traceback" not in done.stderr
