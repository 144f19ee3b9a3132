"""Which subnet of a zone a machine goes to: the one with most free addresses, less those that launches under way take.

EC2 says how many addresses are free when subnets are described, once a minute. A burst of launches in between would
all choose the same subnet, so each subtracts what its machines will take; the next description replaces the guess. A
subnet that EC2 calls full is left out for three minutes.

Source: Karpenter's subnet provider (in-flight addresses: pods of the smallest type).
"""

import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from daiku.cloud.aws.node_class import Subnet

FULL_SECONDS: Final = 180.0
"""How long a full subnet is left out: as long as a sold-out offering."""


@dataclass(frozen=True, slots=True)
class Taken:
    """What a launch took in advance."""

    addresses: Mapping[str, int] = field(default_factory=dict[str, int])
    """Subnet -> addresses."""
    description: int = 0
    """Which description of the subnets they were taken from."""


@dataclass(slots=True)
class Addresses:
    """Free addresses of the subnets of this process. Any thread may use it."""

    monotonic: Callable[[], float]
    _free: dict[str, int] = field(default_factory=dict[str, int])
    _full_until: dict[str, float] = field(default_factory=dict[str, float])
    _description: int = 0
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def described(self, free: Mapping[str, int]) -> None:
        """EC2 has said how many addresses of these subnets are free."""
        with self._lock:
            self._free |= free
            self._description += 1

    def full(self, subnets: frozenset[str]) -> None:
        """EC2 found no address in these subnets."""
        if not subnets:
            return
        with self._lock:
            until = self.monotonic() + FULL_SECONDS
            self._full_until |= dict.fromkeys(subnets, until)
            self._free |= dict.fromkeys(subnets, 0)

    def choose(self, subnets: Sequence[Subnet]) -> dict[str, str]:
        """Zone -> id of the subnet to use; a zone whose subnets are all full is absent.

        Args:
            subnets: Those of the node class; of equals the first is taken.
        """
        with self._lock:
            now = self.monotonic()
            best: dict[str, tuple[int, str]] = {}
            for subnet in subnets:
                if self._full_until.get(subnet.id, 0.0) > now:
                    continue
                free = self._free.get(subnet.id, 0)
                if subnet.zone not in best or free > best[subnet.zone][0]:
                    best[subnet.zone] = (free, subnet.id)
            return {zone: subnet for zone, (_, subnet) in best.items()}

    def take(self, wanted: Mapping[str, int]) -> Taken:
        """Subtract what a launch may use: subnet -> addresses."""
        with self._lock:
            known = {subnet: count for subnet, count in wanted.items() if subnet in self._free}
            for subnet, count in known.items():
                self._free[subnet] -= count
            return Taken(known, self._description)

    def give_back(self, taken: Taken, used: Mapping[str, int]) -> None:
        """A launch is over: what it took and did not use is free again, unless EC2 has counted anew meanwhile."""
        with self._lock:
            if taken.description != self._description:
                return
            for subnet, count in taken.addresses.items():
                self._free[subnet] += count - min(count, used.get(subnet, 0))
