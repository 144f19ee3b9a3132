"""Nodes that are there or on their way, as columns, kept from one snapshot to the next.

Each function asks `Derived` for its answer and says how an older one is mended when a few nodes have changed: most
changes are of pods, and leave labels, taints and the order of nodes as they are.

Letters in shapes: R resources, C pod classes, N existing nodes that take pods.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from daiku.model import resources
from daiku.model.instance_type import Catalogue
from daiku.model.pod import Pod
from daiku.model.taints import Taint
from daiku.scheduling import columns, expected, hosting
from daiku.scheduling.columns import Ints
from daiku.scheduling.hosting import Ground
from daiku.scheduling.topology import sites
from daiku.state.derived import Changed
from daiku.state.snapshot import Snapshot
from daiku.state.statenode import StateNode


@dataclass(frozen=True, slots=True, eq=False)
class Order:
    """Nodes that take pods, in the order in which they are filled: initialized ones first."""

    nodes: tuple[StateNode, ...]
    names: tuple[str, ...]
    column: Mapping[str, int]
    """Name -> index."""

    def column_of(self, state_node: StateNode) -> int:
        """Its index; -1 when it is not one of these."""
        column = self.column.get(state_node.name, -1)
        return column if column >= 0 and self.nodes[column] is state_node else -1


def order(snapshot: Snapshot) -> Order:
    """Nodes that take pods, in order."""

    def mend(known: Order, changed: Changed) -> Order | None:
        nodes = list(known.nodes)
        for position, old in changed.items():
            new = snapshot.state_nodes[position]
            column = known.column_of(old)
            if (column >= 0) != _takes_pods(new) or _rank(old) != _rank(new):
                return None
            if column >= 0:
                nodes[column] = new
        return replace(known, nodes=tuple(nodes))

    return snapshot.derived().once("order", lambda: _ordered(snapshot.state_nodes), mend)


def keeping_others_away(snapshot: Snapshot) -> list[Pod]:
    """Pods on nodes that have anti-affinity."""
    return snapshot.derived().once(
        "keeping others away",
        lambda: [p for s in snapshot.state_nodes for p in s.anti_affine],
        lambda known, changed: (
            None
            if any(
                old.anti_affine or snapshot.state_nodes[p].anti_affine for p, old in changed.items()
            )
            else known
        ),
    )


def has_preferred_taints(snapshot: Snapshot) -> bool:
    """Whether a taint of a node only asks pods to stay away."""
    return snapshot.derived().once(
        "preferred taints",
        lambda: any(prefers(s.taints) for s in snapshot.state_nodes),
        lambda known, changed: (
            known
            if all(old.taints == snapshot.state_nodes[p].taints for p, old in changed.items())
            else None
        ),
    )


def prefers(taints: Iterable[Taint]) -> bool:
    """Whether one of the taints only asks pods to stay away."""
    return any(taint.effect == "PreferNoSchedule" for taint in taints)


def ground(snapshot: Snapshot, *, named: bool) -> Ground:
    """Labels and taints of nodes in `order`.

    Args:
        snapshot: The nodes.
        named: Whether somebody asks for nodes by name.
    """
    ordered = order(snapshot)

    def make() -> Ground:
        return hosting.ground(
            [sites.labels_of(s, named=named) for s in ordered.nodes],
            [s.taints for s in ordered.nodes],
            [s.is_settled for s in ordered.nodes],
        )

    def mend(known: Ground, changed: Changed) -> Ground | None:
        is_same = all(
            sites.is_same_ground(old, snapshot.state_nodes[p]) for p, old in changed.items()
        )
        return known if is_same else None

    return snapshot.derived().once(("ground", named, ordered.names), make, mend)


def amounts(snapshot: Snapshot, catalogue: Catalogue, axis: tuple[str, ...]) -> tuple[Ints, Ints]:
    """What pods can still have of nodes in `order`, and what pods of DaemonSets have of it, each of shape (R, N).

    Args:
        snapshot: The nodes.
        catalogue: Says what nodes that are not launched may turn out to have.
        axis: The order of R.
    """
    ordered = order(snapshot)

    def of(nodes: Sequence[StateNode]) -> tuple[Ints, Ints]:
        room = columns.amounts(axis, [expected.allocatable(s, catalogue) for s in nodes])
        used = columns.amounts(axis, [s.used() for s in nodes])
        return room - used, columns.amounts(axis, [s.used_by_daemons for s in nodes])

    def mend(known: tuple[Ints, Ints], changed: Changed) -> tuple[Ints, Ints]:
        own = [ordered.column_of(snapshot.state_nodes[position]) for position in changed]
        own = [column for column in own if column >= 0]
        mended = known[0].copy(), known[1].copy()
        for whole, part in zip(mended, of([ordered.nodes[c] for c in own]), strict=True):
            whole[:, own] = part
        return mended

    # A catalogue is one value for as long as its version stays.
    key = "amounts", axis, catalogue.version, ordered.names
    return snapshot.derived().once(key, lambda: of(ordered.nodes), mend)


def usage(snapshot: Snapshot, catalogue: Catalogue, pool: str) -> Mapping[str, int]:
    """What the nodes of a NodePool take from its limits."""

    def counts_as(state_node: StateNode) -> Mapping[str, int]:
        return expected.pool_usage((state_node,), pool, catalogue)

    def mend(known: Mapping[str, int], changed: Changed) -> Mapping[str, int]:
        for position, old in changed.items():
            before, now = counts_as(old), counts_as(snapshot.state_nodes[position])
            if before != now:
                known = resources.add(resources.subtract(known, before), now)
        return known

    return snapshot.derived().once(
        ("usage", pool, catalogue.version),
        lambda: expected.pool_usage(snapshot.state_nodes, pool, catalogue),
        mend,
    )


def _ordered(nodes: Iterable[StateNode]) -> Order:
    ordered = tuple(sorted((s for s in nodes if _takes_pods(s)), key=_rank))
    names = tuple(s.name for s in ordered)
    return Order(ordered, names, {name: column for column, name in enumerate(names)})


def _rank(state_node: StateNode) -> tuple[bool, bool, str]:
    return not state_node.is_initialized, state_node.node is None, state_node.name


def _takes_pods(state_node: StateNode) -> bool:
    node = state_node.node
    return not state_node.is_leaving and (node is None or not node.unschedulable)
