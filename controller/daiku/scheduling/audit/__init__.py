"""A second opinion on every plan: are the nodes it makes and the places it gives legal?

Everything is worked out again from the model, without arrays and without the solver's code. It is slower and simpler
on purpose, and stricter where that is simpler: a NodeClaim must suit its pods whichever of its instance types is
launched and wherever, and what pods ask of each other must hold once all of them are where the plan puts them.

One module per question: `claims` (is a new node worth having?), `reserved` (is there a machine for it?), `nodes` (do
pods fit what is there?), `spread`, `affinity`, `ports`, `volumes`. They share `ground`: every place for pods there is
or will be.

Source: kube-scheduler's filters; karpenter.sh/v1.
"""

from collections.abc import Mapping, Sequence

from daiku.commands import Command, CreateNodeClaim
from daiku.model.instance_type import Catalogue
from daiku.scheduling.audit import affinity, claims, ground, nodes, order, ports, reserved, volumes
from daiku.scheduling.audit.violation import Violation
from daiku.state.snapshot import Snapshot

__all__ = ["Violation", "audit"]


def audit(
    commands: Sequence[Command],
    placements: Mapping[str, str],
    snapshot: Snapshot,
    catalogue: Catalogue,
) -> tuple[Violation, ...]:
    """Every rule that new NodeClaims or placements break; empty when the plan is legal.

    Args:
        commands: What is to be done; only NodeClaims to be created are looked at.
        placements: Pending pod namespace/name -> node or NodeClaim. The order in which they come is tried first when
            rules depend on the order.
        snapshot: What the plan was made from.
        catalogue: What can be bought.
    """
    creations = [c for c in commands if isinstance(c, CreateNodeClaim)]
    there = ground.survey(creations, placements, snapshot, catalogue)
    return (
        *claims.check(creations, snapshot, catalogue),
        *reserved.check(creations, snapshot, catalogue),
        *nodes.check(placements, creations, snapshot),
        *ports.check(there, snapshot),
        *order.check(there),
        *affinity.check(there),
        *volumes.check(there, snapshot),
    )
