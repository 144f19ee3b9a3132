"""`cli.helping`: what a person reads of a command fits the terminal, and can be copied from there."""

import shlex

import pytest
import typer

from daiku.cli import helping
from daiku.cli.main import app
from daiku.runtime import options

HELP = """Do this, or that, to every
node.

More.

\b
Examples:
  daiku do --this              # the short one
  daiku do --this --and-that --to every-node | less

End."""


def test_the_list_of_commands_has_the_whole_first_paragraph() -> None:
    assert helping.short(HELP) == "Do this, or that, to every node."


def test_no_command_of_the_list_is_cut() -> None:
    group = typer.main.get_command(app)
    listed = getattr(group, "commands", {})

    assert listed
    assert not [
        name for name, each in listed.items() if each.get_short_help_str(10).endswith("...")
    ]


def test_where_there_is_room_nothing_changes() -> None:
    assert helping.fitted(HELP, 80) == HELP
    assert helping.fitted(HELP, None) == HELP


def test_remarks_move_above_and_long_commands_are_continued() -> None:
    assert helping.fitted(HELP, 40).splitlines()[6:12] == [
        "Examples:",
        "  # the short one",
        "  daiku do --this",
        "  daiku do --this --and-that --to \\",
        "      every-node | less",
        "",
    ]


@pytest.mark.parametrize("columns", [40, 60, 80])
def test_a_broken_example_is_the_same_command(columns: int) -> None:
    fitted = helping.fitted(HELP, columns).replace("\\\n", " ")

    assert shlex.split("daiku do --this --and-that --to every-node") == next(
        shlex.split(each)[:6] for each in fitted.splitlines() if "--and-that" in each
    )


@pytest.mark.parametrize("columns", [60, 80, 100, 200])
def test_options_of_the_controller_fit(columns: int) -> None:
    described = options.describe(columns)

    assert max(len(each) for each in described.splitlines()) <= columns - 2
    assert " ".join(described.split()) == " ".join(options.describe().split())
