"""From the files that `daiku plan` is given to the text that it prints.

Not here: the command line (`plan`), the decision (`daiku.forecast`), how a plan is written (`render_*`).
"""

import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, Final

from daiku import comparison, succession
from daiku.api import configuration, manifests
from daiku.api.configuration import Configuration
from daiku.api.manifests import ManifestError
from daiku.cli import controller_settings, intake
from daiku.cloud.kwok import catalogue as kwok_catalogue
from daiku.comparison import Comparison
from daiku.events import Object
from daiku.forecast import Forecast, forecast
from daiku.model import labels, resources
from daiku.model.instance_type import Catalogue, InstanceType, NodeClassRef
from daiku.model.node import Node
from daiku.model.nodeclass import NodeClass
from daiku.model.nodepool import NodePool
from daiku.model.pod import Pod
from daiku.model.volume import PersistentVolume, StorageClass
from daiku.provisioning import static
from daiku.scheduling.packer.effort import Stop
from daiku.settings import Settings

if TYPE_CHECKING:
    from daiku.model.requirements import Requirements

BUILT_IN: Final = "built-in"
"""Value of --instance-types that asks for the kwok cloud's own types whatever the node class."""
KWOK: Final = "KWOKNodeClass"
EC2: Final = "EC2NodeClass"
_ZONE: Final = re.compile(r"[a-z]{2}(-[a-z]+)+-[0-9][a-z]")
"""A zone as AWS names them."""

Step = Callable[[str, int, int], None]
Offered = Mapping[NodeClassRef, tuple[InstanceType, ...]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """What is asked on the command line."""

    sources: tuple[str, ...]
    """Files, folders, or -."""
    node_pools: tuple[str, ...] = ()
    instance_types: str = ""
    """A file, `built-in`, or empty."""
    against: tuple[str, ...] = ()
    built_in_node_pool: bool = False
    """Whether input without a NodePool is planned with a built-in one."""
    repack: bool = False
    """Whether to say how the nodes of the input could be repacked."""
    seconds_most: float | None = None
    """Seconds after which the search for cheaper nodes ends; None: when it has taken its steps."""
    output: str = "table"
    """table, json or markdown."""
    colour: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """What is printed."""

    text: str
    notes: tuple[str, ...]
    """For standard error; empty where `text` holds them."""
    is_sound: bool
    """Every pod of the (second) configuration has a place, and nothing speaks against any of the places."""


def answer(request: Request, stdin: BinaryIO, step: Step, timer: Callable[[], float]) -> Answer:
    """Plan what `request` asks for.

    Args:
        request: What is asked.
        stdin: Where - reads from.
        step: Is told what is done now, how many steps are behind it, and how many there are.
        timer: Seconds since some point in the past.

    Raises:
        ManifestError: Some of the input cannot be used.
    """
    began = timer()
    given_both = ((*request.sources, *request.node_pools), request.against)
    taken = intake.take(given_both, stdin, step)
    problems = taken.problems
    (first, second) = taken.documents
    build = partial(configuration.build, built_in=request.built_in_node_pool)
    configurations = [build(first, problems)]
    if request.against:
        found: list[str] = []
        configurations.append(build(configuration.overlay(first, second), found))
        configurations[1] = _followed(*configurations)
        # What both have in common is wrong once.
        problems += [each for each in found if each not in problems]
    given = read_types(request.instance_types, problems)
    taken.forgive()
    problems += _without_pools(configurations) if not problems else []
    if problems:
        raise ManifestError(problems)
    configurations = [replace(c, notes=(*taken.notes, *c.notes)) for c in configurations]
    forecasts: list[Forecast] = []
    for number, each in enumerate(configurations):
        step("deciding", 1 + number, 1 + len(configurations))
        stop = _ends_after(request.seconds_most, timer)
        forecasts.append(_forecast(each, given, repacked=request.repack, stop=stop))
    seconds = timer() - began
    compared = comparison.compare(*forecasts) if request.against else None
    return Answer(
        text=_render(request, forecasts[-1], compared, seconds),
        # JSON has no place for them.
        notes=_notes(forecasts) if request.output == "json" else (),
        is_sound=forecasts[-1].is_sound,
    )


def _without_pools(configurations: Sequence[Configuration]) -> list[str]:
    """What to say when there is nothing to make nodes of."""
    if all(each.node_pools for each in configurations):
        return []
    missing = (
        "no NodePool is in the input; give yours with --nodepools FILE, or --built-in-nodepool to plan with one of "
        "daiku's own (linux, amd64, on-demand, made-up instance types)"
    )
    return [missing]


def _followed(first: Configuration, second: Configuration) -> Configuration:
    """The second configuration without the nodes that would go, and with their pods waiting."""
    objects, said = succession.followed(first.objects, second.objects)
    return replace(second, objects=tuple(objects), notes=(*said, *second.notes))


@dataclass(frozen=True, slots=True, kw_only=True)
class Cluster:
    """A cluster as files say it."""

    objects: Sequence[Object]
    catalogue: Catalogue
    """What can be bought for its node classes."""
    settings: Settings
    notes: tuple[str, ...]
    """What was guessed, and whose settings these are."""


def cluster(
    contents: Sequence[tuple[str, bytes]], instance_types: str, *, live: bool = False
) -> Cluster:
    """What files say of a cluster.

    Args:
        contents: Name and content of each file.
        instance_types: As on the command line: a file, `built-in`, or empty.
        live: Whether it was read from a cluster just now, of which nothing is guessed.

    Raises:
        ManifestError: Something cannot be used, or there are no instance types for a node class.
    """
    problems: list[str] = []
    found = _read(contents, problems)
    given = read_types(instance_types, problems)
    settings, whose = _settings(found, problems)
    offered, guessed = offers(found, given, guesses=not live)
    return Cluster(
        objects=found.objects,
        catalogue=Catalogue(version=1, instance_types=offered),
        settings=settings,
        notes=(whose, *guessed),
    )


def without_types(contents: Sequence[tuple[str, bytes]]) -> Cluster:
    """The same, for those who need not know what can be bought.

    Raises:
        ManifestError: Something cannot be used.
    """
    problems: list[str] = []
    found = _read(contents, problems)
    settings, whose = _settings(found, problems)
    nothing = Catalogue(version=0, instance_types={})
    return Cluster(objects=found.objects, catalogue=nothing, settings=settings, notes=(whose,))


def _read(contents: Sequence[tuple[str, bytes]], problems: list[str]) -> Configuration:
    documents = [each for name, text in contents for each in manifests.read(name, text, problems)]
    return configuration.build(documents, problems)


def _settings(found: Configuration, problems: list[str]) -> tuple[Settings, str]:
    """The settings to decide with, and whose they are.

    Raises:
        ManifestError: There are problems, of the settings or from before.
    """
    settings, whose = controller_settings.of(found, problems)
    if problems:
        raise ManifestError(problems)
    return settings, whose


def read_types(
    instance_types: str, problems: list[str]
) -> tuple[InstanceType, ...] | Offered | None:
    """What --instance-types says: types for every node class, or types per node class; None: nothing."""
    if not instance_types:
        return None
    if instance_types == BUILT_IN:
        return kwok_catalogue.built_in()
    path = Path(instance_types)
    try:
        content = path.read_bytes()
        if content.lstrip()[:1] != b"{":
            return kwok_catalogue.read(path)
    except OSError as error:
        problems.append(f"instance types {instance_types}: {error.strerror}; give a JSON file")
        return None
    except kwok_catalogue.CatalogueError as error:
        problems.append(str(error))
        return None
    except (OverflowError, RecursionError) as error:
        problems.append(f"instance types {instance_types}: cannot be read: {error}")
        return None
    known = len(problems)
    found = configuration.instance_types(
        manifests.read(instance_types, content, problems), problems
    )
    if not found and len(problems) == known:
        problems.append(
            f"instance types {instance_types}: holds no instance types; give a JSON list in the format of "
            "Karpenter's kwok provider, or a `daiku snapshot` taken while the cloud could be reached"
        )
    return found


def _ends_after(seconds: float | None, timer: Callable[[], float]) -> Stop | None:
    """Whether so much time has passed since this call."""
    if seconds is None:
        return None
    end = timer() + seconds
    return lambda: timer() >= end


def _forecast(
    found: Configuration,
    given: tuple[InstanceType, ...] | Offered | None,
    *,
    repacked: bool,
    stop: Stop | None,
) -> Forecast:
    offered, notes = offers(found, given, listed=True)
    bought = Catalogue(version=1, instance_types=offered)
    settings, whose = _settings(found, [])
    pools = [each.meta.name for each in found.node_pools if each.replicas is not None]
    standing = [
        f"NodePool {name} is static, and gets no nodes: the feature gate {static.GATE} is off in the settings"
        for name in sorted(pools)
        if not settings.is_on(static.GATE)
    ]
    made = forecast(found.objects, bought, settings, repacked=repacked, stop=stop)
    better = (str(made.repack),) if made.repack is not None else ()
    said = (
        *found.notes,
        *notes,
        whose,
        *standing,
        *_unpriced(made),
        *made.notes,
        *better,
        *made.objections,
    )
    return replace(made, notes=said)


def offers(
    found: Configuration,
    given: tuple[InstanceType, ...] | Offered | None,
    *,
    listed: bool = False,
    guesses: bool = True,
) -> tuple[Offered, Sequence[str]]:
    """Instance types of every node class, and what was guessed.

    Args:
        found: What the input says.
        given: What --instance-types says.
        listed: Whether EC2's types as this release knows them, at list prices, stand in for what is not given.
        guesses: Whether types of other node classes, and made-up ones of the kwok cloud, may stand in for it.

    Raises:
        ManifestError: There are none for a node class, and to make some up would mislead.
    """
    if isinstance(given, tuple):
        return {ref: _with_pods(given, ref, found) for ref in found.node_classes}, ()
    known = {**found.offered, **(given or {})}
    offered: dict[NodeClassRef, tuple[InstanceType, ...]] = {}
    notes: list[str] = []
    missing: list[str] = []
    for ref in found.node_classes:
        alike = [each for each in known if each.kind == ref.kind] or list(known)
        if ref in known:
            offered[ref] = known[ref]
        elif alike and guesses:
            other = min(alike, key=lambda r: (r.kind, r.name))
            offered[ref] = known[other]
            notes.append(
                f"{ref.kind} {ref.name} is planned with the instance types of {other.kind} {other.name}"
            )
        elif ref.kind == KWOK and guesses:
            offered[ref] = kwok_catalogue.built_in()
            notes.append(
                "no instance types are given: planned with the built-in ones of the kwok cloud, at made-up prices"
            )
        elif listed and ref.kind == EC2:
            offered[ref] = _listed(found, ref, notes)
        else:
            missing.append(
                f"{ref.kind} {ref.name}: its instance types and prices are not in the input. Give a `daiku snapshot` "
                "of a cluster that has it, or --instance-types FILE; --instance-types built-in plans with made-up ones"
            )
    if missing:
        raise ManifestError(missing)
    return {ref: _with_pods(types, ref, found) for ref, types in offered.items()}, notes


def _listed(found: Configuration, ref: NodeClassRef, notes: list[str]) -> tuple[InstanceType, ...]:
    """EC2's types for one node class, in the zones that the input speaks of."""
    # It brings boto3 along, a third of a second that plans with a catalogue of their own should not pay.
    from daiku.cloud.aws import known_types, list_prices  # noqa: PLC0415

    zones = _zones(found) or tuple(f"{list_prices.REGION}{letter}" for letter in "abc")
    node_class = next(e for e in found.objects if isinstance(e, NodeClass) and e.ref == ref)
    notes.append(
        "no instance types are given: planned with those of EC2 that this release knows, in "
        f"{', '.join(zones)}, at the on-demand list prices of {list_prices.REGION} of {list_prices.AS_OF}, spot too; "
        "a `daiku snapshot` or --instance-types has those of the account"
    )
    return known_types.of_class(node_class, zones)


def _zones(found: Configuration) -> tuple[str, ...]:
    """The zones of AWS that NodePools, pods, volumes and nodes name."""
    named: list[Requirements] = []
    zones: list[str] = []
    for each in found.objects:
        match each:
            case NodePool():
                named.append(each.template.requirements)
            case Pod():
                named += each.required_node_affinity
                zones.append(each.node_selector.get(labels.ZONE, ""))
            case PersistentVolume() | StorageClass():
                named += each.alternatives
            case Node():
                zones.append(each.meta.labels.get(labels.ZONE, ""))
            case _:
                pass
    for asked in named:
        requirement = asked.get(labels.ZONE)
        zones += [] if requirement.complement else sorted(requirement.values)
    return tuple(sorted({zone for zone in zones if _ZONE.fullmatch(zone)}))


def _with_pods(
    types: tuple[InstanceType, ...], ref: NodeClassRef, found: Configuration
) -> tuple[InstanceType, ...]:
    """The types with as many pods as the kubelet settings of their node class allow."""
    classes = [each for each in found.objects if isinstance(each, NodeClass) and each.ref == ref]
    kubelet: Any = classes[0].spec.get("kubelet") if classes else None
    most = str(kubelet.get("maxPods", "")) if isinstance(kubelet, dict) else ""  # pyright: ignore[reportUnknownMemberType, reportUnknownArgumentType]
    if not most.isdecimal():
        return types
    pods = {resources.PODS: int(most)}
    return tuple(
        replace(t, capacity={**t.capacity, **pods}, allocatable={**t.allocatable, **pods})
        for t in types
    )


def _unpriced(made: Forecast) -> list[str]:
    unknown = [node for node in made.existing_nodes if node.usd_per_hour is None]
    if not unknown:
        return []
    kinds = sorted({node.instance_type or "no instance-type label" for node in unknown})
    return [
        f"existing nodes without a price, counted as $0: {len(unknown)} ({', '.join(kinds[:5])})"
    ]


def _notes(forecasts: Sequence[Forecast]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(note for each in forecasts for note in each.notes))


def _render(request: Request, made: Forecast, compared: Comparison | None, seconds: float) -> str:
    # Commands that only read a cluster should not pay for how plans are drawn.
    from daiku.cli import render_json, render_markdown, render_table  # noqa: PLC0415

    if request.output == "json":
        value = (
            render_json.of_comparison(compared, seconds)
            if compared is not None
            else render_json.of_forecast(made, seconds)
        )
        return json.dumps(value, indent=2) + "\n"
    if request.output == "markdown":
        return render_markdown.render(made, compared)
    return render_table.render(made, compared, seconds, colour=request.colour)
