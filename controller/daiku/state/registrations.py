"""How the last launches of each NodePool ended: whether its nodes come to register at all.

A NodePool whose user data, network or roles are broken makes machines that never join. Four results are kept per
NodePool, half of them failures make it unhealthy, and a change of the NodePool or of its node class begins anew. A
cache: after a restart it begins from what the NodePool's condition says.

Source: Karpenter's nodepool.registrationhealth and the ring of nodeclaim.lifecycle.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Final

from daiku import reasons
from daiku.commands import DeleteNodeClaim
from daiku.model.condition import find
from daiku.model.nodeclaim import NodeClaim
from daiku.model.nodeclass import NodeClass
from daiku.model.nodepool import NodePool
from daiku.reason import NO_REASON, Reason

CONDITION: Final = "NodeRegistrationHealthy"
KEPT: Final = 4
FAILURES: Final = 2
"""So many of those that are kept make a NodePool unhealthy."""
_NEVER_CAME: Final = frozenset({reasons.ENDED_LAUNCH_TIMEOUT, reasons.ENDED_REGISTRATION_TIMEOUT})
"""Why a NodeClaim is given up whose Node did not come."""
_YOUNG: Final = timedelta(minutes=1)
"""For how long the cloud may deny knowing an instance that it has launched."""


def is_young(claim: NodeClaim, now: datetime) -> bool:
    """Whether its instance may have been launched so lately that not all of the cloud knows it."""
    launched = find(claim.conditions, "Launched")
    since = launched.last_transition if launched is not None else None
    return not claim.is_true("Launched") or since is None or now - since < _YOUNG


@dataclass(frozen=True, slots=True)
class Result:
    """How one launch ended."""

    node_claim: str
    """uid; empty for one that is remembered only by the condition."""
    reason: Reason = NO_REASON
    """Why it failed; empty when its node was registered."""
    message: str = ""


@dataclass(slots=True)
class Registrations:
    """The last results of every NodePool, by its uid. Part of `Cluster`."""

    _kept: dict[str, tuple[Result, ...]] = field(default_factory=dict[str, tuple[Result, ...]])
    _generations: dict[str, int] = field(default_factory=dict[str, int])
    _classes: dict[object, int] = field(default_factory=dict[object, int])
    """Node class -> its generation."""
    _uses: dict[str, object] = field(default_factory=dict[str, object])
    """NodePool -> its node class."""

    def see_pool(self, pool: NodePool) -> None:
        """A NodePool looks like this."""
        uid, generation = pool.meta.uid, pool.meta.generation
        self._uses[uid] = pool.template.node_class
        before = self._generations.get(uid)
        self._generations[uid] = generation
        if before is None:
            self._kept.setdefault(uid, _remembered(pool))
        elif before != generation:
            self._kept[uid] = ()

    def see_class(self, node_class: NodeClass) -> None:
        """A node class looks like this."""
        before = self._classes.get(node_class.ref)
        self._classes[node_class.ref] = node_class.meta.generation
        if before not in {None, node_class.meta.generation}:
            self._kept |= {uid: () for uid, ref in self._uses.items() if ref == node_class.ref}

    def lose_pool(self, uid: str) -> None:
        """A NodePool is gone."""
        for known in (self._kept, self._generations, self._uses):
            known.pop(uid, None)

    def see_claim(self, before: object, claim: NodeClaim) -> None:
        """A NodeClaim looks like this, and looked like `before`."""
        if not isinstance(before, NodeClaim) or before.is_true("Registered"):
            return
        if claim.is_true("Registered"):
            for owner in claim.meta.owners:
                self.add(owner.uid, Result(claim.meta.uid))

    def gave_up(self, claim: object, command: DeleteNodeClaim) -> None:
        """A NodeClaim's deletion is asked for."""
        if command.reason not in _NEVER_CAME or not isinstance(claim, NodeClaim):
            return
        launched = find(claim.conditions, "Launched")
        why = reasons.REGISTRATION_FAILED, reasons.means(reasons.REGISTRATION_FAILED)
        if launched is not None and launched.status != "True":
            why = Reason(launched.reason), launched.message
        for owner in claim.meta.owners:
            self.add(owner.uid, Result(command.uid, *why))

    def add(self, pool: str, result: Result) -> None:
        """A launch for the NodePool with this uid ended; a second word about one NodeClaim replaces the first."""
        others = [
            r
            for r in self._kept.get(pool, ())
            if not r.node_claim or r.node_claim != result.node_claim
        ]
        self._kept[pool] = (*others, result)[-KEPT:]

    def all(self) -> Mapping[str, tuple[Result, ...]]:
        """NodePool uid -> results, oldest first."""
        return dict(self._kept)


def _remembered(pool: NodePool) -> tuple[Result, ...]:
    known = find(pool.conditions, CONDITION)
    if known is None or known.observed_generation != pool.meta.generation:
        return ()
    if known.status == "False":
        return (Result("", Reason(known.reason), known.message),) * FAILURES
    return (Result(""),) if known.status == "True" else ()
