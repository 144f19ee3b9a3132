"""What the AWS side costs, against the stand-in AWS as a process of its own.

`aws-refresh` fetches all instance types, offerings and prices of a region; `aws-catalogue` makes of them what a node
class would run, anew and after a new price; `aws-launch-1000` launches 1,000 NodeClaims at once with EC2's limits of
requests in force.
"""

import os
import tempfile
import threading
import time
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

from tests import build
from tests.performance import measured
from tests.performance.measured import Benchmark, Line
from tests.unit.daiku_edge import aws_facts
from tests.world import aws_account
from tests.world.aws_account import Account, Network

from daiku.cloud import errors
from daiku.cloud.aws import capacity, concurrently, instance_types, launcher, wishes
from daiku.cloud.aws.addresses import Addresses
from daiku.cloud.aws.instance_types import Facts
from daiku.cloud.aws.launch_templates import LaunchTemplates
from daiku.cloud.aws.measured import Measured
from daiku.cloud.aws.offerings import Offerings
from daiku.cloud.aws.pricing import PriceBook
from daiku.cloud.aws.session import Session
from daiku.model.instance_type import LaunchOption
from daiku.model.nodeclass import NodeClass
from daiku.runtime import clock

CLAIMS = 1000
THREADS = 48
"""As many as the executor has."""
ZONES = ("us-west-2a", "us-west-2b", "us-west-2c")


def benchmarks() -> Iterator[Benchmark]:
    """All of them."""
    yield Benchmark(name="aws-refresh", lines=_refresh)
    yield Benchmark(name="aws-catalogue", lines=_catalogue)
    yield Benchmark(name="aws-launch-1000", lines=_launch)


@contextmanager
def _aws() -> Generator[tuple[Account, Session]]:
    with (
        tempfile.TemporaryDirectory() as folder,
        aws_account.running(Path(folder) / "world") as account,
    ):
        keys = dict.fromkeys(("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"), "local")
        os.environ |= {"AWS_ENDPOINT_URL": account.world.aws_endpoint, **keys}
        yield account, Session(account.world.region)


def _cpu(account: Account) -> float:
    """CPU seconds that the stand-in AWS has used."""
    after_name = Path(f"/proc/{account.process_id}/stat").read_text().rpartition(")")[2].split()
    return (int(after_name[11]) + int(after_name[12])) / os.sysconf("SC_CLK_TCK")


def _fetch(session: Session) -> tuple[dict[str, Facts], PriceBook]:
    """As the provider does it."""
    book = PriceBook(session, isolated=False)
    types, _ = concurrently.both(
        lambda: instance_types.fetch(session), lambda: book.refresh(clock.now())
    )
    return types, book


def _refresh() -> Iterator[Line]:
    with _aws() as (account, session):
        # What boto3 itself takes for its clients is not what is measured.
        session.call("ec2", "describe_vpcs")
        idle, cpu, aws_cpu = measured.peak_rss_mb(), time.process_time(), _cpu(account)
        began = time.perf_counter()
        types, book = _fetch(session)
        yield {
            "name": "aws-refresh",
            "seconds": round(time.perf_counter() - began, 2),
            "own_cpu_seconds": round(time.process_time() - cpu, 2),
            "aws_cpu_seconds": round(_cpu(account) - aws_cpu, 2),
            "instance_types": len(types),
            "spot_prices": len(book.prices.spot or ()),
            "mb_over_idle": measured.peak_rss_mb() - idle,
        }


def _catalogue() -> Iterator[Line]:
    with _aws() as (_, session):
        types, book = _fetch(session)
    found = aws_facts.node_class()
    some = dict(list(types.items())[:1000])
    sizing = capacity.sizing_of(found, memory_overhead=0.075, reserved_interfaces=0)
    subnets = [{"id": f"subnet-{zone}", "zone": zone, "zoneID": zone} for zone in ZONES]
    placed = replace(found, status={**found.status, "subnets": subnets})
    offerings = Offerings("us-west-2", Measured())
    for what in ("anew", "after a new price"):
        began = time.perf_counter()
        made = offerings.make(some, replace(book.prices), placed, sizing)
        yield {
            "name": "aws-catalogue",
            "case": what,
            "seconds": round(time.perf_counter() - began, 3),
            "instance_types": len(made),
            "offerings": sum(len(t.offerings) for t in made),
        }


def _launch() -> Iterator[Line]:
    with _aws() as (account, session):
        place = aws_account.network(account)
        found = _node_class(place)
        launching = launcher.Launcher(
            session,
            LaunchTemplates(session, "demo"),
            build.NOW - timedelta(hours=1),
            Addresses(session.pace.monotonic),
        )
        account.weather(request_buckets=True)
        plans = [_plan(found, f"default-{number}") for number in range(CLAIMS)]
        launched: list[str] = []
        refused: list[str] = []

        def launch(plan: wishes.Plan) -> None:
            try:
                launched.append(launching.launch(plan).instance_id)
            except errors.CloudError as error:
                refused.append(error.code)

        began, cpu = time.perf_counter(), time.process_time()
        _in_threads([lambda plan=plan: launch(plan) for plan in plans])
        seconds = time.perf_counter() - began
        aws_account.eventually(lambda: _running(account) >= CLAIMS, "all to run", seconds=60)
        usage: dict[str, int] = account.ask("GET", "/_usage")
        yield {
            "name": "aws-launch-1000",
            "seconds": round(seconds, 1),
            "seconds_until_all_run": round(time.perf_counter() - began, 1),
            "own_cpu_seconds": round(time.process_time() - cpu, 1),
            "create_fleet_calls": usage["ec2:CreateFleet"],
            "instances": len(set(launched)),
            "refused": len(refused),
        }


def _running(account: Account) -> int:
    pages = (
        account.client("ec2")
        .get_paginator("describe_instances")
        .paginate(Filters=[{"Name": "instance-state-name", "Values": ["running"]}])
    )
    return sum(len(r["Instances"]) for page in pages for r in page["Reservations"])


def _node_class(place: Network) -> NodeClass:
    known = aws_facts.node_class()
    amd64 = {"key": "kubernetes.io/arch", "operator": "In", "values": ["amd64"]}
    subnets = [
        {"id": subnet, "zone": zone} for subnet, zone in zip(place.subnets, ZONES, strict=True)
    ]
    status = {
        **known.status,
        "subnets": subnets,
        "securityGroups": [{"id": place.group}],
        "instanceProfile": place.profile,
        "amis": [{"id": place.image, "requirements": [amd64]}],
    }
    return replace(known, status=status)


def _plan(found: NodeClass, name: str) -> wishes.Plan:
    claim = build.node_claim(name, launched=False)
    return wishes.Plan(
        claim=replace(claim, meta=replace(claim.meta, uid=f"uid-{name}")),
        node_class=found,
        sizing=capacity.sizing_of(found, memory_overhead=0.075, reserved_interfaces=0),
        options=[
            LaunchOption(
                instance_type="m5.large",
                zone=zone,
                capacity_type="on-demand",
                price_usd_per_hour=0.096,
            )
            for zone in ZONES
        ],
        types={"m5.large": aws_facts.facts()},
        cluster=aws_facts.CLUSTER,
    )


def _in_threads(work: list[Callable[[], None]]) -> None:
    lock = threading.Lock()

    def run() -> None:
        while True:
            with lock:
                if not work:
                    return
                one = work.pop()
            one()

    threads = [threading.Thread(target=run) for _ in range(THREADS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
