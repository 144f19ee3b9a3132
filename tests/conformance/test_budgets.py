"""How many nodes a NodePool's budgets let go.

Source: karpenter.sh/v1 NodePool spec.disruption.budgets; robfig/cron's standard parser for schedules.
"""

from datetime import UTC, datetime, timedelta

import pytest

from daiku.model import budget, cron
from daiku.model.budget import Budget

NOON = datetime(2026, 3, 2, 12, 0, tzinfo=UTC)
"""A Monday."""


@pytest.mark.parametrize(
    ("nodes", "count", "allowed"),
    [
        pytest.param("10%", 15, 2, id="a share rounds up"),
        pytest.param("10%", 0, 0, id="of no node, none"),
        pytest.param("0%", 15, 0, id="a share of zero"),
        pytest.param("100%", 15, 15, id="all"),
        pytest.param("3", 15, 3, id="a count"),
        pytest.param("many", 15, 0, id="what cannot be read allows nothing"),
    ],
)
def test_a_budget_allows(nodes: str, count: int, allowed: int) -> None:
    assert budget.allowed([Budget(nodes=nodes)], "Empty", count, NOON) == allowed


def test_the_strictest_budget_decides() -> None:
    assert budget.allowed([Budget(nodes="50%"), Budget(nodes="2")], "Empty", 10, NOON) == 2


def test_a_budget_for_another_reason_does_not_count() -> None:
    assert budget.allowed([Budget(nodes="0", reasons=("Drifted",))], "Empty", 10, NOON) is None


@pytest.mark.parametrize(
    ("schedule", "duration", "active"),
    [
        pytest.param("0 12 * * *", timedelta(minutes=5), True, id="it begins on the minute"),
        pytest.param("0 11 * * *", timedelta(hours=1), False, id="it is over when its duration is"),
        pytest.param("1 11 * * *", timedelta(hours=1), True, id="one minute before that it is not"),
        pytest.param("@daily", timedelta(hours=13), True, id="since midnight"),
        pytest.param("0 9 * * mon-fri", timedelta(hours=8), True, id="working hours on a Monday"),
        pytest.param("0 9 * * sat", timedelta(hours=8), False, id="Saturday only"),
    ],
)
def test_a_budget_with_a_schedule_holds(schedule: str, duration: timedelta, active: bool) -> None:
    assert Budget(nodes="0", schedule=schedule, duration=duration).is_active(NOON) is active


@pytest.mark.parametrize(
    ("line", "due"),
    [
        ("* * * * *", "2026-03-02 12:01"),
        ("*/15 * * * *", "2026-03-02 12:15"),
        ("5,10 8-9 * * *", "2026-03-03 08:05"),
        ("0 0 1 * *", "2026-04-01 00:00"),
        ("0 0 29 2 *", "2028-02-29 00:00"),
        ("0 0 13 * fri", "2026-03-06 00:00"),
        ("0 0 * feb ?", "2027-02-01 00:00"),
        ("30/10 * * * *", "2026-03-02 12:30"),
        ("@hourly", "2026-03-02 13:00"),
        ("@weekly", "2026-03-08 00:00"),
        ("@yearly", "2027-01-01 00:00"),
    ],
)
def test_a_cron_line_is_next_due(line: str, due: str) -> None:
    found = cron.parse(line).next_after(NOON)

    assert found is not None
    assert f"{found:%Y-%m-%d %H:%M}" == due


def test_a_date_that_never_comes_is_never_due() -> None:
    assert cron.parse("0 0 30 2 *").next_after(NOON) is None


@pytest.mark.parametrize(
    "line", ["", "* * * *", "60 * * * *", "* * 0 * *", "* * * * 7", "a * * * *", "*/0 * * * *"]
)
def test_what_is_no_cron_line_is_refused(line: str) -> None:
    with pytest.raises(ValueError, match=r"fields|outside|number|step"):
        cron.parse(line)
