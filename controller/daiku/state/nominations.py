"""Where pods that wait, or are about to, are expected, and which NodeClaims are waited for by nobody any more.

A cache: after a restart pods are planned anew, with what is on its way counted in.
"""

from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import Final

from daiku.model.pod import Pod
from daiku.state import scale_outs
from daiku.state.snapshot import Nomination

_NOMINATED: Final = timedelta(seconds=20)
"""How long a pod may take to be bound to a node that is there (Karpenter's figure)."""


@dataclass(slots=True)
class Nominations:
    """Expectations of the last plans. Part of `Cluster`."""

    _of: dict[str, Nomination] = field(default_factory=dict[str, Nomination])
    """By pod."""
    _made: dict[str, bool] = field(default_factory=dict[str, bool])
    """NodeClaims that this process made for pods that wait."""

    def make(self, claim: str, pods: Iterable[str], waiting: Container[str], now: datetime) -> None:
        """A NodeClaim is made for these pods."""
        names = tuple(pods)
        if names and all(pod in waiting or scale_outs.is_announced(pod) for pod in names):
            self._made[claim] = True
        self.place(dict.fromkeys(names, claim), now)

    def place(self, placements: Mapping[str, str], now: datetime) -> None:
        """Pods are expected on these nodes or NodeClaims."""
        for pod, target in placements.items():
            known = self._of.get(pod)
            if known is None or known.target != target or known.until <= now or known.lost:
                self._of[pod] = Nomination(target=target, until=now + _NOMINATED)

    def planned(self, placements: Mapping[str, str], now: datetime) -> None:
        """All pods that have a place are expected on these; what was expected elsewhere has lost its place."""
        self.place(placements, now)
        lost = [p for p, n in self._of.items() if p not in placements and n.lost is None]
        self._of |= {pod: replace(self._of[pod], lost=now) for pod in lost}

    def keep(self, homeless: Container[str], waiting: Sequence[Pod]) -> None:
        """Forget pods that neither wait nor lose their node; a new pod takes the place of an announced one.

        Args:
            homeless: Keys of pods that wait or are about to.
            waiting: Those that wait, announced ones among them.
        """
        gone = {pod: n for pod, n in self._of.items() if pod not in homeless}
        if not gone:
            return
        self._of = {pod: n for pod, n in self._of.items() if pod not in gone}
        left: dict[str, list[Nomination]] = {}
        for pod, nomination in gone.items():
            if scale_outs.is_announced(pod):
                left.setdefault(scale_outs.workload_of(pod), []).append(nomination)
        for pod in waiting if left else ():
            if pod.meta.key not in self._of and (places := left.get(pod.meta.controller_key)):
                self._of[pod.meta.key] = places.pop()

    def forget(self, claim: str) -> None:
        """A NodeClaim is launched, or gone."""
        self._made.pop(claim, None)

    def all(self) -> Mapping[str, Nomination]:
        """Every expectation, by pod."""
        return dict(self._of)

    def unneeded(self) -> frozenset[str]:
        """NodeClaims without an instance whose pods are gone, or have their places elsewhere."""
        if not self._made:
            return frozenset()
        wanted = dict.fromkeys(n.target for n in self._of.values())
        return frozenset(claim for claim in self._made if claim not in wanted)
