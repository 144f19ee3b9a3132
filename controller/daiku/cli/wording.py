"""How a plan is put into words and figures; the same in every format that people read."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Final

from daiku.cli import figures
from daiku.forecast import ExistingNode, Forecast, PlannedNode
from daiku.model import resources, units
from daiku.model.workload import Workload

WORKLOADS_MOST: Final = 3
"""Workloads that are named on one line."""
EXACT: Final = 1e-9
"""Gap below which only the rounding of sums is left: nothing cheaper exists."""
NEAR: Final = 0.25
"""Gap up to which it says something about the plan; beyond, it rather says how weak the bound is."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Group:
    """New nodes that look alike."""

    nodes: tuple[PlannedNode, ...]

    @property
    def first(self) -> PlannedNode:
        """One of them."""
        return self.nodes[0]

    @property
    def pods(self) -> tuple[str, ...]:
        """All their pods."""
        return tuple(pod for node in self.nodes for pod in node.pods)

    @property
    def usd_per_hour(self) -> float:
        """What they cost together."""
        return sum(node.usd_per_hour for node in self.nodes)

    def fill(self, resource: str) -> str:
        """How much of a resource their pods ask for, and how much one node has."""
        return fill(
            sum(node.requests.get(resource, 0) for node in self.nodes),
            sum(node.allocatable.get(resource, 0) for node in self.nodes),
            resource,
            self.first.allocatable.get(resource, 0),
        )


def groups(nodes: Iterable[PlannedNode]) -> list[Group]:
    """Nodes of equal NodePool, type, capacity type, zones and price together."""

    def alike(node: PlannedNode) -> tuple[str, str, str, tuple[str, ...], float]:
        return (
            node.nodepool,
            node.instance_types[0],
            node.capacity_type,
            node.zones,
            node.usd_per_hour,
        )

    ordered = sorted(nodes, key=alike)
    return [Group(nodes=tuple(each)) for _, each in groupby(ordered, key=alike)]


def fill(asked: int, there: int, resource: str, each: int) -> str:
    """Such as "95 % of 7.9"; cpu in cores, memory in GiB."""
    share = f"{100 * asked / there:.0f} %" if there > 0 else "-"
    return f"{share} of {amount(resource, each)}"


def fill_of(node: ExistingNode, resource: str) -> str:
    """How full an existing node would be."""
    there = node.allocatable.get(resource, 0)
    return fill(node.requests.get(resource, 0), there, resource, there)


def amount(resource: str, value: int) -> str:
    """An amount as people say it."""
    if resource == resources.CPU:
        return f"{value / 1000:.4g}"
    return f"{value / 2**30:.4g} GiB" if resource == resources.MEMORY else str(value)


def instance_type(node: PlannedNode) -> str:
    """The cheapest type, and how many others would do."""
    others = len(node.instance_types) - 1
    return f"{node.instance_types[0]} (+{others})" if others else node.instance_types[0]


def zones(names: Sequence[str]) -> str:
    """Zones with what they have in common written once, such as us-west-2a,b,c."""
    if len(names) < 2:
        return "".join(names)
    first, last = min(names), max(names)
    alike = next((i for i, letter in enumerate(first) if last[i] != letter), len(first))
    return first[:alike] + ",".join(name[alike:] for name in names)


def by_workload(
    pods: Iterable[str], workloads: Mapping[str, Workload]
) -> dict[Workload, list[str]]:
    """Pods under what they belong to, in order."""
    found: dict[Workload, list[str]] = {}
    for pod in pods:
        namespace, _, name = pod.rpartition("/")
        found.setdefault(workloads.get(pod, Workload(namespace, name, "Pod")), []).append(pod)
    return {each: found[each] for each in sorted(found)}


def workloads(pods: Iterable[str], known: Mapping[str, Workload]) -> str:
    """Such as "40 web, 3 api and 2 more"; the one with most pods first."""
    counted = sorted(by_workload(pods, known).items(), key=lambda item: (-len(item[1]), item[0]))
    named = [f"{len(own)} {each.name}" for each, own in counted[:WORKLOADS_MOST]]
    more = len(counted) - len(named)
    return ", ".join(named) + (f" and {more} more" if more else "")


def summary(made: Forecast) -> str:
    """The whole plan in one sentence."""
    new = sum(len(node.pods) for node in made.new_nodes)
    moved = sum(len(node.added) for node in made.existing_nodes)
    used = sum(1 for node in made.existing_nodes if node.added)
    parts: list[str] = []
    if new:
        parts.append(
            f"{units.counted(new, 'pod')} on {units.counted(len(made.new_nodes), 'new node')}"
        )
    if moved:
        parts.append(f"{units.counted(moved, 'pod')} on {units.counted(used, 'existing node')}")
    if made.homeless:
        verb = "fits" if len(made.homeless) == 1 else "fit"
        parts.append(f"{units.counted(len(made.homeless), 'pod')} {verb} nowhere")
    if made.later:
        parts.append(f"{units.counted(len(made.later), 'pod')} not decided on yet, see the notes")
    if made.objections:
        parts.append("the audit objects, see the notes")
    return f"{'; '.join(parts)}." if parts else "No pod waits for a node."


def bound(made: Forecast) -> str:
    """How near the new nodes are to the least possible price, in words."""
    if not made.new_nodes:
        return "No new node is needed."
    least = made.lower_bound_usd_per_hour
    if least <= 0:
        return "How little it could cost is not known."
    if made.objections:
        return (
            f"Not a price to rely on: no nodes for these pods cost less than ${figures.hourly(least)} an hour, and "
            "what this plan leaves out can only add to it."
        )
    if made.gap < EXACT:
        return f"This is the least possible: no nodes for these pods cost less than ${figures.hourly(least)} an hour."
    share = f"{100 * made.gap:.1f} %" if made.gap >= 0.0005 else "0.1 %"
    near = f"Within {share} of" if made.gap <= NEAR else f"At most {share} more than"
    return f"{near} the least possible: no nodes for these pods cost less than ${figures.hourly(least)} an hour."
