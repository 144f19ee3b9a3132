"""Rows as lines of a terminal: columns that fit its width, bars that its encoding can write.

Columns are dropped, least telling first, until the rest fits; with 100 columns of the terminal capacity type and price
are among those that stay. Names are cut where nothing else helps. Lines are made one by one
and only for what is visible, because a table of a thousand rows costs half a second.
"""

import textwrap
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import Final

from rich.text import Text

from daiku.cli import figures
from daiku.cli.viewing.rows import READY, Row, Totals
from daiku.model import units

NAME_LEAST: Final = 12
"""Columns that a node's name has at least."""
BARS: Final = (10, 6)
"""Cells of a bar in the table: of the wide one, and of the one where columns would be lost otherwise."""
_BESIDE_BARS: Final = len("cpu ") + len("   memory ") + 2 * len(" 100%")
"""Columns of the line with the two bars that are no bar."""
GAP: Final = 2
TELLING: Final = 7
"""Columns that are worth a narrower bar, or the end of a name."""
SHADES: Final = ((0.7, "green"), (0.3, "yellow"), (0.0, "red"))
"""Fill from which on a bar has the colour: an empty node is what costs."""
TROUBLE: Final = frozenset({"not ready", "terminating", "disrupted"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Glyphs:
    """What bars are made of."""

    full: str = "█"
    empty: str = "░"
    cut: str = "…"

    @classmethod
    def of(cls, encoding: str) -> "Glyphs":
        """Those that an encoding can write."""
        try:
            "█░…".encode(encoding)
        except (UnicodeEncodeError, LookupError):
            return cls(full="#", empty=".", cut="~")
        return cls()


@dataclass(frozen=True, slots=True, kw_only=True)
class _Column:
    title: str
    width: int
    text: Callable[[Row, Glyphs], Text]
    keep: int
    """Columns of a lower number are dropped first."""
    right: bool = False


def header(
    sums: Totals, notes: Sequence[str], width: int, glyphs: Glyphs, decided: str = ""
) -> list[Text]:
    """The lines above the table: what all nodes come to, what is decided, what is missing; the two bars fit `width`."""
    kinds = ", ".join(
        f"{nodes} {kind or 'of no capacity type'} {_all_hours(usd)}"
        for kind, (nodes, usd) in sums.by_capacity_type.items()
    )
    nodes = f"{units.counted(sums.nodes, 'node')} ({sums.ready} ready)"
    pods = f"{units.counted(sums.pods, 'pod')}" + (
        f", {sums.waiting} waiting" if sums.waiting else ""
    )
    price = f"{_all_hours(sums.usd_per_hour)}  ${sums.usd_per_month:,.0f}/month"
    if 0 < sums.unpriced == sums.nodes:
        price = "price unknown"
    lines = [Text(f"{nodes}   {pods}   {price}", style="bold")]
    cells = max(4, min(20, (width - _BESIDE_BARS) // 2))
    fills = Text("cpu ")
    fills.append_text(_bar(sums.cpu_fill, cells, glyphs))
    fills.append("   memory ")
    fills.append_text(_bar(sums.memory_fill, cells, glyphs))
    lines.append(fills)
    if kinds:
        lines.append(Text(kinds))
    if 0 < sums.unpriced < sums.nodes:
        lines.append(
            Text(f"{units.counted(sums.unpriced, 'node')} without a price: counted as $0", "dim")
        )
    lines += wrapped(decided, width, "") if decided else []
    said = [line for note in notes for line in wrapped(note, width, "yellow")]
    return [*lines, *said, Text()]


def _all_hours(usd: float | None) -> str:
    return "price unknown" if usd is None else f"${usd:,.2f}/h"


def table(found: Sequence[Row], width: int, glyphs: Glyphs) -> list[Text]:
    """The heading and a line per row, no wider than `width`."""
    names = _names(found, width)
    longest = max((len(each) for each in names), default=4)
    columns = _fitting(found, longest, width)
    name = min(longest, max(NAME_LEAST, width - sum(column.width + GAP for column in columns)))
    lines = [_line("NODE".ljust(name), [_padded(Text(c.title), c) for c in columns])]
    lines[0].stylize("bold")
    for row, said in zip(found, names, strict=True):
        cells = [_padded(column.text(row, glyphs), column) for column in columns]
        lines.append(_line(cut(said, name, glyphs).ljust(name), cells))
    for line in lines:
        line.truncate(width)
    return lines


def wrapped(text: str, width: int, style: str, indent: int = 2) -> list[Text]:
    """A text as lines of at most so many columns, all but the first with an indent."""
    lines = textwrap.wrap(text, width, subsequent_indent=" " * indent, drop_whitespace=True)
    return [Text(each, style) for each in lines]


def age(seconds: int) -> str:
    """Such as 45s, 12m, 3h20m or 5d4h, as kubectl has it."""
    span = timedelta(seconds=seconds)
    hours, rest = divmod(span.seconds, 3600)
    if span.days:
        return f"{span.days}d{hours}h" if span.days < 10 and hours else f"{span.days}d"
    if hours:
        return f"{hours}h{rest // 60}m" if hours < 10 and rest // 60 else f"{hours}h"
    return f"{seconds // 60}m" if seconds >= 60 else f"{seconds}s"


def _columns(found: Sequence[Row], cells: int) -> list[_Column]:
    def plain(field: str, title: str, keep: int) -> _Column:
        width = (
            max(len(title), *(len(getattr(row, field)) for row in found)) if found else len(title)
        )
        return _Column(
            title=title,
            width=width,
            keep=keep,
            text=lambda row, _: Text(getattr(row, field) or "-"),
        )

    def fill(field: str, title: str, keep: int) -> _Column:
        return _Column(
            title=title,
            width=cells + 5,
            keep=keep,
            text=lambda row, glyphs: _bar(getattr(row, field), cells, glyphs),
        )

    return [
        replace(plain("state", "STATE", 9), text=_state),
        fill("cpu_fill", "CPU", 10),
        fill("memory_fill", "MEMORY", 5),
        _Column(title="PODS", width=7, text=_pods, keep=4, right=True),
        plain("instance_type", "TYPE", 8),
        plain("capacity_type", "CAPACITY", 6),
        plain("zone", "ZONE", 3),
        _Column(title="$/H", width=8, text=_hourly, keep=7, right=True),
        _Column(title="$/MONTH", width=8, text=_monthly, keep=1, right=True),
        _Column(
            title="AGE", width=6, text=lambda row, _: Text(age(row.age_seconds)), keep=2, right=True
        ),
        plain("nodepool", "NODEPOOL", 0),
    ]


def _names(found: Sequence[Row], width: int) -> list[str]:
    """Whole names where every column fits beside them, else without the domain that they share."""
    whole = [row.name for row in found]
    others = sum(column.width + GAP for column in _columns(found, max(BARS)))
    short = [name.partition(".")[0] for name in whole]
    is_short_enough = max(map(len, whole), default=0) + others <= width
    return whole if is_short_enough or len(set(short)) < len(set(whole)) else short


def _fitting(found: Sequence[Row], longest: int, width: int) -> list[_Column]:
    """Those that fit: with whole names and wide bars if that loses none of the most telling ones."""
    for cells, name in ((max(BARS), longest), (min(BARS), longest), (min(BARS), NAME_LEAST)):
        columns = _columns(found, cells)
        least = TELLING if name > NAME_LEAST else 0
        while len(columns) > least and name + sum(c.width + GAP for c in columns) > width:
            columns.remove(min(columns, key=lambda column: column.keep))
        if name + sum(c.width + GAP for c in columns) <= width:
            break
    return columns


def _line(name: str, cells: Sequence[Text]) -> Text:
    line = Text(name, no_wrap=True)
    for cell in cells:
        line.append(" " * GAP)
        line.append_text(cell)
    line.rstrip()
    return line


def _padded(cell: Text, column: _Column) -> Text:
    room = column.width - len(cell.plain)
    if room < 0:
        cell.truncate(column.width)
    elif column.right:
        cell.pad_left(room)
    else:
        cell.pad_right(room)
    return cell


def _bar(share: float, cells: int, glyphs: Glyphs) -> Text:
    full = max(0, min(cells, round(share * cells)))
    colour = next(shade for least, shade in SHADES if share >= least or least == 0)
    bar = Text(glyphs.full * full, style=colour)
    bar.append(glyphs.empty * (cells - full), style="dim")
    bar.append(f"{min(999, round(100 * share)):>4d}%")
    return bar


def _state(row: Row, _glyphs: Glyphs) -> Text:
    if row.state == READY:
        return Text(row.state, "green")
    return Text(row.state, "red" if row.state in TROUBLE else "yellow")


def _pods(row: Row, _glyphs: Glyphs) -> Text:
    return Text(f"{row.pods}/{row.pods_max}" if row.pods_max else str(row.pods))


def _hourly(row: Row, _glyphs: Glyphs) -> Text:
    return Text("-" if row.usd_per_hour is None else f"{row.usd_per_hour:.4f}")


def _monthly(row: Row, _glyphs: Glyphs) -> Text:
    return Text("-" if row.usd_per_hour is None else figures.monthly(row.usd_per_hour))


def cut(text: str, width: int, glyphs: Glyphs) -> str:
    """A text of at most so many columns, with a mark where some of it is missing."""
    return text if len(text) <= width else text[: width - 1] + glyphs.cut
