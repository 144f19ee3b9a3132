"""`daiku view`: the command line. What it does is in `viewing`, imported only when it is asked for."""

import json
import sys
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated, Final

import typer

from daiku.cli import failure, lines, surroundings
from daiku.cli.viewing.filters import FILTERS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from daiku.cli.leader import Word
    from daiku.cli.viewing import rows
    from daiku.cli.viewing.choice import Choice
    from daiku.cli.viewing.ledger import Ledger
    from daiku.cli.viewing.source import Live

FAILED: Final = 1
"""Exit code when there is nothing to show."""
UNUSABLE: Final = 2
"""Exit code when an option or a file cannot be used."""
WIDTH: Final = 240
"""Columns when the output is not a terminal."""

HELP: Final = """Show the nodes of a cluster: how full they are, what they cost, how far along they are.

Bars are what pods request of what a node has to give (not what they use). Prices are the cloud's own, where
there are credentials for it, or those of a file. Works on any cluster with Karpenter's API, and shows plain nodes
on one without. On a terminal it stays and follows the cluster:
? says which keys it knows, Enter shows the pods and events of a node, / filters, q ends it.

\b
Examples:
  daiku view
  daiku view --sort price --filter nodepool=web
  daiku view --once --discount 0.15
  daiku view --format json | jq .totals.usdPerMonth
  daiku view --from now.json
"""


class Format(StrEnum):
    """How it is printed."""

    TABLE = "table"
    JSON = "json"


class Sort(StrEnum):
    """The order of lines."""

    NAME = "name"
    PRICE = "price"
    CPU = "cpu"
    MEMORY = "memory"
    PODS = "pods"
    AGE = "age"
    TYPE = "type"
    ZONE = "zone"
    POOL = "pool"
    STATE = "state"


def view(
    *,
    source: Annotated[
        list[str] | None,
        typer.Option(
            "--from",
            metavar="FILE",
            help="A `daiku snapshot` or any Kubernetes list; - is standard input.",
        ),
    ] = None,
    once: Annotated[bool, typer.Option("--once", help="Print it once and end.")] = False,
    output: Annotated[
        Format, typer.Option("--format", help="How to print it; JSON is printed once.")
    ] = Format.TABLE,
    instance_types: Annotated[
        str,
        typer.Option(
            metavar="FILE",
            help="Prices: a `daiku snapshot`, a list in the format of Karpenter's kwok provider, or `built-in`.",
        ),
    ] = "",
    sort: Annotated[
        Sort,
        typer.Option(
            help="The order of lines; price, age and pods: most first; cpu, memory: emptiest first."
        ),
    ] = Sort.NAME,
    reverse: Annotated[bool, typer.Option("--reverse", help="The other way round.")] = False,
    filters: Annotated[
        list[str] | None,
        typer.Option(
            "--filter",
            metavar="COLUMN=PART",
            help=f"Only lines whose column has this in it: {', '.join(FILTERS)}. Repeatable.",
        ),
    ] = None,
    discount: Annotated[
        float,
        typer.Option(
            min=0.0, max=0.99, help="Share that you pay less than the list prices, such as 0.15."
        ),
    ] = 0.0,
) -> None:
    """Read the cluster, show it."""
    from daiku.cli.viewing.choice import Choice  # noqa: PLC0415  (what these import takes half a second)

    choice = Choice(
        sort=sort.value, reverse=reverse, chosen=_chosen(filters or ()), discount=discount
    )
    stays = not (source or once or output is Format.JSON)
    if stays and sys.stdout.isatty() and sys.stdin.isatty():
        _follow(choice, _given(instance_types))
        return
    given = _given(instance_types)
    ledger, price, notes, word = _of_files(source, given) if source else _now(given)
    found = _arranged(ledger, price, choice)
    _print(found, ledger.waiting, notes, word, output)


def _follow(choice: "Choice", price: "rows.PriceOf | None") -> None:
    from rich.console import Console  # noqa: PLC0415

    from daiku.cli.viewing import live  # noqa: PLC0415

    source = _open(price, wait=False)
    try:
        live.show(source, choice, Console(highlight=False, markup=False, emoji=False))
    except KeyboardInterrupt:
        pass
    finally:
        source.close()


def _open(price: "rows.PriceOf | None", *, wait: bool) -> "Live":
    from daiku.cli import progress  # noqa: PLC0415
    from daiku.cli.viewing import source  # noqa: PLC0415

    try:
        with progress.Progress() as shown:
            opened = source.Live(surroundings.environ(), price)
            opened.open(shown.step, prices=wait)
    except source.NoViewError as error:
        failure.fail([str(error)], FAILED)
    return opened


def _now(price: "rows.PriceOf | None") -> "tuple[Ledger, rows.PriceOf, list[str], Word]":
    opened = _open(price, wait=True)
    opened.close()
    return opened.ledger, opened.price, opened.notes, opened.word()


def _of_files(
    paths: "Sequence[str]", given: "rows.PriceOf | None"
) -> "tuple[Ledger, rows.PriceOf, list[str], Word]":
    from daiku.api import manifests  # noqa: PLC0415
    from daiku.cli import files, leader, progress  # noqa: PLC0415
    from daiku.cli.viewing import saved  # noqa: PLC0415

    problems: list[str] = []
    with progress.Progress() as shown:
        contents = files.read(
            paths, sys.stdin.buffer, lambda name: shown.step(f"reading {name}", 0, 1), problems
        )
        documents = [
            each for name, content in contents for each in manifests.read(name, content, problems)
        ]
        ledger, price = saved.of_documents(documents, problems)
    if problems:
        failure.fail(problems, UNUSABLE)
    return ledger, given or price, [], leader.SAVED


def _given(instance_types: str) -> "rows.PriceOf | None":
    """Prices that the command line names; None: it names none."""
    if not instance_types:
        return None
    from daiku.cli import planning  # noqa: PLC0415
    from daiku.cli.viewing import pricing, rows  # noqa: PLC0415
    from daiku.model.instance_type import Catalogue  # noqa: PLC0415

    problems: list[str] = []
    found = planning.read_types(instance_types, problems)
    if problems:
        failure.fail(problems, UNUSABLE)
    return rows.price_table(
        Catalogue(version=1, instance_types=found or {})
        if not isinstance(found, tuple)
        else pricing.of_types(found)
    )


def _arranged(ledger: "Ledger", price: "rows.PriceOf", choice: "Choice") -> "list[rows.Row]":
    from daiku.cli.viewing import rows  # noqa: PLC0415
    from daiku.runtime import clock  # noqa: PLC0415

    found = rows.rows(ledger.machines(), price, choice.discount, clock.now())
    return rows.arrange(found, choice.sort, reverse=choice.reverse, chosen=choice.chosen)


def _print(
    found: "list[rows.Row]", waiting: int, notes: "Sequence[str]", word: "Word", output: Format
) -> None:
    from rich.console import Console  # noqa: PLC0415

    from daiku.cli.viewing import decided, rows, screen  # noqa: PLC0415

    sums = rows.totals(found, waiting)
    if output is Format.JSON:
        for note in notes:
            lines.note(note)
        typer.echo(json.dumps(decided.add(rows.to_json(found, sums), word), indent=1))
        return
    is_terminal = sys.stdout.isatty()
    console = Console(
        width=None if is_terminal else WIDTH, highlight=False, markup=False, emoji=False
    )
    glyphs = screen.Glyphs.of(console.encoding)
    for line in (
        *screen.header(sums, notes, console.width, glyphs, decided.line(word, found)),
        *screen.table(found, console.width, glyphs),
    ):
        console.print(line, no_wrap=True, overflow="crop")


def _chosen(filters: "Sequence[str]") -> dict[str, str]:
    chosen: dict[str, str] = {}
    for each in filters:
        column, separator, part = each.partition("=")
        if not separator or column not in FILTERS:
            failure.fail(
                [f"--filter {each}: give COLUMN=PART with one of {', '.join(FILTERS)}"], UNUSABLE
            )
        chosen[FILTERS[column]] = part
    return chosen
