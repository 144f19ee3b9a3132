"""Plots of a simulation as SVG text. The only place that draws; matplotlib is the extra `daiku[report]`."""

import io
from collections.abc import Callable, Sequence
from typing import Any, Final

from daiku.simulation.ledger import Sample
from daiku.simulation.result import Result

COLOURS: Final = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9")
"""Told apart by colour-blind people too (Okabe and Ito)."""
_SIZE: Final = (9.0, 2.6)
"""Inches."""
_SETTINGS: Final = {
    "svg.hashsalt": "daiku",
    "svg.fonttype": "none",
    "font.family": "sans-serif",
    "font.size": 9,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "grid.alpha": 0.3,
}
"""The same input gives the same bytes; text stays text."""


class MissingLibraryError(Exception):
    """The library that draws is not installed."""


def over_time(results: Sequence[Result], of: Callable[[Sample], float], unit: str) -> str:
    """One line per configuration over the hours.

    Raises:
        MissingLibraryError: There is no matplotlib.
    """

    def draw(axes: Any) -> None:
        for result, colour in zip(results, _colours(results), strict=True):
            hours = [each.at / 3600 for each in result.samples]
            values = [of(each) for each in result.samples]
            axes.step(hours, values, where="post", label=result.name, color=colour, linewidth=1.2)
        axes.set_xlabel("hours")
        axes.set_ylabel(unit)
        axes.set_ylim(bottom=0)
        axes.margins(x=0)

    return _svg(draw, legend=len(results) > 1)


def waits(results: Sequence[Result], shares: Sequence[float]) -> str:
    """Which share of pods waited at most so long.

    Args:
        results: One line each.
        shares: Percentiles that are drawn, 0 to 100.

    Raises:
        MissingLibraryError: There is no matplotlib.
    """

    def draw(axes: Any) -> None:
        for result, colour in zip(results, _colours(results), strict=True):
            seconds = [result.waits_by_share[share] for share in shares]
            axes.plot(seconds, shares, label=result.name, color=colour, linewidth=1.2)
        axes.set_xlabel("seconds from a pod's creation to its node")
        axes.set_ylabel("% of pods")
        axes.set_ylim(0, 101)
        axes.set_xlim(left=0)

    return _svg(draw, legend=len(results) > 1)


def _colours(results: Sequence[Result]) -> list[str]:
    return [COLOURS[number % len(COLOURS)] for number in range(len(results))]


def _svg(draw: Callable[[Any], None], *, legend: bool) -> str:
    try:
        import matplotlib as mpl  # noqa: PLC0415  (an extra that only a report needs)
        from matplotlib.figure import Figure  # noqa: PLC0415
    except ImportError as error:
        raise MissingLibraryError(
            "a report needs matplotlib: install the extra, as in `pip install 'daiku[report]'`"
        ) from error
    written = io.StringIO()
    library: Any = mpl
    with library.rc_context(_SETTINGS):
        figure: Any = Figure(figsize=_SIZE, layout="constrained")
        axes = figure.subplots()
        draw(axes)
        if legend:
            axes.legend(loc="upper left", frameon=False, ncols=6, bbox_to_anchor=(0, 1.18))
        figure.savefig(written, format="svg", metadata={"Date": None, "Creator": None})
    return written.getvalue()[written.getvalue().index("<svg") :]
