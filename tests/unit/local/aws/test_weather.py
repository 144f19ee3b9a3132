"""The weather: forecasts, sold-out pools, throttling, and the timeline that changes wait on."""

import pytest

from daiku_local.aws import clock, weather


class Clock:
    """A clock that is set by hand."""

    def __init__(self) -> None:
        self.seconds = 1000.0

    def __call__(self) -> float:
        return self.seconds


def test_what_a_forecast_leaves_out_is_fair_weather() -> None:
    forecast = weather.read({"pending_seconds": 3})

    assert forecast.pending_seconds == 3.0
    assert forecast.sold_out == ()
    assert forecast.throttle == {}


def test_a_forecast_is_shown_as_it_was_given() -> None:
    given = {"sold_out": [{"instance_type": "m5.large", "zone": "*", "capacity_type": "spot"}]}

    assert weather.read(given).as_json()["sold_out"] == tuple(given["sold_out"])


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        ({"rain": 1}, "unknown in a forecast"),
        ([], "JSON object"),
        ({"sold_out": [{"colour": "red"}]}, "colour"),
        ({"pending_seconds": "soon"}, "soon"),
        ({"throttle": {"CreateFleet": "often"}}, "often"),
    ],
)
def test_a_forecast_that_cannot_be_read_says_why(content: object, reason: str) -> None:
    with pytest.raises(weather.BadForecastError, match=reason):
        weather.read(content)


@pytest.mark.parametrize(
    ("pool", "expected"),
    [
        pytest.param({}, True, id="nothing given covers every pool"),
        pytest.param({"instance_type": "m5.large"}, True, id="the type alone"),
        pytest.param({"instance_type": "m5.large", "zone": "b"}, False, id="another zone"),
        pytest.param({"capacity_type": "spot"}, False, id="another capacity type"),
    ],
)
def test_a_pool_is_sold_out_when_every_part_matches(pool: dict[str, str], expected: bool) -> None:
    sky = weather.Weather(Clock())

    sky.change(weather.read({"sold_out": [pool]}))

    assert sky.is_sold_out("m5.large", "a", "on-demand") is expected


def test_a_throttled_operation_admits_its_rate_and_no_more() -> None:
    now = Clock()
    sky = weather.Weather(now)
    sky.change(weather.read({"throttle": {"CreateFleet": 2}}))

    assert [sky.admits("CreateFleet") for _ in range(3)] == [True, True, False]
    assert sky.admits("DescribeInstances")
    now.seconds += 0.5
    assert [sky.admits("CreateFleet") for _ in range(2)] == [True, False]


def test_a_rate_of_nothing_admits_nothing() -> None:
    sky = weather.Weather(Clock())
    sky.change(weather.read({"throttle": {"CreateFleet": 0}}))

    assert not sky.admits("CreateFleet")


def test_changes_happen_in_the_order_of_their_time_once_it_has_come() -> None:
    now = Clock()
    timeline = clock.Timeline(now)
    done: list[str] = []
    timeline.after(2, lambda: done.append("second"))
    timeline.after(1, lambda: done.append("first"))
    timeline.after(9, lambda: done.append("later"))

    timeline.settle()
    assert done == []
    now.seconds += 3
    timeline.settle()

    assert done == ["first", "second"]
