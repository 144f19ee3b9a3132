"""How a cluster's nodes go: gently while the controller lives, then by force, then for certain.

1. NodePools and NodeClaims are deleted, and the controller drains and terminates their nodes.
2. When its Lease is no longer renewed, or the deadline has passed, nobody is waited for any more.
3. What still carries the cluster's tags in AWS is removed, again and again until nothing is listed.
4. Where the controller is gone, the finalizers that it would have removed are removed, or the deletion
   of NodePools and node classes would wait for it for ever.

Each step starts from what is there, so a second run goes on where the first one was stopped. Without an
API server only the third step is left. No Pulumi, no boto3 and no kubernetes in here.
"""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Protocol

POLL_SECONDS = 2.0
SILENT_SECONDS = 30.0
"""A controller whose Lease was not renewed for so long is gone: twice what its Lease lasts."""
SWEEP_SECONDS = 900.0
"""How long AWS may take to let everything go: an instance takes minutes, and its interface longer."""
SAY_SECONDS = 10.0
"""How often a wait is reported."""


class UnreachableError(Exception):
    """The API server does not answer."""


class NotSweptError(Exception):
    """Something that carries the cluster's tags is still there."""


class Cluster(Protocol):
    """The cluster, as far as a drain needs it. Every method may raise UnreachableError."""

    def nodes_wanted(self) -> list[str]:
        """Names of NodePools and NodeClaims that exist, as kind/name."""
        ...

    def delete_wanted(self) -> None:
        """Ask for the deletion of all of them."""
        ...

    def renewed(self) -> str:
        """What the Lease of the controller says of its last renewal; "" without one."""
        ...

    def release(self) -> list[str]:
        """Delete and free of finalizers what the controller kept; give the names."""
        ...


class Account(Protocol):
    """The AWS account, as far as a drain needs it."""

    def leftovers(self) -> list[str]:
        """What carries the cluster's tags and can be removed, in words."""
        ...

    def remove_leftovers(self) -> list[str]:
        """Ask for the removal of all of it; give what AWS says against it."""
        ...

    def kept(self) -> list[str]:
        """What carries the cluster's tags and is left for a person to decide on, in words."""
        ...


@dataclass(slots=True)
class Pulse:
    """Whether the controller lives, judged by changes of its Lease as seen here; clocks are not compared."""

    now: float
    seen: str = ""
    changed: float = field(init=False)

    def __post_init__(self) -> None:
        """Give it the benefit of the doubt at first."""
        self.changed = self.now

    def feel(self, renewed: str, now: float) -> bool:
        """Take a look; tell whether it lives."""
        if renewed and renewed != self.seen:
            self.seen, self.changed = renewed, now
        return now - self.changed < SILENT_SECONDS


def drain(
    cluster: Cluster,
    account: Account,
    *,
    deadline_seconds: float,
    say: Callable[[str], None],
    clock: Callable[[], float] = time.monotonic,
    sleep: Callable[[float], None] = time.sleep,
) -> None:
    """Take all nodes of a cluster away, and everything that was made with them.

    Args:
        cluster: The cluster; it need not answer.
        account: The account its nodes are in.
        deadline_seconds: How long the controller is given for it.
        say: Takes lines of progress.
        clock: Seconds that only ever grow.
        sleep: Waits so many seconds.

    Raises:
        NotSweptError: AWS did not let everything go in time.
    """
    lives = False
    reachable = True
    try:
        lives = _ask_controller(cluster, deadline_seconds, say, clock, sleep)
    except UnreachableError as error:
        reachable = False
        say(f"the API server does not answer ({error}): nodes are found by their tags alone")
    _sweep(account, say, clock, sleep)
    if reachable and not lives:
        try:
            if released := cluster.release():
                say(f"released without the controller: {_listed(released)}")
        except UnreachableError as error:
            say(f"the API server stopped answering ({error})")
    if kept := account.kept():
        say(f"left in the account, because it holds data: {_listed(kept)}")


def _ask_controller(
    cluster: Cluster,
    deadline_seconds: float,
    say: Callable[[str], None],
    clock: Callable[[], float],
    sleep: Callable[[float], None],
) -> bool:
    """Let the controller do it; tell whether it did, or lives and may yet."""
    began = said = clock()
    pulse = Pulse(began)
    if not cluster.nodes_wanted():
        return True
    cluster.delete_wanted()
    while left := cluster.nodes_wanted():
        now = clock()
        if not pulse.feel(cluster.renewed(), now):
            say(
                f"the controller gives no sign of life for {SILENT_SECONDS:.0f} s: going on without it"
            )
            return False
        if now - began > deadline_seconds:
            say(f"still there after {deadline_seconds:.0f} s, now by force: {_listed(left)}")
            return False
        if now - said > SAY_SECONDS:
            say(f"draining: {_listed(left)}")
            said = now
        sleep(POLL_SECONDS)
    return True


def _sweep(
    account: Account,
    say: Callable[[str], None],
    clock: Callable[[], float],
    sleep: Callable[[float], None],
) -> None:
    """Remove what carries the cluster's tags until nothing does."""
    began = said = clock()
    against: Sequence[str] = ()
    while left := account.leftovers():
        now = clock()
        if now - began > SWEEP_SECONDS:
            reasons = f"; AWS says: {'; '.join(against)}" if against else ""
            raise NotSweptError(
                f"after {SWEEP_SECONDS:.0f} s there is still {_listed(left)}{reasons}: remove it, then "
                f"run `pulumi destroy` again"
            )
        if now - said > SAY_SECONDS or now == began:
            say(f"removing {_listed(left)}")
            said = now
        against = account.remove_leftovers()
        sleep(POLL_SECONDS)


def _listed(names: Sequence[str]) -> str:
    """The first few of many."""
    shown = ", ".join(names[:5])
    return shown if len(names) <= 5 else f"{shown} and {len(names) - 5} more"
