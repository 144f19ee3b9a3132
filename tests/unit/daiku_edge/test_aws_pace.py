"""How fast EC2 is asked, and how calls that wait become one."""

import threading
from collections.abc import Hashable, Sequence

import pytest

from daiku.cloud import errors
from daiku.cloud.aws import pace
from daiku.cloud.aws.batching import Batcher
from daiku.cloud.aws.pace import Pace


class Clock:
    """A clock that sleeping moves on."""

    def __init__(self) -> None:
        self.seconds = 0.0

    def __call__(self) -> float:
        return self.seconds

    def sleep(self, seconds: float) -> None:
        self.seconds += seconds


def paced() -> tuple[Pace, Clock]:
    clock = Clock()
    return Pace(monotonic=clock, sleep=clock.sleep), clock


@pytest.mark.parametrize(
    ("operation", "rate", "most"),
    [
        ("describe_instances", 20, 100),
        ("get_console_output", 20, 100),
        ("create_launch_template", 5, 50),
        ("create_fleet", 2, 5),
        ("run_instances", 2, 5),
        ("terminate_instances", 5, 100),
        ("create_tags", 10, 100),
    ],
)
def test_a_call_takes_from_the_bucket_that_ec2_has_for_it(
    operation: str, rate: float, most: int
) -> None:
    assert pace.RATES[pace.bucket_of(operation)] == (rate, most)


def test_what_the_bucket_holds_goes_at_once_and_the_rest_at_its_rate() -> None:
    paced_, clock = paced()

    for _ in range(5 + 20):
        paced_.wait("create_fleet")

    assert clock.seconds == pytest.approx(10.0)


def test_an_empty_bucket_keeps_only_its_own_calls() -> None:
    paced_, clock = paced()
    for _ in range(6):
        paced_.reserve("create_fleet")

    paced_.wait("terminate_instances")
    paced_.wait("describe_instances")

    assert clock.seconds == 0


def test_a_throttle_pauses_its_own_call_longer_each_time_and_no_other() -> None:
    paced_, _ = paced()
    pauses: list[float] = []
    for _ in range(8):
        paced_.throttled("describe_subnets")
        pauses.append(paced_.reserve("describe_subnets"))

    assert 0.25 <= pauses[0] <= 0.5
    assert all(p <= pace.PAUSE_MOST_SECONDS for p in pauses)
    assert pauses[-1] >= pace.PAUSE_MOST_SECONDS / 2
    assert paced_.reserve("describe_images") == 0


def test_an_answer_ends_the_row_of_throttles() -> None:
    paced_, _ = paced()
    for _ in range(8):
        paced_.throttled("describe_subnets")

    paced_.answered("describe_subnets")

    assert paced_.reserve("describe_subnets") == 0


class Calls:
    """What a batcher executes: remembers the calls, refuses what it is told to."""

    def __init__(self, refuse: str = "") -> None:
        self.made: list[tuple[Hashable, list[str]]] = []
        self.refuse = refuse

    def __call__(self, key: Hashable, items: Sequence[str]) -> Sequence[str | errors.CloudError]:
        self.made.append((key, list(items)))
        return [errors.Denied("no") if item == self.refuse else f"done {item}" for item in items]


def run(calls: Calls, wanted: Sequence[tuple[str, str]], *, items_max: int = 100) -> dict[str, str]:
    """Call from a thread each; gives each item's outcome."""
    batcher = Batcher(name="test", execute=calls, open_seconds=lambda: 0.3, items_max=items_max)
    found: dict[str, str] = {}

    def call(key: str, item: str) -> None:
        try:
            found[item] = batcher.call(key, item)
        except errors.CloudError as error:
            found[item] = str(error)

    threads = [threading.Thread(target=call, args=pair) for pair in wanted]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return found


def test_calls_of_equal_key_become_one_and_each_gets_its_own_answer() -> None:
    calls = Calls(refuse="b")

    found = run(calls, [("k", "a"), ("k", "b"), ("k", "c")])

    assert [sorted(items) for _, items in calls.made] == [["a", "b", "c"]]
    assert found == {"a": "done a", "b": "no", "c": "done c"}


def test_calls_of_other_keys_stay_apart() -> None:
    calls = Calls()

    run(calls, [("k", "a"), ("l", "b")])

    assert sorted(calls.made, key=str) == [("k", ["a"]), ("l", ["b"])]


def test_a_call_takes_no_more_than_its_limit() -> None:
    calls = Calls()

    found = run(calls, [("k", str(n)) for n in range(25)], items_max=10)

    assert sorted(len(items) for _, items in calls.made) == [5, 10, 10]
    assert len(found) == 25


def test_a_defect_of_the_one_who_calls_keeps_nobody_waiting() -> None:
    class Broken(Calls):
        def __call__(
            self, key: Hashable, items: Sequence[str]
        ) -> Sequence[str | errors.CloudError]:
            super().__call__(key, items)
            raise errors.Unreachable("broken")

    found = run(Broken(), [("k", "a"), ("k", "b")])

    assert len(found) == 2


def test_a_throttle_that_says_when_to_come_again_is_believed() -> None:
    paced_, clock = paced()

    paced_.throttled("describe_subnets", 7.0)

    assert paced_.reserve("describe_subnets") == pytest.approx(7.0)
    assert paced_.reserve("describe_images") == 0
    clock.seconds = 7.0
    assert paced_.reserve("describe_subnets") == 0


def test_calls_of_other_services_have_pauses_but_no_buckets() -> None:
    paced_, _ = paced()
    for _ in range(500):
        paced_.reserve("sqs:receive_message")
    assert paced_.reserve("sqs:receive_message") == 0

    paced_.throttled("sqs:receive_message", 3.0)

    assert paced_.reserve("sqs:receive_message") == pytest.approx(3.0)
    assert paced_.reserve("sqs:get_queue_url") == 0
