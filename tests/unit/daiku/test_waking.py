"""Times at which something becomes possible share one look, and nobody waits much longer for it."""

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from daiku.model import waking

SECOND = timedelta(seconds=1)
CENTURY = timedelta(days=36525)
TIMES = st.timedeltas(-CENTURY, CENTURY).map(lambda time: datetime(2026, 11, 21, tzinfo=UTC) + time)
WAITS = st.timedeltas(timedelta(0), timedelta(days=1))


@given(TIMES, WAITS)
def test_nobody_is_looked_at_early_or_more_than_a_tenth_or_fifteen_seconds_late(
    due: datetime, waited: timedelta
) -> None:
    late = waking.shared(due, waited) - due

    assert timedelta(0) <= late < max(min(waited / 10, 15 * SECOND), timedelta.resolution)


@pytest.mark.parametrize("waited", [None, timedelta(0), 4 * SECOND])
def test_short_waits_are_not_put_off(waited: timedelta | None) -> None:
    due = datetime(2026, 11, 21, 9, 30, 1, 234567, tzinfo=UTC)

    assert waking.shared(due, waited) == due


@given(TIMES)
def test_rests_that_end_within_ten_minutes_are_at_most_41_looks(first: datetime) -> None:
    ends = [first + number * timedelta(seconds=0.6) for number in range(1000)]

    looks = {waking.shared(end, timedelta(minutes=10)) for end in ends}

    assert len(looks) <= 41
    assert {waking.shared(look, 30 * SECOND) for look in looks} == looks
