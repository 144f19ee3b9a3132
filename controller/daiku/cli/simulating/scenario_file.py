"""From documents to a scenario: the `kind: Scenario` among them, and the Deployments beside it.

A Deployment or StatefulSet keeps its replicas for the whole time, unless a workload of its name says otherwise.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

import msgspec

from daiku.api.manifests import Document
from daiku.cli.simulating import templates, texts, trace, wire
from daiku.model.pod import Pod
from daiku.simulation import demand
from daiku.simulation.scenario import (
    Arrival,
    PriceChange,
    Reclaim,
    Scenario,
    Service,
    SoldOut,
)

KIND: Final = "Scenario"
_KEPT: Final = frozenset({"Deployment", "StatefulSet"})
_BARE: Final = wire.Template(spec=msgspec.Raw(b'{"containers":[]}'))
PODS_MAX: Final = 1_000_000
"""Pods that may come in one scenario."""


@dataclass(slots=True)
class _Work:
    text: wire.ScenarioText
    deployed: dict[str, Document]
    seed: int
    lasts: float = 0.0
    second_of_day: float = 0.0
    services: list[Service] = field(default_factory=list[Service])
    arrivals: list[Arrival] = field(default_factory=list[Arrival])


def is_part(document: Document) -> bool:
    """Whether it says what happens, and not what the cluster is made of."""
    return document.kind == KIND or document.kind in _KEPT


def read(
    documents: Sequence[Document],
    traces: Sequence[tuple[str, bytes]],
    seed: int | None,
    problems: list[str],
) -> Scenario | None:
    """The scenario; None, with a line in `problems`, when it cannot be used.

    Args:
        documents: Those of which `is_part` holds.
        traces: Name and content of trace files.
        seed: Stands in for the scenario's own.
        problems: Takes a line for each mistake.
    """
    found = [each for each in documents if each.kind == KIND]
    if len(found) > 1:
        problems.append(f"{found[1].where}: there is a scenario already: {found[0].where}")
        return None
    if not documents and not traces:
        problems.append(
            "nothing happens: give a file with a `kind: Scenario`, a Deployment, or a --trace"
        )
        return None
    where = found[0].where if found else "the scenario"
    known = len(problems)
    try:
        text = wire.scenarios.decode(found[0].content).spec if found else wire.ScenarioText()
        files = [*traces, *_named_trace(text, found)]
        recorded = [a for name, content in files for a in trace.read(name, content, problems)]
        deployed = {each.name: each for each in documents if each.kind in _KEPT}
        work = _Work(text, deployed, text.seed if seed is None else seed, arrivals=recorded)
        made = _scenario(found[0].name if found else "as given", work)
    except (msgspec.DecodeError, ValueError, OSError) as error:
        problems.append(f"{where}: {error}")
        return None
    return made if len(problems) == known else None


def _named_trace(text: wire.ScenarioText, found: Sequence[Document]) -> Sequence[tuple[str, bytes]]:
    """The trace that a scenario names, beside its own file."""
    if not text.trace:
        return ()
    beside = Path(found[0].place.partition(", document")[0]).parent / text.trace
    return ((str(beside), beside.read_bytes()),)


def _scenario(name: str, work: _Work) -> Scenario:
    text = work.text
    start = texts.time(text.start, "start")
    work.lasts = texts.seconds(text.duration, "duration")
    if work.arrivals:
        # A trace is played to its end.
        work.lasts = max(work.lasts, *(a.at + a.lasts for a in work.arrivals[-1:]))
    if work.lasts <= 0:
        raise ValueError("duration: is nothing")
    work.second_of_day = start.hour * 3600.0 + start.minute * 60.0 + start.second
    for workload in text.workloads:
        try:
            _workload(workload, work)
        except ValueError as error:
            raise ValueError(f"workload {workload.name}: {error}") from None
    given = {workload.name for workload in text.workloads}
    for each in work.deployed.values():
        if each.name not in given:
            work.services.append(_steady(each))
    if len(work.arrivals) > PODS_MAX:
        raise ValueError(f"{len(work.arrivals)} pods would come; at most {PODS_MAX} are simulated")
    rate = text.interruptions.per_hour
    if rate < 0:
        raise ValueError(f"interruptions.perHour: {rate:g}: must be at least 0")
    return Scenario(
        name=name,
        start=start,
        lasts=work.lasts,
        seed=work.seed,
        services=tuple(work.services),
        arrivals=tuple(sorted(work.arrivals, key=lambda a: (a.at, a.workload))),
        boot=texts.seconds(text.boot, "boot"),
        interrupted_per_hour=rate,
        sold_out=tuple(_sold_out(each, work.lasts) for each in text.sold_out),
        price_changes=tuple(_price(each) for each in text.prices),
        reclaims=tuple(_reclaim(each) for each in text.interruptions.waves),
    )


def _workload(text: wire.WorkloadText, work: _Work) -> None:
    ways = [text.replicas is not None, text.per_hour is not None, text.batch is not None]
    if sum(ways) != 1:
        raise ValueError("say exactly one of replicas, perHour and batch")
    pods = _pods(text, work, "ReplicaSet" if text.replicas is not None else "Job")
    if text.replicas is not None:
        along = texts.curve(text.replicas, "replicas")
        targets = demand.scaled(along, work.lasts, work.second_of_day)
        service = Service(
            name=text.name, template=pods[0], targets=targets, max_unavailable=text.max_unavailable
        )
        work.services.append(service)
        return
    lifetime = texts.lifetime(text.lasts, "lasts")
    if text.per_hour is not None:
        work.arrivals += demand.by_chance(
            text.name,
            pods,
            texts.curve(text.per_hour, "perHour"),
            lifetime,
            lasts=work.lasts,
            second_of_day=work.second_of_day,
            seed=work.seed,
        )
    elif text.batch is not None:
        every = texts.seconds(text.batch.every, "batch.every")
        if every < 1:
            raise ValueError("batch.every: is less than a second")
        at = (texts.second_of_day(text.batch.at, "batch.at") - work.second_of_day) % 86_400
        begins: list[float] = []
        while at < work.lasts:
            begins.append(at)
            at += every
        work.arrivals += demand.in_batches(
            text.name, pods, begins, text.batch.pods, lifetime, seed=work.seed
        )


def _pods(text: wire.WorkloadText, work: _Work, owner: str) -> list[Pod]:
    """The pods of a workload, one for each size."""
    template = _BARE
    if bytes(text.template):
        template = wire.templates.decode(text.template)
    elif text.name in work.deployed:
        template = wire.deployed.decode(work.deployed[text.name].content).spec.template
    elif text.cpu is None and text.memory is None:
        raise ValueError("say what its pods ask for: cpu and memory, or a template")
    pod = templates.of_template(template, text.name, text.namespace, text.labels, owner)
    return templates.sized(pod, _list(text.cpu), _list(text.memory))


def _list(value: wire.Quantity | list[wire.Quantity] | None) -> list[str]:
    if value is None:
        return []
    return [str(each) for each in value] if isinstance(value, list) else [str(value)]


def _steady(document: Document) -> Service:
    """A Deployment that nothing else is said of."""
    found = wire.deployed.decode(document.content).spec
    pod = templates.of_template(found.template, document.name, document.namespace, {}, "ReplicaSet")
    replicas = 1 if found.replicas is None else found.replicas
    return Service(name=document.name, template=pod, targets=((0.0, replicas),))


def _sold_out(text: wire.SoldOutText, lasts: float) -> SoldOut:
    return SoldOut(
        pools=texts.pools(text),
        begins=texts.seconds(text.begins, "soldOut.from"),
        ends=texts.seconds(text.ends, "soldOut.to") if text.ends else lasts,
    )


def _price(text: wire.PriceText) -> PriceChange:
    if text.factor <= 0:
        raise ValueError(f"prices.factor: {text.factor:g}: must be more than 0")
    at = texts.seconds(text.at, "prices.at")
    return PriceChange(pools=texts.pools(text), at=at, factor=text.factor)


def _reclaim(text: wire.WaveText) -> Reclaim:
    if not 0 <= text.share <= 1:
        raise ValueError(f"interruptions.waves.share: {text.share:g}: must be from 0 to 1")
    at = texts.seconds(text.at, "interruptions.waves.at")
    return Reclaim(pools=texts.pools(text), at=at, share=text.share)
