"""How long a NodeClaim may take: to be launched, to be registered, and to live.

Source: Karpenter's nodeclaim.lifecycle (liveness) and nodeclaim.expiration.
"""

from datetime import datetime, timedelta

from daiku.commands import DeleteNodeClaim
from daiku.lifecycle.draft import Draft
from daiku.settings import Settings


def advance(draft: Draft, settings: Settings) -> None:
    """Give the NodeClaim up if one of its times is over."""
    created = draft.claim.meta.created or draft.now
    expire_after = draft.claim.expire_after
    if expire_after is not None and _is_over(draft, created, expire_after):
        _give_up(draft, "expired")
    elif draft.is_true("Registered"):
        return
    elif not draft.is_true("Launched"):
        if _is_over(draft, _since(draft, "Launched", created), settings.launch_ttl):
            _give_up(draft, "launch_timeout")
    elif _is_over(draft, _since(draft, "Registered", created), settings.registration_ttl):
        _give_up(draft, "registration_timeout")


def _since(draft: Draft, kind: str, created: datetime) -> datetime:
    known = draft.condition(kind)
    return (
        known.last_transition
        if known is not None and known.last_transition is not None
        else created
    )


def _is_over(draft: Draft, since: datetime, length: timedelta) -> bool:
    end = since + length
    if end > draft.now:
        draft.wakes.append(end)
        return False
    return True


def _give_up(draft: Draft, reason: str) -> None:
    meta = draft.claim.meta
    draft.commands.append(DeleteNodeClaim(name=meta.name, uid=meta.uid, reason=reason))
    draft.ended = True
