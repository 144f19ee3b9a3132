"""A simulation as one HTML page that needs nothing else: no script, no font, no address."""

from collections.abc import Callable, Sequence
from html import escape
from typing import Final

from daiku.cli.plan_tables import Table
from daiku.cli.simulating import plots, tables
from daiku.model import units
from daiku.simulation.ledger import Sample
from daiku.simulation.result import SHARES, Result
from daiku.simulation.scenario import Scenario

_STYLE: Final = """
body { font: 15px/1.5 system-ui, sans-serif; max-width: 62rem; margin: 2rem auto; padding: 0 1rem; color: #1a1a1a }
h1 { font-size: 1.5rem; margin-bottom: 0 } h2 { font-size: 1.1rem; margin: 2rem 0 .5rem }
.sub { color: #555; margin-top: .2rem }
table { border-collapse: collapse } td, th { padding: .25rem .9rem .25rem 0; text-align: left; vertical-align: top }
th { font-weight: 600; border-bottom: 2px solid #ccc } td { border-bottom: 1px solid #eee }
.n { text-align: right; font-variant-numeric: tabular-nums }
svg { max-width: 100%; height: auto }
.key { display: inline-block; width: .8rem; height: .8rem; margin-right: .4rem; border-radius: 2px }
"""
_PLOTS: Final[tuple[tuple[str, str, Callable[[Sample], float]], ...]] = (
    ("Cost", "$/h", lambda s: s.usd_per_hour),
    ("Nodes", "nodes", lambda s: float(s.nodes)),
    ("CPU requested of what nodes have", "%", lambda s: s.cpu * 100),
    ("Memory requested of what nodes have", "%", lambda s: s.memory * 100),
    ("Pods running", "pods", lambda s: float(s.pods)),
    ("Pods waiting for a node", "pods", lambda s: float(s.pending)),
)


def write(scenario: Scenario, results: Sequence[Result], notes: Sequence[str]) -> str:
    """The page.

    Raises:
        MissingLibraryError: There is nothing to draw with.
    """
    pods = f"{len(scenario.arrivals):,} pods come" if scenario.arrivals else "no single pods come"
    said = (
        f"{scenario.lasts / 3600:g} h from {scenario.start:%Y-%m-%d %H:%M} UTC, seed {scenario.seed}: "
        f"{units.counted(len(scenario.services), 'service')}, {pods}. Simulated with Daiku's own decisions."
    )
    parts = [
        f"<h1>{escape(scenario.name)}</h1>",
        f'<p class="sub">{escape(said)}</p>',
        _table(tables.compared(results), keyed=len(results) > 1),
        "<h2>Where the money went</h2>",
        _table(tables.costs(results)),
    ]
    for title, unit, of in _PLOTS:
        parts += [f"<h2>{title}</h2>", plots.over_time(results, of, unit)]
    parts += ["<h2>How long pods wait</h2>", plots.waits(results, SHARES)]
    for each in results:
        if each.why_not:
            parts.append(f"<h2>Without a place at the end: {escape(each.name)}</h2>")
            parts.append(_list([f"{count}: {why}" for why, count in each.why_not.items()]))
    if notes:
        parts += ["<h2>Notes</h2>", _list(notes)]
    body = "\n".join(parts)
    return (
        f'<!doctype html>\n<html lang="en"><head><meta charset="utf-8"><title>{escape(scenario.name)}</title>'
        f'<meta name="viewport" content="width=device-width"><style>{_STYLE}</style></head>'
        f"<body>\n{body}\n</body></html>\n"
    )


def _table(table: Table, *, keyed: bool = False) -> str:
    def cell(tag: str, number: int, text: str) -> str:
        key = ""
        if keyed and tag == "th" and number:
            colour = plots.COLOURS[(number - 1) % len(plots.COLOURS)]
            key = f'<span class="key" style="background:{colour}"></span>'
        kind = ' class="n"' if number in table.figures else ""
        return f"<{tag}{kind}>{key}{escape(text)}</{tag}>"

    def row(tag: str, cells: Sequence[str]) -> str:
        return f"<tr>{''.join(cell(tag, i, text) for i, text in enumerate(cells))}</tr>"

    rows = "\n".join(row("td", cells) for cells in table.rows)
    return f"<table><thead>{row('th', table.columns)}</thead><tbody>\n{rows}\n</tbody></table>"


def _list(lines: Sequence[str]) -> str:
    return f"<ul>{''.join(f'<li>{escape(line)}</li>' for line in lines)}</ul>"
