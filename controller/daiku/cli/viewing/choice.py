"""What the person at the view has chosen to see, and what each key changes of that."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from daiku.cli.viewing import rows

KEYS: Final = {
    "q": "quit",
    "\x1b": "back",
    "\x03": "quit",
    "\n": "open",
    "\r": "open",
    "?": "help",
    "/": "filter",
    "s": "sort",
    "r": "reverse",
    "\x1b[A": "up",
    "k": "up",
    "\x1b[B": "down",
    "j": "down",
    "\x1b[5~": "page up",
    "\x1b[6~": "page down",
    " ": "page down",
    "\x1b[H": "home",
    "\x1b[F": "end",
}
"""What a terminal sends for a key -> what it asks for."""
HELP: Final = (
    ("q, Ctrl-C", "quit"),
    ("?", "this help"),
    ("arrows, j, k", "select a node; PgUp, PgDn, Space, Home and End go further"),
    ("Enter", "the pods of the selected node, and what was said of it last; Enter again goes back"),
    ("/", "show only nodes with what you type in one of their columns; COLUMN=PART asks for one"),
    ("", "column; several words must all be met. Enter keeps it, Esc takes it back"),
    ("s", "sort by another column"),
    ("r", "the other way round"),
    ("Esc", "go back; in the list of nodes: quit"),
)
_FAR: Final = 10**9


@dataclass(slots=True, kw_only=True)
class Choice:
    """What the person has chosen to see."""

    sort: str
    reverse: bool
    chosen: Mapping[str, str]
    discount: float
    text: str = ""
    """What was typed to filter by."""
    is_typing: bool = False
    is_helped: bool = False
    """The help is shown instead."""
    opened: str = ""
    """Name of the node whose pods and events are shown; empty: all nodes are."""
    selected: str = ""
    """Name of the node that the keys act on."""
    at: int = 0
    """Its line among all that are shown; kept inside what there is by whoever draws."""
    move: int = 0
    """Lines to go on from it with the next frame."""
    top: int = 0
    """First line that is visible."""


def press(pressed: str, choice: Choice, height: int) -> bool:
    """Do what a key asks for; whether the view goes on.

    Args:
        pressed: What the terminal sent.
        choice: Is changed.
        height: Lines of the terminal.
    """
    if choice.is_typing:
        _type(pressed, choice)
        return pressed != "\x03"
    asked = KEYS.get(pressed, "")
    if asked == "quit":
        return False
    if choice.is_helped:
        choice.is_helped = False
    elif asked == "help":
        choice.is_helped = True
    elif choice.opened and asked in {"back", "open"}:
        choice.opened, choice.move, choice.top = "", 0, 0
    elif asked == "back":
        return False
    elif asked == "open":
        choice.opened, choice.move, choice.top = choice.selected, 0, 0
    elif asked == "filter" and not choice.opened:
        choice.is_typing = True
    elif asked == "sort":
        names = list(rows.SORTS)
        choice.sort = names[(names.index(choice.sort) + 1) % len(names)]
    elif asked == "reverse":
        choice.reverse = not choice.reverse
    else:
        choice.move += _step(asked, max(1, height - 8))
    return True


def _step(asked: str, page: int) -> int:
    return {
        "up": -1,
        "down": 1,
        "page up": -page,
        "page down": page,
        "home": -_FAR,
        "end": _FAR,
    }.get(asked, 0)


def _type(pressed: str, choice: Choice) -> None:
    """Take what is typed, perhaps several keys at once, into the filter."""
    if pressed.startswith("\x1b"):
        if pressed == "\x1b":
            choice.text, choice.is_typing = "", False
        return
    for key in pressed:
        if key in "\r\n":
            choice.is_typing = False
        elif key in "\x7f\b":
            choice.text = choice.text[:-1]
        elif key.isprintable():
            choice.text += key
