"""From a history that fails to the smallest one that fails in the same way, and what is said about it."""

import subprocess
import traceback
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import ParamSpec, TypeVar

from tests.simulation.faults import Mercy
from tests.simulation.rules import Violated
from tests.simulation.world import History

P = ParamSpec("P")
T = TypeVar("T")
RUNS_MOST = 40
"""How many smaller histories are tried."""
FRAMES = 1 << 16
"""Words of stack that a history begins with."""


class Failure:
    """A history that broke a rule, or the controller."""

    def __init__(self, history: History, error: Exception) -> None:
        self.history, self.error = history, error
        self.rule = error.rule if isinstance(error, Violated) else type(error).__name__

    def __str__(self) -> str:
        return str(self.error)


def _roomy(live: Callable[P, T]) -> Callable[P, T]:
    """The same with room for all that it calls.

    CPython keeps frames in chunks of 16 KiB, which are mapped and given back as calls come and go. Where a loop calls
    across the end of a chunk that happens each time: 6 % of what a history cost, from how deep pytest calls.
    """
    live.__code__ = live.__code__.replace(co_stacksize=FRAMES)
    return live


@_roomy
def live(seed: int, mercy: Mercy | None = None) -> tuple[History, Failure | None]:
    """Live through a history; what went wrong, if anything did."""
    history = History(seed, mercy)
    try:
        history.run()
    except Exception as error:  # noqa: BLE001 - whatever ends a history is what it has to say
        return history, Failure(history, error)
    return history, None


def shrink(seed: int, failure: Failure) -> Failure:
    """The smallest history of this seed that was found to break the same rule."""
    mercy, best, runs = Mercy(), failure, 0
    tried: dict[Mercy, bool] = {}
    improved = True
    while improved and runs < RUNS_MOST:
        improved = False
        for smaller in _smaller(mercy, best):
            if smaller in tried or runs >= RUNS_MOST:
                continue
            tried[smaller] = True
            runs += 1
            _history, found = live(seed, smaller)
            if found is not None and found.rule == failure.rule:
                mercy, best, improved = smaller, found, True
                break
    return best


def _smaller(mercy: Mercy, failure: Failure) -> Iterator[Mercy]:
    """Histories with less in them, the boldest cuts first."""
    faults, people = failure.history.world.faults, failure.history.world.people
    kinds = [kind for kind, _count in faults.counts.most_common()]
    half = len(kinds) // 2
    for some in (kinds, kinds[:half], kinds[half:]):
        yield replace(mercy, muted=mercy.muted | frozenset(some))
    for share in (0.5, 0.9):
        yield replace(mercy, faults_most=int(faults.total * share))
        yield replace(mercy, actions_most=int(people.actions * share))
    for kind in kinds:
        yield replace(mercy, muted=mercy.muted | {kind})


def report(seed: int, failure: Failure) -> str:
    """What a person needs to understand and to replay a failure."""
    small = shrink(seed, failure)
    world = small.history.world
    where = (
        ""
        if isinstance(small.error, Violated)
        else "".join(traceback.format_exception(small.error)[-4:])
    )
    faults = (
        ", ".join(f"{count} {kind}" for kind, count in sorted(world.faults.counts.items()))
        or "none"
    )
    return (
        f"history {seed} of commit {_commit()} broke a rule ({failure.history.phase}): {failure.error}\n"
        f"replay it: make simulate SEED={seed}\n\n"
        f"its smallest relative ({small.history.phase}): {small.error}\n{where}"
        f"faults: {faults}; people acted {world.people.actions} times\n\n{world.story.last()}"
    )


def _commit() -> str:
    root = Path(__file__).parents[2]
    found = subprocess.run(
        ["git", "describe", "--always", "--dirty"],
        cwd=root,
        capture_output=True,
        text=True,
        check=False,
    )
    return found.stdout.strip() or "unknown"
