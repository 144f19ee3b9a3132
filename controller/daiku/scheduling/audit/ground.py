"""Every place for pods that there is or will be, with the pods on it and the pods that come.

A place that is not launched yet may end up in one of several domains, such as zones. Then it counts as what is worst:
nothing can rely on it, and it may stand in the way in each of them.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from daiku.commands import CreateNodeClaim
from daiku.model import labels
from daiku.model.instance_type import Catalogue, InstanceType
from daiku.model.nodeclaim import NodeClaim
from daiku.model.pod import Pod
from daiku.model.requirements import Requirement, Requirements
from daiku.model.taints import Taint
from daiku.scheduling.audit import suitability
from daiku.state.snapshot import Snapshot
from daiku.state.statenode import StateNode


@dataclass(slots=True, kw_only=True, eq=False)
class Place:
    """A node, or a NodeClaim that will be one."""

    name: str
    becomes: Requirements
    """What is sure about its labels."""
    taints: tuple[Taint, ...]
    is_sure: bool
    """Its labels are known: it is launched, or was never anything but a Node."""
    is_leaving: bool = False
    """It is on its way out, and its domain may go with it."""
    there: Sequence[Pod] = ()
    """Bound to it, not finished, and not moved elsewhere by the plan."""
    coming: list[Pod] = field(default_factory=list[Pod])
    """Placed on it by the plan."""
    command: CreateNodeClaim | None = None
    """What makes it."""
    types: Sequence[InstanceType] = ()
    """What it may be launched as."""
    index: int = 0
    """Where it stands in `Ground.places`."""
    _domains: dict[str, tuple[str, ...]] = field(default_factory=dict[str, tuple[str, ...]])

    def domains(self, key: str) -> tuple[str, ...]:
        """The values that its label `key` may get, in order; empty: it will not have the label."""
        if key not in self._domains:
            self._domains[key] = self._find_domains(key)
        return self._domains[key]

    def may_suit(self, alternatives: Iterable[Requirements]) -> bool:
        """Whether its labels can meet one of `alternatives`."""
        if self.is_sure:
            return any(suitability.is_sure(asked, self.becomes) for asked in alternatives)
        given = frozenset(
            (labels.HOSTNAME, *(key for t in self.types for key in t.requirements.by_key))
        )
        return any(not self.becomes.compatible(asked, given) for asked in alternatives)

    def _find_domains(self, key: str) -> tuple[str, ...]:
        known = self.becomes.by_key.get(key)
        if known is not None and not known.complement:
            return known.sorted_values()
        if self.is_sure:
            return ()
        if key == labels.HOSTNAME:
            return (self.name,)
        offered = dict.fromkeys(v for t in self.types for v in t.requirements.get(key).values)
        return tuple(sorted(v for v in offered if known is None or known.has(v)))


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Ground:
    """All places."""

    places: tuple[Place, ...]
    """In the order of their names."""
    namespaces: Mapping[str, Mapping[str, str]]
    """Labels of namespaces, by name."""
    coming: tuple[tuple[Place, Pod], ...]
    """Pods that the plan places, with their places, in the order of the plan."""


def survey(
    creations: Sequence[CreateNodeClaim],
    placements: Mapping[str, str],
    snapshot: Snapshot,
    catalogue: Catalogue,
) -> Ground:
    """The places of `snapshot` and those that `creations` make, with pods as `placements` put them."""
    by_name: dict[str, Place] = {}
    places: list[Place] = []
    target_of = dict(placements)
    for creation in creations:
        target_of |= dict.fromkeys(creation.pods, creation.node_claim.meta.name)
    for state_node in snapshot.state_nodes:
        place = _of_state_node(state_node, target_of, catalogue)
        places.append(place)
        by_name[state_node.claim_name] = by_name[state_node.name] = place
    for creation in creations:
        claim = creation.node_claim
        place = _of_claim(claim, catalogue)
        place.command = creation
        places.append(place)
        by_name[claim.meta.name] = place
    coming: list[tuple[Place, Pod]] = []
    for pod in placeable(snapshot):
        target = target_of.get(pod.meta.key)
        place = by_name.get(target) if target else None
        if place is not None:
            place.coming.append(pod)
            coming.append((place, pod))
    rank = {key: position for position, key in enumerate(target_of)}
    ordered = tuple(sorted(places, key=lambda p: p.name))
    for index, place in enumerate(ordered):
        place.index = index
    return Ground(
        places=ordered,
        namespaces=snapshot.namespaces,
        coming=tuple(sorted(coming, key=lambda each: rank[each[1].meta.key])),
    )


def placeable(snapshot: Snapshot) -> tuple[Pod, ...]:
    """Pods that a plan may place: those that wait, and those whose nodes are on their way out."""
    leaving = (s for s in snapshot.state_nodes if s.is_deleting)
    return (*snapshot.waiting, *(p for s in leaving for p in s.reschedulable))


def _of_state_node(
    state_node: StateNode, target_of: Mapping[str, str], catalogue: Catalogue
) -> Place:
    claim = state_node.claim
    if claim is not None and not state_node.provider_id:
        place = _of_claim(claim, catalogue)
        place.is_leaving = state_node.is_deleting
        return place
    known = {labels.HOSTNAME: state_node.name, **state_node.labels}
    named = Requirements.of(Requirement.parse(labels.NODE_NAME, "In", (state_node.name,)))
    return Place(
        name=state_node.name,
        becomes=Requirements.from_labels(known) & named,
        taints=state_node.taints,
        is_sure=True,
        is_leaving=state_node.is_deleting,
        there=[
            pod
            for pod in state_node.pods
            if not pod.is_finished and not (state_node.is_deleting and pod.meta.key in target_of)
        ],
    )


def _of_claim(claim: NodeClaim, catalogue: Catalogue) -> Place:
    named = claim.requirements.get(labels.INSTANCE_TYPE)
    known = catalogue.instance_types.get(claim.node_class, ())
    return Place(
        name=claim.meta.name,
        becomes=claim.requirements & Requirements.from_labels(claim.meta.labels),
        taints=claim.taints,
        is_sure=False,
        types=[t for t in known if named.has(t.name)],
    )
