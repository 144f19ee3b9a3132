"""What has been worked out from state nodes, kept for as long as they stay and brought up to date when a few change.

The problem: there are thousands of nodes with a hundred thousand pods, and between two snapshots one pod has come. The
idea: an answer is kept together with the nodes that have changed since it was given, each as it was then; whoever asks
again may say how such an answer is mended. Nobody has to tell what depends on what.
"""

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, TypeVar, cast

from daiku.state.statenode import StateNode

_T = TypeVar("_T")
Changed = Mapping[int, StateNode]
"""Positions of nodes that are others now, and what was there."""

_KEPT_MOST: Final = 64
"""Answers; a problem of one sort of pods has about ten."""
_CHANGED_MOST: Final = 0.1
"""Share of the nodes that may have changed: to mend more takes as long as to begin again."""
_CHANGED_LEAST: Final = 8
"""Nodes that may have changed however few there are."""


@dataclass(slots=True, eq=False)
class Derived:
    """What has been worked out from nothing but some state nodes."""

    of: tuple[StateNode, ...] = ()
    _known: dict[Hashable, object] = field(default_factory=dict[Hashable, object])
    _before: dict[Hashable, tuple[object, Changed]] = field(
        default_factory=dict[Hashable, tuple[object, Changed]]
    )
    """What was known of nodes that differ from these in a few places."""

    def once(
        self,
        key: Hashable,
        make: Callable[[], _T],
        mend: Callable[[_T, Changed], _T | None] | None = None,
    ) -> _T:
        """What `make` gives, worked out the first time that `key` is asked for.

        Args:
            key: Says what is asked and holds everything beside the nodes on which the answer depends.
            make: Works it out; what it gives is never changed afterwards.
            mend: Makes the answer from one that was right before some nodes changed, None where it cannot. It may give
                back the old one; it must not change it.
        """
        if key not in self._known:
            if len(self._known) >= _KEPT_MOST:
                self._known.clear()
            before = self._before.pop(key, None)
            mended = None
            if before is not None and mend is not None:
                mended = mend(cast("_T", before[0]), before[1])
            self._known[key] = make() if mended is None else mended
        return cast("_T", self._known[key])

    def succeeded_by(self, nodes: tuple[StateNode, ...], changed: Sequence[int]) -> "Derived":
        """What is known of `nodes`, which are these but for those at the positions `changed`."""
        news = {position: self.of[position] for position in changed}
        kept = {key: (value, news) for key, value in self._known.items()}
        for key, (value, older) in self._before.items():
            kept.setdefault(key, (value, {**news, **older}))
        most = max(_CHANGED_LEAST, _CHANGED_MOST * len(nodes))
        return Derived(
            nodes, _before={key: each for key, each in kept.items() if len(each[1]) <= most}
        )
