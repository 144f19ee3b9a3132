"""Many launches and ends at once against EC2's own limits of requests, through the controller's launcher, over HTTP."""

import threading
import time
from collections.abc import Generator
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
from tests import build
from tests.unit.daiku_edge import aws_facts
from tests.world import aws_account
from tests.world.aws_account import Account, Network

from daiku.cloud import errors
from daiku.cloud.aws import capacity, launcher, terminator, wishes
from daiku.cloud.aws.addresses import Addresses
from daiku.cloud.aws.launch_templates import LaunchTemplates
from daiku.cloud.aws.session import Session
from daiku.model.instance_type import LaunchOption

pytestmark = pytest.mark.world
CLAIMS = 200
THREADS = 48
OPTIONS = tuple(
    LaunchOption(
        instance_type="m5.large",
        zone=f"us-west-2{letter}",
        capacity_type="on-demand",
        price_usd_per_hour=0.096,
    )
    for letter in "abc"
)


@pytest.fixture(scope="module")
def account(tmp_path_factory: pytest.TempPathFactory) -> Generator[Account]:
    with aws_account.running(tmp_path_factory.mktemp("aws") / "world") as running:
        yield running


@pytest.fixture
def session(account: Account, monkeypatch: pytest.MonkeyPatch) -> Session:
    monkeypatch.setenv("AWS_ENDPOINT_URL", account.world.aws_endpoint)
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "local")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "local")
    return Session(account.world.region)


@pytest.fixture
def place(account: Account) -> Generator[Network]:
    yield aws_account.network(account)
    account.weather()


def _plan(place: Network, name: str) -> wishes.Plan:
    known = aws_facts.node_class()
    status = {
        **known.status,
        "subnets": [
            {"id": subnet, "zone": f"us-west-2{letter}"}
            for subnet, letter in zip(place.subnets, "abc", strict=True)
        ],
        "securityGroups": [{"id": place.group}],
        "instanceProfile": place.profile,
        "amis": [
            {
                "id": place.image,
                "requirements": [
                    {"key": "kubernetes.io/arch", "operator": "In", "values": ["amd64"]}
                ],
            }
        ],
    }
    claim = build.node_claim(name, launched=False)
    found = replace(known, status=status)
    return wishes.Plan(
        claim=replace(claim, meta=replace(claim.meta, uid=f"uid-{name}")),
        node_class=found,
        sizing=capacity.sizing_of(found, memory_overhead=0.075, reserved_interfaces=0),
        options=OPTIONS,
        types={"m5.large": aws_facts.facts()},
        cluster=aws_facts.CLUSTER,
    )


def _in_threads(work: list[Any]) -> list[str]:
    """Do everything, THREADS at a time; the names of the errors."""
    failed: list[str] = []
    lock = threading.Lock()

    def run() -> None:
        while True:
            with lock:
                if not work:
                    return
                one = work.pop()
            try:
                one()
            except errors.CloudError as error:
                failed.append(f"{type(error).__name__}: {error}")

    threads = [threading.Thread(target=run) for _ in range(THREADS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return failed


def test_a_burst_of_launches_and_ends_keeps_to_the_limits_of_ec2(
    account: Account, session: Session, place: Network
) -> None:
    launching = launcher.Launcher(
        session,
        LaunchTemplates(session, "demo"),
        build.NOW - timedelta(hours=1),
        Addresses(time.monotonic),
    )
    account.weather(request_buckets=True)
    usage = account.ask("GET", "/_usage")
    got: dict[str, str] = {}

    def launch(name: str) -> None:
        got[name] = launching.launch(_plan(place, name)).instance_id

    began = time.monotonic()
    names = [f"default-{n}" for n in range(CLAIMS)]
    failed = _in_threads([lambda name=name: launch(name) for name in names])
    seconds = time.monotonic() - began

    calls = _count(account.ask("GET", "/_usage"), "CreateFleet") - _count(usage, "CreateFleet")
    assert failed == []
    assert len(set(got.values())) == CLAIMS
    assert calls <= 15
    assert seconds < 30

    ends = terminator.make(session)
    states: list[str] = []
    ended = _in_threads([lambda i=i: states.append(ends.call("", i)) for i in got.values()])

    terminated = _count(account.ask("GET", "/_usage"), "TerminateInstances")
    assert ended == []
    assert set(states) == {"shutting-down"}
    assert terminated <= CLAIMS / 5


def _count(usage: dict[str, int], operation: str) -> int:
    return usage.get(f"ec2:{operation}", 0)
