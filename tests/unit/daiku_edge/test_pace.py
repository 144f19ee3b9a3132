"""Requests to the API server come no faster than they may."""

from daiku.kube.pace import Pace


class Time:
    """A clock that moves only when somebody sleeps."""

    def __init__(self) -> None:
        self.now = 100.0

    def sleep(self, seconds: float) -> None:
        self.now += seconds


def test_a_burst_goes_at_once_and_what_follows_at_the_rate() -> None:
    time = Time()
    pace = Pace(10.0, 5, lambda: time.now, time.sleep)

    waits = [round(pace.wait(), 6) for _ in range(8)]

    assert waits == [0, 0, 0, 0, 0, 0.1, 0.1, 0.1]


def test_an_idle_bucket_fills_up_to_the_burst_and_no_further() -> None:
    time = Time()
    pace = Pace(10.0, 3, lambda: time.now, time.sleep)
    for _ in range(3):
        pace.wait()

    time.now += 1000.0

    assert [round(pace.wait(), 6) for _ in range(4)] == [0, 0, 0, 0.1]


def test_in_any_second_there_are_no_more_than_burst_and_rate() -> None:
    time = Time()
    pace = Pace(200.0, 300, lambda: time.now, time.sleep)
    times: list[float] = []
    for _ in range(2000):
        pace.wait()
        times.append(time.now)

    assert max(sum(a <= t < a + 1 for t in times) for a in (100.0, 101.0, 102.5)) <= 500
