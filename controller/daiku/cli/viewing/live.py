"""The view that stays: a frame whenever something changed, keys to sort and scroll.

At most two frames a second, and none while nothing changes but ages, so that it costs little beside a large cluster.
"""

import select
import sys
import termios
import time
import tty
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Final

from rich.console import Console, Group
from rich.live import Live as RichLive
from rich.text import Text

from daiku.cli.viewing import rows, screen
from daiku.cli.viewing.rows import Row
from daiku.cli.viewing.source import Live
from daiku.runtime import clock

FRAME_SECONDS: Final = 0.5
AGES_SECONDS: Final = 5.0
"""How old the shown ages may be."""
HELP: Final = "q quit   s sort by {sort}   r reverse   arrows, PgUp, PgDn scroll"
KEYS: Final = {
    "q": "quit",
    "\x1b": "quit",
    "\x03": "quit",
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


@dataclass(slots=True, kw_only=True)
class Choice:
    """What the person has chosen to see."""

    sort: str
    reverse: bool
    chosen: Mapping[str, str]
    discount: float
    top: int = 0
    """First line that is visible."""


def show(source: Live, choice: Choice, console: Console) -> None:
    """Show the cluster until the person has seen enough."""
    drawn = 0.0
    found: list[Row] = []
    said: tuple[str, ...] = ()
    changed, size = True, console.size
    with (
        _keys() as key,
        RichLive(console=console, screen=True, auto_refresh=False, transient=True) as frame,
    ):
        while True:
            notes = tuple(source.notes)
            if changed or notes != said or time.monotonic() - drawn > AGES_SECONDS:
                found = rows.rows(
                    source.ledger.machines(), source.price, choice.discount, clock.now()
                )
                drawn, said, changed = time.monotonic(), notes, True
            if changed:
                size = console.size
                lines = picture(found, source.ledger.waiting, said, choice, console)
                frame.update(Group(*lines), refresh=True)
            pressed = key(FRAME_SECONDS)
            if pressed == "quit":
                return
            asked = press(pressed, choice, size.height)
            changed = source.drain(0) or asked or console.size != size


def picture(
    found: Sequence[Row],
    waiting: int,
    notes: Sequence[str],
    choice: Choice,
    console: Console,
) -> list[Text]:
    """The lines of one frame, as many as the terminal has; `choice.top` is kept inside what there is."""
    width, height = console.size
    glyphs = screen.Glyphs.of(console.encoding)
    shown = rows.arrange(found, choice.sort, reverse=choice.reverse, chosen=choice.chosen)
    above = screen.header(rows.totals(shown, waiting), notes, width, glyphs)
    room = max(1, height - len(above) - 2)
    choice.top = max(0, min(choice.top, len(shown) - room))
    visible = shown[choice.top : choice.top + room]
    lines = [*above, *screen.table(visible, width, glyphs)]
    below = HELP.format(sort=choice.sort)
    if len(shown) > room:
        below += f"   {choice.top + 1}-{choice.top + len(visible)} of {len(shown)}"
    lines.append(Text(below, style="dim", no_wrap=True))
    for line in lines:
        line.truncate(width)
    return lines[:height]


def press(pressed: str, choice: Choice, height: int) -> bool:
    """Do what a key asks for; whether anything is to be drawn anew."""
    page = max(1, height - 8)
    moves = {
        "up": -1,
        "down": 1,
        "page up": -page,
        "page down": page,
        "home": -(10**9),
        "end": 10**9,
    }
    if pressed in moves:
        choice.top += moves[pressed]
    elif pressed == "sort":
        names = list(rows.SORTS)
        choice.sort = names[(names.index(choice.sort) + 1) % len(names)]
    elif pressed == "reverse":
        choice.reverse = not choice.reverse
    return bool(pressed)


@contextmanager
def _keys() -> Generator[Callable[[float], str]]:
    """Read single keys: what one asks for, or an empty text after so many seconds without."""
    file = sys.stdin.fileno()
    before = termios.tcgetattr(file)

    def read(timeout_seconds: float) -> str:
        if not select.select([file], [], [], timeout_seconds)[0]:
            return ""
        return KEYS.get(sys.stdin.buffer.raw.read(8).decode(errors="replace"), "")  # type: ignore[union-attr]

    try:
        tty.setcbreak(file)
        yield read
    finally:
        termios.tcsetattr(file, termios.TCSADRAIN, before)
