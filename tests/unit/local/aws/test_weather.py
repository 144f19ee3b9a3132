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

    (shown,) = weather.read(given).as_json()["sold_out"]

    assert shown.items() >= given["sold_out"][0].items()
    assert weather.read(weather.read(given).as_json()) == weather.read(given)


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        ({"rain": 1}, "unknown in a forecast"),
        ([], "JSON object"),
        ({"sold_out": [{"colour": "red"}]}, "colour"),
        ({"pending_seconds": "soon"}, "soon"),
        ({"throttle": {"CreateFleet": "often"}}, "often"),
        ({"shifted_zones": "usw2-az1"}, r'write \["usw2-az1"\]'),
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


def test_a_scarce_pool_has_what_is_left_and_then_nothing() -> None:
    sky = weather.Weather(Clock())
    sky.change(weather.read({"sold_out": [{"instance_type": "m5.large", "left": 3}]}))
    scarce = sky.shortage("m5.large", "a", "spot")
    assert scarce is not None

    sky.use(scarce, 2)
    assert sky.left(scarce) == 1
    sky.use(sky.shortage("m5.large", "b", "on-demand"), 1)

    assert sky.is_sold_out("m5.large", "c", "spot")
    assert not sky.is_sold_out("m5.xlarge", "c", "spot")


def test_calls_are_refused_as_often_as_is_said() -> None:
    sky = weather.Weather(Clock())
    first = {"operation": "CreateFleet", "code": "InternalError", "times": 2}
    then = {"operation": "CreateFleet", "code": "AccessDenied", "times": 1}
    sky.change(weather.read({"refusals": [first, then]}))

    said = [sky.refusal("CreateFleet") for _ in range(4)]

    assert [r.code if r else None for r in said] == [
        "InternalError",
        "InternalError",
        "AccessDenied",
        None,
    ]
    assert sky.refusal("DescribeInstances") is None


def test_spot_prices_move_by_what_the_forecast_says() -> None:
    sky = weather.Weather(Clock())
    sky.change(weather.read({"spot_swing": 0}))
    usual = sky.spot_fraction("m5.large", "a", 0)
    assert usual == sky.spot_fraction("m5.large", "a", 40_000)

    sky.change(
        weather.read({"spot_swing": 0, "spot_moves": [{"factor": 4, "instance_type": "m5.large"}]})
    )

    assert sky.spot_fraction("m5.large", "a", 0) == pytest.approx(4 * usual)
    assert sky.spot_fraction("m5.xlarge", "a", 0) < 1


@pytest.mark.parametrize(
    "content", [{"boot_seconds": -1}, {"unseen_seconds": float("inf")}, {"refusals": [{}]}]
)
def test_values_that_make_no_sense_are_refused(content: object) -> None:
    with pytest.raises(weather.BadForecastError):
        weather.read(content)
