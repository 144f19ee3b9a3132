"""The view that stays: a frame whenever something changed. What keys do is in `choice`.

At most two frames a second, and none while nothing changes but ages, so that it costs little beside a large cluster.
"""

import select
import sys
import termios
import time
import tty
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from typing import Final

from rich.console import Console, Group
from rich.live import Live as RichLive
from rich.text import Text

from daiku.cli.leader import Word
from daiku.cli.viewing import decided, details, rows, screen
from daiku.cli.viewing.choice import Choice, press
from daiku.cli.viewing.ledger import Ledger
from daiku.cli.viewing.rows import Row
from daiku.cli.viewing.source import Live, Told
from daiku.runtime import clock

FRAME_SECONDS: Final = 0.5
AGES_SECONDS: Final = 5.0
"""How old the shown ages may be."""
BELOW: Final = "q quit   ? help   Enter pods and events   / filter   s sort by {sort}   r reverse"
BELOW_OPEN: Final = "q quit   ? help   Enter or Esc back"


def show(source: Live, choice: Choice, console: Console) -> None:
    """Show the cluster until the person has seen enough."""
    drawn = 0.0
    found: list[Row] = []
    said: tuple[tuple[str, ...], Told, Word] = (), Told(), Word()
    changed, size = True, console.size
    with (
        _keys() as key,
        RichLive(console=console, screen=True, auto_refresh=False, transient=True) as frame,
    ):
        while True:
            now = tuple(source.notes), _told(source, found, choice), source.word()
            if changed or now != said or time.monotonic() - drawn > AGES_SECONDS:
                found = rows.rows(
                    source.ledger.machines(), source.price, choice.discount, clock.now()
                )
                drawn, said, changed = time.monotonic(), now, True
            if changed:
                size = console.size
                notes, told, word = said
                lines = picture(
                    found, source.ledger, choice, console, notes=notes, told=told, word=word
                )
                frame.update(Group(*lines), refresh=True)
            pressed = key(FRAME_SECONDS)
            if pressed and not press(pressed, choice, size.height):
                return
            changed = source.drain(0) or bool(pressed) or console.size != size


def picture(
    found: Sequence[Row],
    ledger: Ledger,
    choice: Choice,
    console: Console,
    *,
    notes: Sequence[str] = (),
    told: Told | None = None,
    word: Word | None = None,
) -> list[Text]:
    """The lines of one frame, as many as the terminal has; where `choice` is, is kept inside what there is."""
    width, height = console.size
    glyphs = screen.Glyphs.of(console.encoding)
    opened = next((row for row in found if row.name == choice.opened), None)
    if choice.opened and opened is None:
        notes = (*notes, f"node {choice.opened} has gone")
        choice.opened = ""
    if choice.is_helped:
        lines = details.of_keys(width)
    elif opened is not None:
        residents = ledger.residents(opened.name)
        whole = details.of_node(
            opened, residents, told or Told(), width, glyphs, word=word or Word()
        )
        lines = _scrolled(whole, choice, height)
    else:
        lines = _list(found, ledger.waiting, notes, choice, console, word=word or Word())
    for line in lines:
        line.truncate(width)
    return lines[:height]


def _list(
    found: Sequence[Row],
    waiting: int,
    notes: Sequence[str],
    choice: Choice,
    console: Console,
    *,
    word: Word,
) -> list[Text]:
    """All nodes, with the one that is selected among those that are visible."""
    width, height = console.size
    glyphs = screen.Glyphs.of(console.encoding)
    shown = rows.arrange(
        found, choice.sort, reverse=choice.reverse, chosen=choice.chosen, text=choice.text
    )
    sums, said = rows.totals(shown, waiting), decided.line(word, shown)
    above = screen.header(sums, notes, width, glyphs, said)
    room = max(1, height - len(above) - 2)
    names = [row.name for row in shown]
    # The node stays selected, not the line: others come and go above it.
    at = names.index(choice.selected) if choice.selected in names else choice.at
    choice.at = max(0, min(at + choice.move, len(shown) - 1))
    choice.move = 0
    choice.selected = names[choice.at] if names else ""
    first = max(choice.at - room + 1, min(choice.top, choice.at))
    choice.top = max(0, min(first, len(shown) - room))
    visible = shown[choice.top : choice.top + room]
    lines = [*above, *screen.table(visible, width, glyphs)]
    if visible:
        lines[len(above) + 1 + choice.at - choice.top].stylize("reverse")
    below = BELOW.format(sort=choice.sort)
    if len(shown) > room:
        below = f"{choice.top + 1}-{choice.top + len(visible)} of {len(shown)}   {below}"
    if choice.is_typing or choice.text:
        cursor = "_" if choice.is_typing else "   "
        below = f"/{choice.text}{cursor}   {len(shown)} of {len(found)} nodes   {below}"
    return [*lines, Text(below, style="dim", no_wrap=True)]


def _scrolled(whole: Sequence[Text], choice: Choice, height: int) -> list[Text]:
    """What of a longer text is visible."""
    room = max(1, height - 1)
    choice.top = max(0, min(choice.top + choice.move, len(whole) - room))
    choice.move = 0
    below = BELOW_OPEN
    if len(whole) > room:
        below = f"{choice.top + 1}-{min(len(whole), choice.top + room)} of {len(whole)}   {below}"
    visible = whole[choice.top : choice.top + room]
    return [*visible, Text(below, style="dim", no_wrap=True)]


def _told(source: Live, found: Sequence[Row], choice: Choice) -> Told:
    """What was said of the node that is looked at, as far as it is known."""
    opened = next((row for row in found if row.name == choice.opened), None)
    return source.told(opened.name, opened.node_claim) if opened is not None else Told()


@contextmanager
def _keys() -> Generator[Callable[[float], str]]:
    """Read keys: what the terminal sends for one, or an empty text after so many seconds without."""
    file = sys.stdin.fileno()
    before = termios.tcgetattr(file)

    def read(timeout_seconds: float) -> str:
        if not select.select([file], [], [], timeout_seconds)[0]:
            return ""
        return sys.stdin.buffer.raw.read(64).decode(errors="replace")  # type: ignore[union-attr]

    try:
        tty.setcbreak(file)
        yield read
    finally:
        termios.tcsetattr(file, termios.TCSADRAIN, before)
