"""What one tick changes about one NodeClaim, gathered stage by stage and written in one command.

Stages must see each other's results (a claim is registered only once it is launched) and share one
resource version, so they fill one draft.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Final

from daiku.commands import Announce, Command, PatchNodeClaim
from daiku.lifecycle import conditions
from daiku.model import labels, memo
from daiku.model.condition import Condition, Status, find
from daiku.model.nodeclaim import NodeClaim
from daiku.reason import NO_REASON, Reason

_YOUNG: Final = timedelta(seconds=10)
"""How long after its creation nothing is written of what a NodeClaim waits for: most comes within that time."""
_STAGES: Final = ("Launched", "Registered", "Initialized")
"""Conditions on which Ready depends."""


@dataclass(slots=True)
class Draft:
    """Changes to one NodeClaim, and commands that go with them. Made and used up within one tick."""

    claim: NodeClaim
    now: datetime
    commands: list[Command] = field(default_factory=list[Command])
    """What else is to be done."""
    wakes: list[datetime] = field(default_factory=list[datetime])
    """When to look again even if nothing happens."""
    labels: dict[str, str | None] = field(default_factory=dict[str, "str | None"])
    """None takes a label away."""
    annotations: dict[str, str] = field(default_factory=dict[str, str])
    provider_id: str | None = None
    node_name: str | None = None
    image_id: str | None = None
    capacity: Mapping[str, int] | None = None
    allocatable: Mapping[str, int] | None = None
    last_pod_event: datetime | None = None
    remove_finalizer: bool = False
    defer_until: datetime | None = None
    """Until when conditions wait for those that follow in a moment, to be written together; None: they do not."""
    ended: bool = False
    """The NodeClaim is being given up: later stages have nothing to say."""
    _conditions: dict[str, Condition] = field(default_factory=dict[str, Condition])
    _has_news: bool = False
    """Some condition is another one than before."""

    def condition(self, kind: str) -> Condition | None:
        """The condition `kind` as it will be."""
        return self._conditions.get(kind) or find(self.claim.conditions, kind)

    def is_true(self, kind: str) -> bool:
        """Whether the condition `kind` will be True."""
        found = self.condition(kind)
        return found is not None and found.status == "True"

    def set(self, kind: str, status: Status, reason: Reason = NO_REASON, message: str = "") -> None:
        """Say what the condition `kind` is from now on."""
        before = self.claim.conditions
        made = self._conditions[kind] = conditions.make(
            before,
            kind=kind,
            status=status,
            reason=reason,
            message=message,
            generation=self.claim.meta.generation,
            now=self.now,
        )
        self._has_news = self._has_news or made is not find(before, kind)

    def wait(self, kind: str, reason: Reason, message: str) -> None:
        """Say that the condition `kind` is Unknown, once the NodeClaim is no longer `_YOUNG`."""
        created = self.claim.meta.created
        if created is not None and self.now < created + _YOUNG:
            self.wakes.append(created + _YOUNG)
        else:
            self.set(kind, "Unknown", reason, message)

    def defer(self) -> None:
        """Write no condition yet: the next stage is under way, and says more in a moment."""
        created = self.claim.meta.created
        if created is not None:
            self.defer_until = created + _YOUNG

    def announce(self, kind: str, reason: Reason, message: str) -> None:
        """Tell people who look at the NodeClaim."""
        self.commands.append(
            Announce.on("NodeClaim", self.claim.meta, type_=kind, reason=reason, message=message)
        )

    def patch(self) -> PatchNodeClaim | None:
        """The command that writes what has changed, or None when nothing has."""
        claim = self.claim
        gone = claim.meta.deleted is not None
        lacks_finalizer = labels.TERMINATION_FINALIZER not in claim.meta.finalizers
        if self._is_deferred() and not lacks_finalizer:
            return None
        settled = self._settled()
        if not (settled or lacks_finalizer or self._is_filled()):
            return None
        patch = PatchNodeClaim(
            name=claim.meta.name,
            resource_version=claim.meta.resource_version,
            add_finalizer=lacks_finalizer and not gone,
            remove_finalizer=self.remove_finalizer,
            labels=_changed(self.labels, claim.meta.labels),
            annotations=_changed(self.annotations, claim.meta.annotations),
            provider_id=_other(self.provider_id, claim.provider_id),
            node_name=_other(self.node_name, claim.node_name),
            image_id=_other(self.image_id, claim.image_id),
            capacity=self.capacity if self.capacity != claim.capacity else None,
            allocatable=self.allocatable if self.allocatable != claim.allocatable else None,
            conditions=settled,
            last_pod_event=self.last_pod_event,
        )
        nothing = PatchNodeClaim(name=patch.name, resource_version=patch.resource_version)
        return None if patch == nothing else patch

    def _is_deferred(self) -> bool:
        """Whether there are only conditions to write, and more of them to be expected in a moment."""
        until = self.defer_until
        if until is None or until <= self.now or self.is_true("Initialized"):
            return False
        amounts = self.capacity, self.allocatable
        texts = self.provider_id, self.image_id
        if any(each is not None for each in (*amounts, *texts)) or self.labels or self.annotations:
            return False
        self.wakes.append(until)
        return not self.remove_finalizer

    def _is_filled(self) -> bool:
        """Whether any stage said anything beside conditions; most NodeClaims are done with."""
        texts = self.provider_id, self.node_name, self.image_id
        amounts = self.capacity, self.allocatable
        return (
            self.remove_finalizer
            or bool(self.labels or self.annotations)
            or any(each is not None for each in (*texts, *amounts, self.last_pod_event))
        )

    def _settled(self) -> tuple[Condition, ...]:
        """Conditions that change, the root last."""
        if not self._has_news and _is_settled(self.claim):
            return ()
        meta = self.claim.meta
        parts: list[Condition] = []
        for kind in _STAGES:
            known = self.condition(kind)
            if known is None:
                known = conditions.awaiting(
                    kind, created=meta.created, generation=meta.generation, now=self.now
                )
                self._conditions[kind] = known
            parts.append(known)
        wanted = [
            *(self._conditions[kind] for kind in sorted(self._conditions)),
            conditions.root(self.claim.conditions, parts, generation=meta.generation, now=self.now),
        ]
        return conditions.changed(self.claim.conditions, wanted)


@memo.by_identity(16_384)
def _is_settled(claim: NodeClaim) -> bool:
    """Whether every stage has its condition, and the root is what follows from them."""
    parts = [found for kind in _STAGES if (found := find(claim.conditions, kind)) is not None]
    known = find(claim.conditions, conditions.ROOT)
    if known is None or known.last_transition is None or len(parts) < len(_STAGES):
        return False
    follows = conditions.root(
        claim.conditions, parts, generation=claim.meta.generation, now=known.last_transition
    )
    return follows is known


def _changed(
    wanted: Mapping[str, str | None], there: Mapping[str, str]
) -> Mapping[str, str | None] | None:
    changed = {key: value for key, value in wanted.items() if there.get(key) != value}
    return changed or None


def _other(wanted: str | None, there: str) -> str | None:
    return wanted if wanted is not None and wanted != there else None
