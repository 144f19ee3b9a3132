"""How fast a NodePool may replace its drifted nodes: one, then a tenth, then the rest.

The problem: a new image that does not boot, or boots into a node that never gets ready, must not take a NodePool down.
The idea: the first new node has to prove itself, ready and for a while, before a tenth of the pool follows; the tenth
has to before all others do. As soon as a new node is ill or does not come up, the rollout stops and says so. All of it
is read off the NodeClaims: a replacement carries the record of what it replaced.
"""

from datetime import datetime, timedelta
from math import ceil
from typing import Final

from daiku.commands import Announce
from daiku.disruption import record
from daiku.disruption.context import DisruptionContext, MethodResult
from daiku.model.condition import find
from daiku.model.nodepool import NodePool
from daiku.state.statenode import StateNode

STOPPED: Final = timedelta(minutes=30)
"""How long a NodePool's rollout rests after a replacement did not come up."""
_RECENT: Final = timedelta(hours=1)
"""For how long an illness of a new node speaks against what it was made from."""
_SECOND_WAVE: Final = 0.1


def gate(pool: NodePool, context: DisruptionContext, made: MethodResult) -> tuple[str, str]:
    """Why no more nodes of `pool` may be replaced now, as reason and sentence; both empty when one may."""
    name, now = pool.meta.name, context.now
    soak = context.settings.drift_soak
    nodes = [s for s in context.snapshot.state_nodes if s.nodepool == name and s.claim is not None]
    failed = _failed(nodes, now)
    fresh = [s for s in nodes if _is_fresh(s)]
    ill = [s.name for s in fresh if (s.node is None or not s.node.is_ready) and _is_recent(s, now)]
    if failed is not None:
        claim, until = failed
        why = f"the replacement of {claim} did not come up; tried again from {until:%H:%M} UTC on"
        made.wakes.append(until)
        made.commands.append(_tell(pool, why))
        return "DriftStopped", why
    if ill:
        why = f"new nodes are not ready: {', '.join(ill[:5])}"
        made.commands.append(_tell(pool, why))
        return "DriftStopped", why
    proving = [(s, _proven_at(s, soak)) for s in fresh]
    proven = [s for s, at in proving if at is not None and at <= now]
    made.wakes += [at for _, at in proving if at is not None and at > now]
    open_ones = [
        m for m in context.moves if m.record.method in {"drift", "static"} and name in m.pools
    ]
    busy = len(open_ones) + len(fresh) - len(proven)
    tenth = ceil(len(nodes) * _SECOND_WAVE)
    most = 1 if not proven else tenth if len(proven) < tenth else None
    if most is None or busy < most:
        return "", ""
    wave = "the first new node" if not proven else f"a tenth of the nodes ({tenth})"
    soaking = f" and be ready for {soak.total_seconds():.0f} s" if soak else ""
    return "DriftWave", f"{wave} must come up{soaking} before more follow"


def _is_fresh(state_node: StateNode) -> bool:
    """Whether it came in the place of a drifted node, and has not drifted itself."""
    claim = state_node.claim
    if claim is None or state_node.is_leaving or not state_node.is_initialized:
        return False
    written = record.read(claim)
    return (
        written is not None
        and written.method == "drift"
        and claim.meta.name not in written.claims
        and not claim.is_true("Drifted")
    )


def _proven_at(state_node: StateNode, soak: timedelta) -> datetime | None:
    told = find(state_node.claim.conditions, "Initialized") if state_node.claim else None
    since = told.last_transition if told is not None and told.status == "True" else None
    return since + soak if since is not None else None


def _is_recent(state_node: StateNode, now: datetime) -> bool:
    since = _proven_at(state_node, timedelta())
    return since is None or now - since < _RECENT


def _failed(nodes: list[StateNode], now: datetime) -> tuple[str, datetime] | None:
    """The last drifted node whose replacement did not come up, and until when that counts."""
    told = [
        (s.claim_name, find(s.claim.conditions, record.CONDITION))
        for s in nodes
        if s.claim is not None and s.claim.is_true("Drifted")
    ]
    untils = [
        (c.last_transition + STOPPED, name)
        for name, c in told
        if c is not None
        and c.status == "False"
        and c.reason == record.REPLACEMENT_FAILED
        and c.last_transition is not None
    ]
    until, name = max(untils, default=(now, ""))
    return (name, until) if until > now else None


def _tell(pool: NodePool, why: str) -> Announce:
    return Announce.on(
        "NodePool",
        pool.meta,
        type_="Warning",
        reason="DriftStopped",
        message=f"Drifted nodes are not replaced for now: {why}",
    )
