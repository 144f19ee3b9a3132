"""The simulated kube-scheduler: which ready node a waiting pod is bound to.

Most pods only ask for resources, labels and tolerance of taints; for them the node with much room left and few pods
like them is looked up, as kube-scheduler's default scoring does (`wishes`). Pods that must be spread, or go with or
apart from others, are placed by the scheduling engine itself, on the nodes that are there. A pod that is nominated to a
node is tried there first, and its room is kept from pods that do not matter more. Taints of effect PreferNoSchedule
are avoided wherever that is possible.
Source: kube-scheduler's LeastAllocated and BalancedAllocation (of two resources together: the one that is fuller
counts; versions before 1.36, see `daiku.scheduling.landing`), TaintToleration, which weighs three times as much, and
PodTopologySpread, which weighs twice as much.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from daiku.model import resources, taints
from daiku.model.instance_type import Catalogue
from daiku.model.node import Node
from daiku.model.pod import Pod
from daiku.model.requirements import Requirements
from daiku.model.topology import AffinityTerm
from daiku.scheduling import problem, solver
from daiku.simulation import wishes as wishing
from daiku.simulation.wishes import Wish
from daiku.state.snapshot import Snapshot

_NOTHING = Catalogue(version=1, instance_types={})


@dataclass(slots=True)
class Room:
    """A Node that takes pods, and what is left of it."""

    node: Node
    free: dict[str, int]
    known: Requirements
    lets_in: dict[int, bool]
    """Template of pods -> whether labels and taints let it in."""

    def admits(self, template: Pod) -> bool:
        """Whether labels and taints let pods of a template in."""
        key = id(template)
        if key not in self.lets_in:
            self.lets_in[key] = admits(self.node, self.known, template)
        return self.lets_in[key]

    def avoided_by(self, template: Pod) -> int:
        """How many taints pods of a template would rather not put up with."""
        soft = (t for t in self.node.taints if t.effect == "PreferNoSchedule")
        return sum(not taints.tolerates(template.tolerations, taint) for taint in soft)

    def fullness(self, requests: Mapping[str, int]) -> float:
        """How full it would be, 0 to 1, of cpu or memory, whichever is fuller."""
        total, free = self.node.allocatable, self.free
        shares = [
            1 - (free.get(r, 0) - requests.get(r, 0)) / total[r]
            for r in (resources.CPU, resources.MEMORY)
            if total.get(r)
        ]
        return max(shares, default=0.0)


class Scheduler:
    """Rooms, by the name of their Node."""

    def __init__(self, templates: Iterable[Pod]) -> None:
        known = tuple(templates)
        self.rooms: dict[str, Room] = {}
        self._terms = tuple(term for each in known for term in each.pod_anti_affinity)
        self._wishes: dict[int, list[Wish]] = {}
        """Template -> what its pods wish."""
        self._owners: dict[str, list[Wish]] = {}
        """Owner -> what those of its pods wish that say nothing themselves."""
        for each in known:
            owner = each.spread_with
            self._wishes[id(each)] = (
                self._owners.setdefault(owner, [Wish(s) for s in wishing.DEFAULTS])
                if owner
                else [Wish(s, each.meta.namespace) for s in each.spread if not s.hard]
            )
        every = (wish for own in self._wishes.values() for wish in own)
        self._said = [wish for wish in every if wish.spread.selector is not None]
        self._nodes: dict[str, Node] = {}
        self._templates: dict[int, Pod] = {}
        self._plain: dict[int, bool] = {}
        self._guests: dict[str, dict[str, Pod]] = {}
        """Node -> pods that wait and are nominated to it, by key."""

    def see(self, node: Node) -> None:
        """A Node is there, or looks different."""
        self._nodes[node.meta.name] = node
        is_open = node.is_ready and not node.unschedulable and node.meta.deleted is None
        room = self.rooms.get(node.meta.name)
        if not is_open:
            self.rooms.pop(node.meta.name, None)
        elif (
            room is None
            or room.node.taints != node.taints
            or room.node.meta.labels != node.meta.labels
        ):
            free = room.free if room is not None else dict(node.allocatable)
            known = Requirements.from_labels(node.meta.labels)
            self.rooms[node.meta.name] = Room(node, free, known, {})
        else:
            room.node = node

    def lose(self, name: str) -> None:
        """A Node is gone."""
        self.rooms.pop(name, None)

    def take(self, name: str, pod: Pod, sign: int = -1) -> None:
        """A pod comes to a node, or with `sign` 1 leaves it."""
        if (node := self._nodes.get(name)) is not None:
            counting = [wish for wish in self._said if wish.has(pod)]
            for wish in (*counting, *self._owners.get(pod.spread_with, ())):
                domain = wish.domain(node)
                if domain is not None:
                    wish.inside[domain] = wish.inside.get(domain, 0) - sign
        self._guests.get(name, {}).pop(pod.meta.key, None)
        room = self.rooms.get(name)
        if room is not None:
            for resource, amount in pod.requests.items():
                room.free[resource] = room.free.get(resource, 0) + sign * amount

    def is_plain(self, template: Pod) -> bool:
        """Whether no constraint between pods concerns it but wishes to be spread."""
        known = self._plain.get(id(template))
        if known is None:
            self._templates[id(template)] = template  # so that its id stays its own
            known = self._plain[id(template)] = not (
                any(spread.hard for spread in template.spread)
                or template.pod_affinity
                or template.pod_anti_affinity
                or template.preferred_pod_affinity
                or template.preferred_pod_anti_affinity
                or template.preferred_node_affinity
                or template.host_ports
                or template.volume_claims
                or any(_selects(term, template) for term in self._terms)
            )
        return known

    def best(self, pod: Pod, template: Pod) -> str | None:
        """The node that a plain pod likes best: few like it, and much room; None when none has enough room."""
        requests, least = pod.requests, 0
        found: list[tuple[str, Room]] = []
        for name, room in self.rooms.items():
            free = self._free(name, room, pod)
            if any(amount > free.get(r, 0) for r, amount in requests.items()):
                continue
            if room.admits(template):
                avoided = room.avoided_by(template)
                if not found or avoided < least:
                    found, least = [], avoided
                if avoided == least:
                    found.append((name, room))
        wishes = self._wishes.get(id(template), ())
        liked = wishing.points(wishes, [room.node for _, room in found])
        ranks = [
            (100 * room.fullness(requests) - points, name)
            for (name, room), points in zip(found, liked, strict=True)
        ]
        return min(ranks)[1] if ranks else None

    def nominate(self, pods: Iterable[Pod]) -> None:
        """These pods wait; those of them that are nominated to a node that is there have their room kept."""
        self._guests = {}
        for pod in pods:
            if pod.nominated_node_name in self.rooms:
                self._guests.setdefault(pod.nominated_node_name, {})[pod.meta.key] = pod

    def nominated(self, pod: Pod, template: Pod) -> str | None:
        """The node that a pod is nominated to, when it can go there."""
        name = pod.nominated_node_name
        room = self.rooms.get(name)
        if room is None or not room.admits(template):
            return None
        free = self._free(name, room, pod)
        fits = all(amount <= free.get(r, 0) for r, amount in pod.requests.items())
        return name if fits and self.is_plain(template) else None

    def _free(self, name: str, room: Room, pod: Pod) -> Mapping[str, int]:
        """What is left on a node for a pod."""
        guests = self._guests.get(name)
        if not guests:
            return room.free
        others = [
            other.requests
            for other in guests.values()
            if other.priority >= pod.priority and other.meta.key != pod.meta.key
        ]
        return resources.subtract(room.free, resources.add(*others)) if others else room.free

    def together(self, pods: Sequence[Pod], snapshot: Snapshot) -> dict[str, str]:
        """Nodes for pods with constraints between each other: pod -> node, in an order in which they can be bound."""
        asked = problem.build(pods, replace(snapshot, node_pools=()), _NOTHING)
        placed = solver.solve(asked, grow=False).placements
        return {pod: node for pod, node in placed.items() if node in self.rooms}


def admits(node: Node, known: Requirements, template: Pod) -> bool:
    """Whether a node's labels and taints let pods of a template in."""
    if taints.untolerated(node.taints, template.tolerations) is not None:
        return False
    mine = node.meta.labels
    if any(mine.get(key) != value for key, value in template.node_selector.items()):
        return False
    terms = template.required_node_affinity
    return not terms or any(not known.compatible(term) for term in terms)


def _selects(term: AffinityTerm, template: Pod) -> bool:
    if term.selector is None:
        return False
    return not Requirements.from_labels(template.meta.labels).compatible(term.selector)
