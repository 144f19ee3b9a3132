"""From the files that `daiku simulate` is given to the results of each configuration."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, Final

from daiku.api import configuration, manifests
from daiku.api.manifests import Document, ManifestError
from daiku.cli import controller_settings, files, planning
from daiku.cli.simulating import scenario_file
from daiku.model.instance_type import Catalogue
from daiku.simulation import result
from daiku.simulation.result import Result
from daiku.simulation.scenario import Scenario

Step = Callable[[str, int, int], None]
PARTS: Final = 1000
"""Of the bar, for each configuration."""
_WITHOUT_POOLS: Final = (
    "no NodePool is in configuration {!r}; give yours among the files or with --config FILE, or --built-in-nodepool to "
    "simulate one of daiku's own (linux, amd64, on-demand, made-up instance types)"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """What is asked on the command line."""

    sources: tuple[str, ...]
    configs: tuple[str, ...] = ()
    """Files that each stand for one configuration; none: what `sources` hold."""
    traces: tuple[str, ...] = ()
    instance_types: str = ""
    seed: int | None = None
    built_in_node_pool: bool = False
    """Whether input without a NodePool is simulated with a built-in one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Played:
    """What came of it."""

    scenario: Scenario
    results: tuple[Result, ...]
    notes: tuple[str, ...]


def play(request: Request, stdin: BinaryIO, step: Step) -> Played:
    """Play the scenario against every configuration.

    Args:
        request: What is asked.
        stdin: Where - reads from.
        step: Is told what is done now, how much is behind it, and how much there is.

    Raises:
        ManifestError: Some of the input cannot be used.
    """
    problems: list[str] = []
    common = _documents(request.sources, stdin, step, problems)
    traces = files.read(request.traces, stdin, lambda _name: None, problems)
    happening = [each for each in common if scenario_file.is_part(each)]
    scenario = scenario_file.read(happening, traces, request.seed, problems)
    rest = [each for each in common if not scenario_file.is_part(each)]
    named: list[tuple[str, list[Document]]] = [("as given", rest)]
    if request.configs:
        named = [
            (
                Path(config).stem,
                configuration.overlay(rest, _documents([config], stdin, step, problems)),
            )
            for config in request.configs
        ]
    given = planning.read_types(request.instance_types, problems)
    ready = [
        (name, configuration.build(documents, problems, built_in=request.built_in_node_pool))
        for name, documents in named
    ]
    decided = [controller_settings.of(found, problems) for _, found in ready]
    if not problems:
        problems += [_WITHOUT_POOLS.format(name) for name, found in ready if not found.node_pools]
    if problems or scenario is None:
        raise ManifestError(list(dict.fromkeys(problems)))
    results: list[Result] = []
    notes: dict[str, None] = {}
    for number, ((name, found), (settings, whose)) in enumerate(zip(ready, decided, strict=True)):
        offered, guessed = planning.offers(found, given)
        notes |= dict.fromkeys((*found.notes, *guessed, whose))
        results.append(
            result.simulate(
                name,
                scenario,
                found.objects,
                Catalogue(version=1, instance_types=offered),
                settings,
                step=_shown(step, name, number, len(ready)),
            )
        )
    return Played(scenario=scenario, results=tuple(results), notes=tuple(notes))


def _shown(step: Step, name: str, number: int, of: int) -> Callable[[float], None]:
    """Progress of one configuration, told no more often than the bar can show."""
    last = -1

    def show(share: float) -> None:
        nonlocal last
        part = int(share * PARTS)
        if part != last:
            last = part
            step(f"simulating {name}", number * PARTS + part, of * PARTS)

    return show


def _documents(
    paths: Sequence[str], stdin: BinaryIO, step: Step, problems: list[str]
) -> list[Document]:
    def reading(name: str) -> None:
        step(f"reading {name}", 0, 1)

    contents = files.read(paths, stdin, reading, problems)
    return [each for name, text in contents for each in manifests.read(name, text, problems)]
