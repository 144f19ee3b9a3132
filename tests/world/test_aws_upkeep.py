"""What the controller keeps fresh and cleans up at AWS, over HTTP: prices, instance types, launch templates."""

from collections.abc import Generator
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta

import pytest
from tests.unit.daiku_edge import aws_facts
from tests.world import aws_account
from tests.world.aws_account import Account

from daiku.cloud.aws import launch_templates, search
from daiku.cloud.aws.launch_templates import LaunchTemplates
from daiku.cloud.aws.pricing import ON_DEMAND_EVERY, RETRY_FIRST, SPOT_EVERY, PriceBook
from daiku.cloud.aws.provider import AwsOptions, AwsProvider
from daiku.cloud.aws.session import Session
from daiku.runtime import clock

pytestmark = pytest.mark.world
START = datetime(2126, 3, 2, 12, tzinfo=UTC)
"""Later than any history of prices, so that each is given once."""
SPOT, LIST = "ec2:DescribeSpotPriceHistory", "pricing:GetProducts"


@pytest.fixture(scope="module")
def account(tmp_path_factory: pytest.TempPathFactory) -> Generator[Account]:
    with aws_account.running(tmp_path_factory.mktemp("aws") / "world") as running:
        yield running


@pytest.fixture
def session(account: Account, monkeypatch: pytest.MonkeyPatch) -> Generator[Session]:
    monkeypatch.setenv("AWS_ENDPOINT_URL", account.world.aws_endpoint)
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "local")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "local")
    yield Session(account.world.region)
    account.weather()


def calls(account: Account, name: str) -> int:
    return account.ask("GET", "/_usage").get(name, 0)


def test_prices_come_from_aws_and_spot_is_asked_for_every_five_minutes(
    account: Account, session: Session
) -> None:
    book = PriceBook(session, isolated=False)

    first = book.refresh(START)

    assert first.on_demand["m5.large"] == pytest.approx(0.096)
    assert len(first.on_demand) > 500
    assert first.spot is not None
    assert {zone for _, zone in first.spot} >= {"us-west-2a", "us-west-2b", "us-west-2c"}
    listed, history = calls(account, LIST), calls(account, SPOT)
    assert book.refresh(START + SPOT_EVERY - timedelta(seconds=1)) is first
    assert (calls(account, LIST), calls(account, SPOT)) == (listed, history)

    account.weather(spot_moves=[{"factor": 2}])
    second = book.refresh(START + SPOT_EVERY)

    assert second.spot is not None
    assert second.spot["m5.large", "us-west-2a"] > 1.9 * first.spot["m5.large", "us-west-2a"]
    assert second.on_demand == first.on_demand
    assert calls(account, LIST) == listed
    book.refresh(START + ON_DEMAND_EVERY)
    assert calls(account, LIST) > listed


def test_prices_that_cannot_be_fetched_stay_and_are_asked_for_later_and_later(
    account: Account, session: Session
) -> None:
    book = PriceBook(session, isolated=False)
    before = book.refresh(START)
    account.weather(refusals=[{"operation": "DescribeSpotPriceHistory", "code": "AccessDenied"}])
    at, pauses = START + SPOT_EVERY, list[float]()

    for _ in range(4):
        assert book.refresh(at) is before
        asked = calls(account, SPOT)
        began = at
        while calls(account, SPOT) == asked:
            at += timedelta(seconds=10)
            book.refresh(at)
        pauses.append((at - began).total_seconds())

    assert pauses == [RETRY_FIRST.total_seconds() * factor for factor in (1, 2, 4, 8)]
    account.weather(spot_moves=[{"factor": 2}])
    assert book.refresh(at + SPOT_EVERY) is not before


def test_where_the_pricing_api_cannot_be_reached_the_list_stands_in(
    account: Account, session: Session
) -> None:
    before = calls(account, LIST)

    book = PriceBook(session, isolated=True).refresh(START)

    assert calls(account, LIST) == before
    assert book.on_demand_price(aws_facts.facts()) == 0.096


def test_a_price_list_without_one_half_replaces_nothing(account: Account, session: Session) -> None:
    account.weather(refusals=[{"operation": "GetProducts", "code": "InternalError", "status": 500}])

    book = PriceBook(session, isolated=False).refresh(START)

    assert book.on_demand == {}
    assert book.spot


def _content(image: str) -> launch_templates.Json:
    return {"ImageId": image, "UserData": ""}


def test_a_launch_template_that_nobody_used_for_a_while_is_removed(
    account: Account, session: Session
) -> None:
    found, clock = aws_facts.node_class(), [1000.0]
    session.pace.monotonic = lambda: clock[0]
    templates = LaunchTemplates(session, "demo")
    old, used = templates.ensure([_content("ami-1"), _content("ami-2")], found, "default")
    (foreign,) = LaunchTemplates(session, "another").ensure([_content("ami-3")], found, "default")
    assert templates.collect() == 0

    clock[0] += launch_templates.UNUSED_SECONDS - 1
    templates.ensure([_content("ami-2")], found, "default")
    assert templates.collect() == 0
    clock[0] += launch_templates.COLLECT_SECONDS
    assert templates.collect() == 1

    kept = account.client("ec2").describe_launch_templates()["LaunchTemplates"]
    assert {used, foreign} <= {t["LaunchTemplateName"] for t in kept}
    assert old not in {t["LaunchTemplateName"] for t in kept}
    assert templates.ensure([_content("ami-1")], found, "default") == [old]
    kept = account.client("ec2").describe_launch_templates()["LaunchTemplates"]
    assert old in {t["LaunchTemplateName"] for t in kept}, "made again as soon as it is wanted"


def test_launch_templates_that_an_earlier_process_left_go_too(
    account: Account, session: Session
) -> None:
    found, clock = aws_facts.node_class(), [1000.0]
    session.pace.monotonic = lambda: clock[0]
    (left,) = LaunchTemplates(session, "restarted").ensure([_content("ami-4")], found, "default")
    after = LaunchTemplates(session, "restarted")

    assert after.collect() == 0
    clock[0] += launch_templates.UNUSED_SECONDS
    assert after.collect() == 1

    kept = account.client("ec2").describe_launch_templates()["LaunchTemplates"]
    assert left not in {t["LaunchTemplateName"] for t in kept}


def test_unused_launch_templates_are_looked_for_once_a_minute(
    account: Account, session: Session
) -> None:
    templates = LaunchTemplates(session, "demo")
    before = calls(account, "ec2:DescribeLaunchTemplates")

    for _ in range(5):
        templates.collect()

    assert calls(account, "ec2:DescribeLaunchTemplates") == before + 1


OWN = {
    "karpenter.sh/nodepool": "default",
    "karpenter.k8s.aws/ec2nodeclass": "default",
    "eks:eks-cluster-name": "demo",
}


@pytest.mark.parametrize(
    ("tags", "is_ours"),
    [
        (OWN, True),
        ({**OWN, "karpenter.sh/nodeclaim": "default-1", "team": "payments"}, True),
        ({**OWN, "eks:eks-cluster-name": "another"}, False),
        ({k: v for k, v in OWN.items() if k != "eks:eks-cluster-name"}, False),
        ({k: v for k, v in OWN.items() if k != "karpenter.sh/nodepool"}, False),
        ({k: v for k, v in OWN.items() if k != "karpenter.k8s.aws/ec2nodeclass"}, False),
        ({"Name": "somebody else's"}, False),
    ],
)
def test_only_instances_with_all_ownership_tags_of_this_cluster_are_ever_listed(
    account: Account, session: Session, tags: dict[str, str], is_ours: bool
) -> None:
    """Source: Karpenter's instance list filters; what is not listed is never ended as an orphan."""
    place = aws_account.network(account)
    listed = [{"Key": key, "Value": value} for key, value in tags.items()]
    specification = [{"ResourceType": "instance", "Tags": listed}]
    answer = aws_account.fleet(account, place, ["m5.large"], TagSpecifications=specification)
    (instance_id,) = aws_account.launched(answer)
    provider = AwsProvider(session, AwsOptions(cluster_name="demo"), clock.now)

    found = {i.provider_id.rpartition("/")[2]: i for i in provider.list_instances()}

    assert (instance_id in found) is is_ours
    if is_ours:
        assert found[instance_id].node_claim == tags.get("karpenter.sh/nodeclaim", "")


def test_many_searches_for_instances_of_claims_are_one_call(
    account: Account, session: Session
) -> None:
    finder = search.make(session)
    before = calls(account, "ec2:DescribeInstances")

    with ThreadPoolExecutor(40) as threads:
        found = list(threads.map(lambda n: finder.call("demo", f"none-{n}"), range(40)))

    assert found == [None] * 40
    assert calls(account, "ec2:DescribeInstances") - before <= 2
