"""What the pages promise: links lead somewhere, commands and their options exist, dashboards and pictures are there."""

import re
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from typer.main import get_command

from daiku.cli.main import app
from daiku_local.cli import app as local

ROOT = Path(__file__).resolve().parents[2]
PAGES = sorted(
    path.relative_to(ROOT)
    for path in (*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md"), *ROOT.glob("examples/**/*.md"))
)
LINK = re.compile(r"\]\(([^)#\s]+)(?:#[^)]*)?\)")
BLOCK = re.compile(r"```sh\n(.*?)```", re.DOTALL)
INLINE = re.compile(r"`((?:\.venv/bin/)?daiku [^`]+)`")
ENDS = {"|", "&&", ">", ";", "--", "|&"}
"""Words after which a command is over, or another program's."""
SHORT = re.compile(r"[|…]|\.\.\.")
"""What a command in prose has when it only hints at its arguments."""


def _commands(text: str) -> Iterator[str]:
    """Every call of `daiku` on a page."""
    lines = [
        line for block in BLOCK.findall(text) for line in block.replace("\\\n", " ").split("\n")
    ]
    for line in lines:
        for part in re.split(r"&&|;", line.split(" #")[0]):
            if re.match(r"(\.venv/bin/)?daiku ", part.strip()):
                yield part.strip()
    yield from (found for found in INLINE.findall(text) if not SHORT.search(found))


def _words(command: str) -> list[str]:
    words: list[str] = []
    for word in shlex.split(command)[1:]:
        if word in ENDS:
            break
        words.append(word)
    return words


def _found(words: list[str]) -> tuple[Any, list[str]]:
    """The command that words name, and the rest of them."""
    root: Any = get_command(local if words[0] == "local" else app)
    rest = words[1:] if words[0] == "local" else words
    while hasattr(root, "commands") and rest and not rest[0].startswith("-"):
        if rest[0] not in root.commands:
            raise AssertionError(f"there is no command {rest[0]!r}")
        root, rest = root.commands[rest[0]], rest[1:]
    return root, rest


@pytest.mark.parametrize("page", PAGES, ids=str)
def test_every_link_leads_to_a_file(page: Path) -> None:
    targets = [each for each in LINK.findall((ROOT / page).read_text()) if "://" not in each]

    missing = [each for each in targets if not (ROOT / page.parent / each).exists()]
    assert missing == []


@pytest.mark.parametrize("page", PAGES, ids=str)
def test_every_command_and_option_exists(page: Path) -> None:
    for command in _commands((ROOT / page).read_text()):
        words = _words(command)
        if not words or words[0].startswith("-") or words[0] in {"run", "instance-types"}:
            continue
        found, rest = _found(words)
        known = {name for each in found.params for name in (*each.opts, *each.secondary_opts)}
        used = {word.split("=")[0] for word in rest if re.match(r"--?[a-z]", word)}
        assert used <= known | {"--help"}, command
