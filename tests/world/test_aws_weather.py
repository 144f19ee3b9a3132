"""The weather over HTTP: what boto3 and the controller's own session see of it, and the commands that set it."""

import json
import os
import subprocess
import sys
import time
from collections.abc import Generator
from pathlib import Path
from typing import Any

import pytest
from tests.world import aws_account
from tests.world.aws_account import Account, Network, fleet, instance, launched, refused

from daiku.cloud import errors
from daiku.cloud.aws.session import Session

pytestmark = pytest.mark.world
DAIKU = str(Path(sys.executable).parent / "daiku")


@pytest.fixture(scope="module")
def account(tmp_path_factory: pytest.TempPathFactory) -> Generator[Account]:
    with aws_account.running(tmp_path_factory.mktemp("aws") / "world") as running:
        yield running


@pytest.fixture
def place(account: Account) -> Generator[Network]:
    yield aws_account.network(account)
    account.weather()


@pytest.fixture
def session(account: Account, monkeypatch: pytest.MonkeyPatch) -> Generator[Session]:
    monkeypatch.setenv("AWS_ENDPOINT_URL", account.world.aws_endpoint)
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "local")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "local")
    yield Session(account.world.region)
    account.weather()


def test_a_pool_with_three_left_gives_a_fleet_three_and_then_says_no(
    account: Account, place: Network
) -> None:
    account.weather(sold_out=[{"instance_type": "c5.large", "left": 3}])

    first = fleet(account, place, ["c5.large"], count=5)
    second = fleet(account, place, ["c5.large"], count=1)

    assert len(launched(first)) == 3
    assert {e["ErrorCode"] for e in first["Errors"]} == {"InsufficientInstanceCapacity"}
    assert launched(second) == []


def test_contested_pools_are_the_first_choices_of_a_fleet_and_never_all(
    account: Account, place: Network
) -> None:
    account.weather(contested_pools=2)

    answer = fleet(account, place, ["c5.large", "m5.large"])

    refused_pools = [e["LaunchTemplateAndOverrides"]["Overrides"] for e in answer["Errors"]]
    assert [p["InstanceType"] for p in refused_pools] == ["c5.large", "c5.large"]
    assert len(launched(answer)) == 1
    account.weather(contested_pools=100)
    assert len(launched(fleet(account, place, ["c5.large"]))) == 1


def test_a_pool_can_say_no_with_any_code(account: Account, place: Network) -> None:
    account.weather(sold_out=[{"code": "VcpuLimitExceeded", "message": "your quota is 8"}])

    errors_ = fleet(account, place, ["c5.large"])["Errors"]

    assert {(e["ErrorCode"], e["ErrorMessage"]) for e in errors_} == {
        ("VcpuLimitExceeded", "your quota is 8")
    }


def test_a_new_instance_is_not_seen_for_a_while(account: Account, place: Network) -> None:
    account.weather(unseen_seconds=2)
    ec2 = account.client("ec2")
    (new,) = launched(fleet(account, place, ["c5.large"]))

    for call in (ec2.describe_instances, ec2.terminate_instances):
        assert refused(call, InstanceIds=[new])[0] == "InvalidInstanceID.NotFound"
    tags = [{"Key": "a", "Value": "b"}]
    assert refused(ec2.create_tags, Resources=[new], Tags=tags)[0] == "InvalidInstanceID.NotFound"
    listed = [
        i["InstanceId"] for r in ec2.describe_instances()["Reservations"] for i in r["Instances"]
    ]
    assert new not in listed

    aws_account.eventually(lambda: _is_listed(ec2, new), "it to be seen")
    assert instance(account, new)["InstanceType"] == "c5.large"


def _is_listed(ec2: Any, instance_id: str) -> bool:
    pages = ec2.describe_instances()["Reservations"]
    return any(i["InstanceId"] == instance_id for r in pages for i in r["Instances"])


def test_spot_prices_move_on_request(account: Account) -> None:
    ec2 = account.client("ec2")

    def price() -> float:
        asked = {"InstanceTypes": ["m5.large"], "AvailabilityZone": "us-west-2a", "MaxResults": 1}
        return float(ec2.describe_spot_price_history(**asked)["SpotPriceHistory"][0]["SpotPrice"])

    usual = price()
    account.weather(spot_moves=[{"factor": 3, "instance_type": "m5.large"}])
    dear = price()
    account.weather()

    assert dear == pytest.approx(3 * usual, rel=0.01)


def test_a_throttled_call_waits_as_long_as_it_is_told_and_no_other_call_does(
    account: Account, session: Session
) -> None:
    account.weather(
        refusals=[
            {
                "operation": "DescribeSubnets",
                "code": "RequestLimitExceeded",
                "status": 503,
                "times": 1,
                "retry_after_seconds": 2,
            }
        ]
    )
    began = time.monotonic()

    session.call("ec2", "describe_subnets")

    assert time.monotonic() - began >= 2
    began = time.monotonic()
    session.call("ec2", "describe_vpcs")
    assert time.monotonic() - began < 1


def test_a_throttle_that_does_not_end_says_when_to_come_again(
    account: Account, session: Session
) -> None:
    account.weather(throttle={"DescribeSubnets": 0.0}, throttle_retry_after_seconds=0.5)

    with pytest.raises(errors.Throttled) as caught:
        session.call("ec2", "describe_subnets")

    assert caught.value.retry_after_seconds == 0.5
    assert caught.value.code == "RequestLimitExceeded"


def _daiku(account: Account, *arguments: str) -> subprocess.CompletedProcess[str]:
    variables = {**os.environ, "DAIKU_WORLD": account.world.folder, "NO_COLOR": "1"}
    return subprocess.run(
        [DAIKU, "local", "weather", *arguments],
        env=variables,
        capture_output=True,
        text=True,
        check=False,
    )


def test_the_weather_is_set_piece_by_piece_from_the_command_line(account: Account) -> None:
    _daiku(account, "fair")
    _daiku(account, "set", "boot_seconds=40", 'throttle={"DescribeInstances": 1}')
    _daiku(account, "sold-out", "--zone", "us-west-2a", "--capacity-type", "spot", "--left", "2")

    done = _daiku(account, "refuse", "CreateFleet", "AccessDenied", "--times", "3")

    assert done.returncode == 0, done.stderr
    now = account.ask("GET", "/_weather")
    assert json.loads(done.stdout) == now
    assert (now["boot_seconds"], now["throttle"]) == (40.0, {"DescribeInstances": 1.0})
    assert now["sold_out"][0]["left"] == 2
    assert now["refusals"][0]["times"] == 3
    assert json.loads(_daiku(account, "fair").stdout)["sold_out"] == []
    account.weather()


def test_an_option_that_is_repeated_counts_each_time_and_the_last_command_holds(
    account: Account,
) -> None:
    _daiku(account, "fair")
    _daiku(account, "sold-out", "--zone", "us-west-2a", "--zone", "us-west-2b", "--left", "3")
    done = _daiku(
        account, "sold-out", "--zone", "us-west-2b", "--type", "m5.large", "--type", "c5.large"
    )

    pools = [
        (p["instance_type"], p["zone"], p["left"]) for p in json.loads(done.stdout)["sold_out"]
    ]
    assert pools == [
        ("m5.large", "us-west-2b", 0),
        ("c5.large", "us-west-2b", 0),
        ("*", "us-west-2a", 3),
        ("*", "us-west-2b", 3),
    ]
    done = _daiku(
        account, "spot-price", "--factor", "2", "--zone", "us-west-2a", "--zone", "us-west-2b"
    )
    assert [m["zone"] for m in json.loads(done.stdout)["spot_moves"]] == [
        "us-west-2a",
        "us-west-2b",
    ]
    account.weather()


def test_a_message_goes_into_the_queue_as_it_is(account: Account) -> None:
    sqs = account.client("sqs")
    url = sqs.create_queue(QueueName="warnings")["QueueUrl"]

    done = _daiku(account, "message", "not JSON")

    assert done.returncode == 0, done.stderr
    assert sqs.receive_message(QueueUrl=url)["Messages"][0]["Body"] == "not JSON"
    sqs.delete_queue(QueueUrl=url)
    assert "no queue yet" in _daiku(account, "message", "x").stderr


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("set", "rain=1"), "unknown in a forecast: rain"),
        (("set", "boot_seconds"), "write NAME=VALUE"),
        (("set", "boot_seconds=1", "boot_seconds=2"), "set twice: boot_seconds"),
        (("set", "boot_seconds=-1"), "0 or more"),
        (("interrupt", "i-0"), "does not exist"),
    ],
)
def test_a_mistake_is_said_in_one_line(
    account: Account, arguments: tuple[str, ...], said: str
) -> None:
    done = _daiku(account, *arguments)

    assert done.returncode == 1
    assert said in done.stderr
    assert "Traceback" not in done.stderr
