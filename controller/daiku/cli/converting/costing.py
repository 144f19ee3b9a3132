"""What the pods of a cluster cost on its Auto Scaling groups, and what they would cost on the NodePools proposed.

Today's cost is that of the instances that run, at the catalogue's prices. The other one is simulated: a day that begins
without a node and with every pod of the input that no DaemonSet made, in which a pod that has to go comes again; or the
day that a Scenario in the input tells. So it holds what kube-scheduler and consolidation make of the proposal, not only
what was planned.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Final

from daiku import forecast
from daiku.api import configuration, manifests
from daiku.api.manifests import ManifestError
from daiku.cli import controller_settings, planning
from daiku.cli.converting import tree
from daiku.cli.converting.groups import Group
from daiku.cli.converting.tree import Tree
from daiku.cli.simulating import scenario_file
from daiku.events import Object
from daiku.model.deployment import Deployment
from daiku.model.instance_type import Catalogue
from daiku.model.meta import Meta
from daiku.model.pod import Pod
from daiku.scheduling import prices
from daiku.simulation import result
from daiku.simulation.scenario import DAY, Scenario, Service

_OF_TODAY: Final = frozenset({"NodePool", "NodeClaim", "EC2NodeClass", "Node"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Compared:
    """Both, as USD per hour."""

    nodes_now: int
    usd_now: float
    unpriced: int
    """Instances whose price is not known; counted as nothing."""
    nodes_then: float
    """On average over the simulated time."""
    usd_then: float
    hours: float
    """How long that is."""
    disrupted: int
    """Pods that had to go in it."""
    homeless: int
    """Pods without a place at its end."""
    notes: tuple[str, ...]


def compare(
    groups: Sequence[Group],
    proposed: Sequence[Tree],
    contents: Sequence[tuple[str, bytes]],
    instance_types: str,
    step: Callable[[str, int, int], None] = lambda _what, _done, _of: None,
) -> Compared:
    """Simulate the pods of some files on the proposal.

    Args:
        groups: The groups as they are.
        proposed: NodePools and node classes.
        contents: Name and content of files with pods: a `daiku snapshot`, or a list of kubectl; or with a Scenario.
        instance_types: As on the command line of `daiku plan`.
        step: Is told what is done now, how much is behind it, and how much there is.

    Raises:
        ManifestError: Something cannot be used.
    """
    problems: list[str] = []
    found = [each for name, text in contents for each in manifests.read(name, text, problems)]
    happening = [d for d in found if scenario_file.is_part(d)]
    is_told = any(d.kind == scenario_file.KIND for d in happening)
    kept = [d for d in found if d.kind not in _OF_TODAY and not (is_told and d in happening)]
    made = manifests.read("the proposal", tree.write(proposed).encode(), problems)
    built = configuration.build([*kept, *made], problems)
    given = planning.read_types(instance_types, problems)
    settings, whose = controller_settings.of(built, problems)
    scenario = (
        scenario_file.read(happening, (), None, problems) if is_told else _as_now(built.objects)
    )
    if problems or scenario is None:
        raise ManifestError(problems)
    offered, guessed = planning.offers(built, given)
    catalogue = Catalogue(version=1, instance_types=offered)
    # What Deployments do with their pods is part of the scenario.
    world = [each for each in built.objects if not isinstance(each, Deployment)]
    played = result.simulate(
        "the proposal",
        scenario,
        world,
        catalogue,
        settings,
        step=lambda share: step("simulating", int(100 * share), 100),
    )
    known = prices.in_any_class(catalogue)
    bought = [(kind, zone, _bought(group)) for group in groups for kind, zone in group.running]
    return Compared(
        nodes_now=len(bought),
        usd_now=sum(known.get(each, 0.0) for each in bought),
        unpriced=sum(each not in known for each in bought),
        nodes_then=played.nodes_mean,
        usd_then=played.usd_per_hour,
        hours=played.hours,
        disrupted=played.disrupted,
        homeless=played.still_waiting,
        notes=(*built.notes, *guessed, whose),
    )


def _as_now(objects: Sequence[Object]) -> Scenario:
    """A day in which all pods want to run that run or wait now."""
    alike: dict[tuple[str, tuple[str, ...]], list[Pod]] = {}
    for each in objects:
        if isinstance(each, Pod) and not (each.is_daemon or each.is_mirror or each.is_finished):
            alike.setdefault(
                (each.meta.controller_uid or each.meta.key, each.volume_claims), []
            ).append(each)
    services = [
        Service(name=pods[0].meta.key, template=_template(pods[0]), targets=((0.0, len(pods)),))
        for pods in alike.values()
    ]
    ordered = tuple(sorted(services, key=lambda each: each.name))
    return Scenario(name="as now", start=forecast.AT, lasts=DAY, seed=0, services=ordered)


def _template(pod: Pod) -> Pod:
    """The pod before anybody has bound it."""
    meta = Meta(
        name=pod.meta.name,
        namespace=pod.meta.namespace,
        labels=pod.meta.labels,
        annotations=pod.meta.annotations,
    )
    return replace(pod.unbound(), meta=meta, unschedulable=False)


def _bought(group: Group) -> str:
    """How its instances are taken to have been bought: the AWS CLI does not say it of each."""
    return group.capacity_types[0]
