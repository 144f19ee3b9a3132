"""What holds a roll up: pods and budgets, as the controller has said of nodes that go and of nodes that are to go.

A node that goes says it in the conditions of its NodeClaim. Of one that is still to go the controller says it in an
event, once in a quarter of an hour.
"""

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Final

from daiku import reasons
from daiku.api import encode
from daiku.cli import event_log
from daiku.cli.rolling.rounds import Member
from daiku.kube import errors
from daiku.kube.client import Client

BLOCKED: Final = reasons.DISRUPTION_BLOCKED
SAID: Final = timedelta(minutes=16)
"""An event that is older than this would have been repeated."""


def held(client: Client, left: Sequence[Member], now: datetime) -> list[str]:
    """A line for each node that waits for something, those that go first.

    Args:
        client: The cluster.
        left: Nodes that are still to be replaced.
        now: The time.

    Raises:
        KubeError: The cluster cannot be read; not for events that may not be read, which is a line.
    """
    going = [f"{m.node or m.name} goes and {m.held}" for m in left if m.going and m.held]
    try:
        known = _blocked(client, now)
    except errors.Denied as error:
        return [*going, f"what keeps nodes is not known: {error}"]
    kept = [
        f"{m.node or m.name} stays: {known['NodeClaim', m.name]}"
        for m in left
        if not m.going and ("NodeClaim", m.name) in known
    ]
    if going or kept or any(m.going for m in left):
        return [*going, *kept]
    # Of a NodePool it is said all the time that its budget is used up while a node goes.
    pools = sorted({m.pool for m in left})
    return [f"NodePool {p}: {known['NodePool', p]}" for p in pools if ("NodePool", p) in known]


def _blocked(client: Client, now: datetime) -> dict[tuple[str, str], str]:
    """Kind and name of an object -> what was said last of it, and when."""
    return {
        (each.kind, each.name): f"{each.message} (said at {encode.time(each.at)})"
        for each in event_log.read(client, f"reason={BLOCKED}")
        if each.at >= now - SAID
    }
