"""When to look at what becomes possible at a known time: with others of its kind, and not each by itself.

The problem: every node is left in peace for a while after its last pod came, so the rests of a thousand nodes end at a
thousand times, and each end would be a tick over all of them. The idea: such a time is a *not before*, so whoever has
waited for minutes may wait for seconds more. It is put off until the next beat of a clock that all share.

Not for limits (expiry, timeouts, grace periods): what must be over by a time is looked at exactly then.
"""

from datetime import UTC, datetime, timedelta
from typing import Final

_BEATS: Final = (timedelta(seconds=15), timedelta(seconds=3), timedelta(seconds=0.5))
"""From coarse to fine; each is a multiple of the next, so that short waits join long ones."""
_SHARE: Final = 10
"""A wait becomes longer by less than one part in so many."""
_START: Final = datetime(2000, 1, 1, tzinfo=UTC)


def shared(due: datetime, waited: timedelta | None) -> datetime:
    """The first beat at `due` or after it.

    Args:
        due: When something becomes possible.
        waited: How long it will have waited by then. None, or less than 5 s: it is not put off at all.
    """
    beats = (each for each in _BEATS if waited is not None and each * _SHARE <= waited)
    beat = next(beats, None)
    return due if beat is None else due + (_START - due) % beat
