"""A plan for a small world: made as the controller makes it, judged by the audit, and told in a few words.

A row of a table then reads: these pods, these nodes, and `["3 on new c-4x", "1 LimitExceeded"]`.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from tests import build

from daiku.commands import CreateNodeClaim
from daiku.events import Object
from daiku.model.instance_type import InstanceType
from daiku.model.nodepool import NodePool
from daiku.model.pod import Pod
from daiku.scheduling import audit, claims, problem, solver
from daiku.scheduling.outcome import Outcome
from daiku.scheduling.solution import Solution
from daiku.settings import Settings
from daiku.state.snapshot import Snapshot

DEFAULT = Settings()


@dataclass(frozen=True, kw_only=True)
class Small:
    """A small world in which pods are to be placed."""

    pods: Sequence[Pod]
    there: Sequence[Object] = ()
    """Nodes, NodeClaims, DaemonSets, volumes, pods that run."""
    pools: Sequence[NodePool] = (build.node_pool(),)
    types: Sequence[InstanceType] = tuple(build.family())
    settings: Settings = DEFAULT

    def snapshot(self) -> Snapshot:
        """What is believed before anything is planned."""
        catalogue = build.catalogue(*self.types)
        objects = [*self.pods, *self.there, *self.pools, build.node_class()]
        return build.cluster(*objects, catalogue_of=catalogue).snapshot(build.NOW)

    def solve(self) -> Solution:
        """The plan; the audit agrees to it."""
        snapshot = self.snapshot()
        asked = problem.build(
            self.pods,
            snapshot,
            build.catalogue(*self.types),
            preference_policy=self.settings.preference_policy,
        )
        solved = solver.solve(asked, min_values_policy=self.settings.min_values_policy)
        assert objections(solved, snapshot, self.types, self.settings) == []
        return solved

    def told(self) -> list[str]:
        """How many pods go where, and why the others go nowhere; in order."""
        solved = self.solve()
        several = len(self.pools) > 1
        found = [f"{n} on {node}" for node, n in Counter(solved.placements.values()).items()]
        for node in solved.new_nodes:
            name = (
                f"{node.types[0].name} of {node.pool.meta.name}" if several else node.types[0].name
            )
            found.append(f"{len(node.pods)} on new {name}")
        found += [f"{len(u.pods)} {u.blockers[0].reason}" for u in solved.unschedulable]
        return sorted(found)


def creations(
    solved: Solution | Outcome, types: Sequence[InstanceType], settings: Settings | None = None
) -> list[CreateNodeClaim]:
    """The NodeClaims of the new nodes of a plan, all of one node class."""
    given = claims.given_labels(types)
    return [
        claims.create(
            node,
            types,
            settings or DEFAULT,
            build.NOW,
            given=given,
            taken={},
            purpose=str(number),
        )
        for number, node in enumerate(solved.new_nodes)
    ]


def objections(
    solved: Solution | Outcome,
    snapshot: Snapshot,
    types: Sequence[InstanceType],
    settings: Settings | None = None,
) -> list[str]:
    """What the audit has against a plan."""
    made = creations(solved, types, settings)
    homes = solved.homes({pod: c.node_claim.meta.name for c in made for pod in c.pods})
    found = audit.audit(made, homes, snapshot, build.catalogue(*types))
    return [f"{v.rule}: {v.message}" for v in found]
