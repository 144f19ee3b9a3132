"""What goes wrong, how often, and how often it really did.

Each history draws which kinds of fault it has and how frequent they are, so that some histories are all about one
kind and others mix everything; and how dense it is as a whole. Faults have their own stream of random numbers: muting
a kind or ending faults early, as shrinking does, leaves the rest of the world's choices in their places.
"""

import random
from collections import Counter
from dataclasses import dataclass

CALLS = {
    "request lost": 0.02,
    "request late": 0.05,
    "request repeated": 0.05,
    "reply lost": 0.05,
    "reply late": 0.07,
    "conflict": 0.1,
    "429": 0.04,
    "500": 0.04,
    "crash in a call": 0.003,
    "frozen in a call": 0.002,
}
"""Chance of each per call to the API server."""
CLOUD = {
    "cloud throttles": 0.06,
    "cloud request lost": 0.03,
    "cloud request late": 0.05,
    "cloud reply lost": 0.05,
    "cloud reply late": 0.05,
    "cloud refuses": 0.03,
    "cloud denies a young instance": 0.5,
    "cloud list is stale": 0.3,
}
"""Chance of each per call to the cloud."""
WATCHES = {
    "watch late": 0.06,
    "watch broken": 0.04,
    "watch line repeated": 0.04,
    "watch expired": 0.01,
    "event repeated": 0.03,
}
"""Chance of each per delivery of a watch."""
MACHINES = {
    "kubelet slow": 0.15,
    "kubelet never comes": 0.06,
    "pod slow to stop": 0.1,
    "surge never ready": 1.0,
    "detach slow": 0.6,
    "scheduler late": 0.2,
    "warning late": 0.2,
    "warning repeated": 0.3,
    "quota used up": 0.02,
}
"""Chance of each per machine, pod or scheduling pass."""
EVENTS = {
    "pool sold out": 1.5,
    "instance terminated by hand": 1.0,
    "spot reclaimed": 1.0,
    "kubelet dies": 0.8,
    "node deleted by hand": 1.0,
    "claim deleted by hand": 1.0,
    "pod deleted by hand": 2.0,
    "claim removed by force": 0.3,
    "node removed by force": 0.3,
    "node class not ready": 0.4,
    "limits changed": 0.5,
    "pool changed": 0.4,
    "pool deleted": 0.15,
    "history compacted": 1.0,
    "etcd restored": 0.6,
    "crash": 1.2,
    "two leaders": 0.6,
    "clock jumps": 0.6,
    "surge scaled": 1.0,
    "autoscaler comes": 0.5,
}
"""Weight of each among what happens to the world by itself."""
KINDS = (*CALLS, *CLOUD, *WATCHES, *MACHINES, *EVENTS)
PACES = (1.0, 1.5, 2.0, 2.5, 3.0)
"""How dense a history is: by how much chances grow, and pauses between events and between people's deeds shrink. With
the first the controller gets far between two faults, with the last next to nothing that it begins is left in peace."""
FAULTS = 200
"""So much goes wrong before peace comes."""


@dataclass(frozen=True, slots=True)
class Mercy:
    """What is left out of a history, to find the smallest that still fails."""

    muted: frozenset[str] = frozenset()
    faults_most: int = FAULTS
    actions_most: int = 1_000_000
    """Of people who scale, restart and delete."""


class Faults:
    """Decides what goes wrong."""

    def __init__(self, seed: int, mercy: Mercy) -> None:
        self.random = random.Random(f"faults {seed}")
        self.on = True
        self.mercy = mercy
        self.counts: Counter[str] = Counter()
        self.total = 0
        self.pace = self.random.choice(PACES)
        self._chances = dict.fromkeys(KINDS, 0.0)
        for kind, chance in {**CALLS, **CLOUD, **WATCHES, **MACHINES, **EVENTS}.items():
            factor = self.random.choice((0.0, 0.5, 1.0, 1.0, 2.0, 3.0))
            self._chances[kind] = chance * factor * self.pace

    def strike(self, kind: str) -> bool:
        """Whether `kind` goes wrong now."""
        if not self.on or self.random.random() >= self._chances[kind]:
            return False
        return self.count(kind)

    def event(self) -> str:
        """What happens to the world now; empty for nothing."""
        weights = [self._chances[kind] for kind in EVENTS]
        if not self.on or not any(weights):
            return ""
        kind = self.random.choices(tuple(EVENTS), weights)[0]
        return kind if self.count(kind) else ""

    def count(self, kind: str) -> bool:
        """Count a fault, unless it is to be left out."""
        if kind in self.mercy.muted or self.total >= self.mercy.faults_most:
            return False
        self.counts[kind] += 1
        self.total += 1
        return True

    def seconds(self, least: float, most: float) -> float:
        """How long a fault lasts."""
        return self.random.uniform(least, most)
