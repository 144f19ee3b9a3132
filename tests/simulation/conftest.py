"""Options of the simulation, and its figures at the end of a run.

`--seed` replays one history, `--histories` says how many are lived through otherwise (CI: the default).
"""

import gc
import itertools
import logging
from collections import Counter
from collections.abc import Iterator

import pytest
import structlog

HISTORIES = 500
CHUNKS = 8
CHUNK = 50
"""Histories in each, of many: two processes that share them end within seconds of each other."""
THAW = 500
"""After so many histories everything is looked at again that outlived one, as memos do."""

lived: Counter[str] = Counter()
"""Faults by kind, of every history of this run; "histories" counts those."""


def sweep() -> None:
    """Take away the history that was lived through last, which is one knot that only the collector can undo.

    Done at once and beside frozen survivors it looks at nothing else, and at what the processor still has at hand: a
    third of what it costs for fifty histories together.
    """
    if lived["histories"] % THAW == 0:
        gc.unfreeze()
    gc.collect()
    gc.freeze()


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("simulation")
    group.addoption("--seed", type=int, help="live through this one history")
    group.addoption("--histories", type=int, default=HISTORIES, help="how many to live through")


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "seeds" not in metafunc.fixturenames:
        return
    config = metafunc.config
    seed = config.getoption("--seed", default=None)
    if seed is not None:
        metafunc.parametrize("seeds", [range(seed, seed + 1)], ids=[f"seed {seed}"])
        return
    histories = config.getoption("--histories", default=HISTORIES)
    chunks = max(CHUNKS, histories // CHUNK)
    bounds = [histories * n // chunks for n in range(chunks + 1)]
    ranges = [range(a, b) for a, b in itertools.pairwise(bounds)]
    metafunc.parametrize("seeds", ranges, ids=[f"seeds {r.start} to {r.stop - 1}" for r in ranges])


@pytest.fixture(scope="session", autouse=True)
def tidy() -> Iterator[None]:
    """Look for garbage between histories (`sweep`), and not in them: that would be a third of the time."""
    gc.freeze()
    gc.disable()
    yield
    gc.enable()


@pytest.fixture(autouse=True)
def silence() -> Iterator[None]:
    """Thousands of lines about lost requests help nobody."""
    before = structlog.get_config()
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(logging.CRITICAL))
    yield
    structlog.configure(**before)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    if lived["histories"]:
        faults = {kind: count for kind, count in sorted(lived.items()) if kind != "histories"}
        terminalreporter.section("simulation")
        terminalreporter.line(f"{lived['histories']} histories, {sum(faults.values())} faults:")
        for kind, count in faults.items():
            terminalreporter.line(f"  {count:6d} {kind}")
