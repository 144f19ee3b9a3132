"""One node on the whole screen (its line, its pods, the largest first, what was said of it last), and the help."""

from collections.abc import Sequence
from typing import Final

from rich.text import Text

from daiku.cli.leader import Word
from daiku.cli.viewing import decided, screen
from daiku.cli.viewing.choice import HELP
from daiku.cli.viewing.ledger import Resident
from daiku.cli.viewing.rows import Row
from daiku.cli.viewing.source import Told
from daiku.model import resources, units

SAID_MOST: Final = 10
"""Events that are shown, the newest ones."""
_KEYS_WIDTH = 14
_STATE_WIDTH = 9
_AMOUNT_WIDTH = 9


def of_node(
    row: Row,
    residents: Sequence[Resident],
    told: Told,
    width: int,
    glyphs: screen.Glyphs,
    *,
    word: Word,
) -> list[Text]:
    """Every line there is of a node, no matter how high the terminal is.

    Args:
        row: The node.
        residents: Its unfinished pods.
        told: What was said of it.
        width: Columns of the terminal.
        glyphs: What it can show.
        word: The controller's.
    """
    why, by_whom = decided.of_node(word, row)
    lines = [*screen.table([row], width, glyphs), Text(), Text("WHAT BECOMES OF IT", "bold")]
    lines += screen.wrapped(why, width, "") if why else []
    lines += screen.wrapped(by_whom, width, "dim")
    lines += [Text(), Text("WHAT WAS SAID OF IT", "bold")]
    for each in told.said[:SAID_MOST]:
        text = f"{each.at:%m-%d %H:%M:%S}  {each.reason}: {each.message}"
        lines += screen.wrapped(text, width, "yellow" if each.is_warning else "")
    lines += [Text(told.note, "dim")] if told.note else []
    largest = sorted(
        residents,
        key=lambda each: (
            -each.requests.get(resources.CPU, 0),
            -each.requests.get(resources.MEMORY, 0),
            each.key,
        ),
    )
    name = max(len("POD"), width - _STATE_WIDTH - 2 * _AMOUNT_WIDTH - 3 * screen.GAP)
    heading = _pod("PODS" if largest else "NO PODS", "STATE", "CPU", "MEMORY", name)
    lines += [Text(), Text(heading, "bold")]
    lines += [
        Text(
            _pod(
                screen.cut(each.key, name, glyphs),
                each.state,
                _amount(each, resources.CPU),
                _amount(each, resources.MEMORY),
                name,
            )
        )
        for each in largest
    ]
    return lines


def of_keys(width: int) -> list[Text]:
    """Which keys there are."""
    said = (
        line
        for keys, what in HELP
        for line in screen.wrapped(f"{keys:<{_KEYS_WIDTH}}{what}", width, "", _KEYS_WIDTH)
    )
    return [Text("KEYS", "bold"), *said, Text(), Text("any key goes back", "dim")]


def _pod(name: str, state: str, cpu: str, memory: str, width: int) -> str:
    gap = " " * screen.GAP
    cells = f"{state:<{_STATE_WIDTH}}{gap}{cpu:>{_AMOUNT_WIDTH}}{gap}{memory:>{_AMOUNT_WIDTH}}"
    return f"{name:<{width}}{gap}{cells}"


def _amount(of: Resident, resource: str) -> str:
    return units.format_quantity(resource, of.requests.get(resource, 0))
