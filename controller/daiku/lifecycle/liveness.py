"""How long a NodeClaim may take: to be launched, to be registered, and to live.

Source: Karpenter's nodeclaim.lifecycle (liveness) and nodeclaim.expiration.
"""

from collections.abc import Callable
from datetime import datetime

from daiku import reasons
from daiku.commands import DeleteNodeClaim
from daiku.lifecycle.draft import Draft
from daiku.model.condition import Condition
from daiku.model.nodeclaim import NodeClaim
from daiku.reason import Reason
from daiku.settings import Settings


def advance(draft: Draft, settings: Settings) -> None:
    """Give the NodeClaim up if one of its times is over."""
    for end, reason in ends(draft.claim, draft.condition, settings, draft.now):
        if end <= draft.now:
            meta = draft.claim.meta
            draft.commands.append(DeleteNodeClaim(name=meta.name, uid=meta.uid, reason=reason))
            draft.ended = True
            return
        draft.wakes.append(end)


def ends(
    claim: NodeClaim,
    find: Callable[[str], Condition | None],
    settings: Settings,
    now: datetime,
) -> list[tuple[datetime, Reason]]:
    """When a NodeClaim is given up if nothing changes, and for which reason each time.

    Args:
        claim: The NodeClaim.
        find: Its condition of a type.
        settings: How long it may take to be launched and registered.
        now: The time, from which one counts that does not say when it was made.
    """
    created = claim.meta.created or now
    found = (
        [(created + claim.expire_after, reasons.ENDED_EXPIRED)]
        if claim.expire_after is not None
        else []
    )
    launched, registered = find("Launched"), find("Registered")
    if registered is not None and registered.status == "True":
        return found
    if launched is not None and launched.status == "True":
        known, length, reason = (
            registered,
            settings.registration_ttl,
            reasons.ENDED_REGISTRATION_TIMEOUT,
        )
    else:
        known, length, reason = launched, settings.launch_ttl, reasons.ENDED_LAUNCH_TIMEOUT
    since = known.last_transition if known is not None else None
    return [*found, ((since or created) + length, reason)]
