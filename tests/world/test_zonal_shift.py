"""A zone that the cluster is shifted away from, over HTTP: nothing is bought there until the shift ends."""

from collections.abc import Generator
from dataclasses import replace

import pytest
from tests.world import aws_account, node_classes
from tests.world.node_classes import NOW, Aws

from daiku.cloud import errors
from daiku.cloud.aws.provider import AwsProvider
from daiku.cloud.aws.session import Session
from daiku.model import labels
from daiku.model.instance_type import LaunchOption
from daiku.model.nodeclass import NodeClass

pytestmark = pytest.mark.world


@pytest.fixture(scope="module")
def aws(tmp_path_factory: pytest.TempPathFactory) -> Generator[Aws]:
    with node_classes.running(tmp_path_factory.mktemp("aws") / "world") as running:
        yield running


def _provider(aws: Aws, cluster: str) -> AwsProvider:
    options = replace(aws.provider.options, cluster_name=cluster, zonal_shift=True)
    return AwsProvider(Session(aws.account.world.region), options, lambda: NOW)


def _sold_in(provider: AwsProvider, found: NodeClass) -> set[str]:
    types = {t.name: t for t in provider.catalogue([found], 1).instance_types[found.ref]}
    return {o.zone for o in types["m5.large"].offerings if o.available}


def test_nothing_is_for_sale_in_a_shifted_zone_until_the_shift_ends(aws: Aws) -> None:
    aws.account.client("eks").create_cluster(
        name="registered",
        roleArn=aws_account.role(aws.account, "registered", "eks.amazonaws.com"),
        resourcesVpcConfig={"subnetIds": aws.network.subnets},
        zonalShiftConfig={"enabled": True},
    )
    provider, found = _provider(aws, "registered"), aws.ready()
    zones = {s["zone"]: s["zoneID"] for s in found.status["subnets"]}
    every = _sold_in(provider, found)

    aws.account.weather(shifted_zones=[zones["us-west-2a"]])
    during = _sold_in(provider, found)
    aws.account.weather()
    after = _sold_in(provider, found)

    assert every == after == {"us-west-2a", "us-west-2b", "us-west-2c"}
    assert during == {"us-west-2b", "us-west-2c"}


def test_when_nobody_says_the_shift_that_was_known_still_holds(aws: Aws) -> None:
    provider, found = _provider(aws, "registered"), aws.ready()
    zone = next(s["zoneID"] for s in found.status["subnets"] if s["zone"] == "us-west-2b")
    refusal = {"operation": "GetManagedResource", "code": "AccessDeniedException", "status": 403}
    aws.account.weather(shifted_zones=[zone])
    known = _sold_in(provider, found)

    aws.account.weather(refusals=[refusal])
    still = _sold_in(provider, found)
    aws.account.weather()

    assert known == still == {"us-west-2a", "us-west-2c"}


def test_a_cluster_that_is_not_registered_is_told_at_start(aws: Aws) -> None:
    with pytest.raises(errors.CloudError) as told:
        _provider(aws, "demo").shifted_zones()

    assert told.value.code == "ResourceNotFoundException"
    assert "not registered for zonal shift" in str(told.value)


def test_a_claim_goes_to_a_zone_that_is_left(aws: Aws) -> None:
    provider, found = _provider(aws, "registered"), aws.ready()
    zone = next(s["zoneID"] for s in found.status["subnets"] if s["zone"] == "us-west-2a")
    aws.account.weather(shifted_zones=[zone])
    options = [
        LaunchOption(
            instance_type="m5.large", zone=z, capacity_type=labels.ON_DEMAND, price_usd_per_hour=0.1
        )
        for z in sorted(_sold_in(provider, found))
    ]

    launched = provider.launch(node_classes.claim("elsewhere"), found, options)

    aws.account.weather()
    assert launched.zone != "us-west-2a"
