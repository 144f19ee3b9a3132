"""Sessions with the command line, each next to what it answers: `name.txt` and `name.out`.

The answers are reviewed as text. After a change that is meant to alter them: GOLDEN=write, and read the difference.
"""

import os
import shlex
from pathlib import Path

import pytest
from typer.testing import CliRunner

from daiku.cli.main import app

HERE = Path(__file__).parent
SESSIONS = sorted(HERE.glob("*.txt"))


@pytest.mark.parametrize("session", SESSIONS, ids=lambda path: path.stem)
def test_a_session_answers_what_is_written_down(
    session: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(HERE)
    expected = session.with_suffix(".out")

    answered = "".join(_answer(line) for line in session.read_text().splitlines())

    if os.environ.get("GOLDEN") == "write":
        expected.write_text(answered)
    assert answered == expected.read_text()


def _answer(line: str) -> str:
    """A line of a session with what it answers; comments and empty lines answer nothing."""
    if not line.startswith("$ daiku "):
        return f"{line}\n"
    words = shlex.split(line)[2:]
    given = Path(words[-1]).read_bytes() if "<" in words else b""
    arguments = words[: words.index("<")] if "<" in words else words
    # A clock that stands still: the time that it took is the only thing that is never the same twice.
    result = CliRunner().invoke(app, arguments, input=given, obj=lambda: 0.0)
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    errors = "".join(f"! {each}\n" for each in result.stderr.splitlines())
    return f"{line}\n{result.stdout}{errors}exit code {result.exit_code}\n\n"
