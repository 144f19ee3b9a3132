"""Every error code of a launch, injected once by the weather: what the controller does about it, seen from outside.

A real control plane and `daiku run` as a process; the AWS side is the stand-in over HTTP. Instances never join, for
nothing here needs them to.
"""

import time
from collections.abc import Generator

import pytest
from tests.world import launch_stage
from tests.world.launch_stage import CLAIMS, PODS, Lead, Stage, items

from daiku.api import encode

pytestmark = pytest.mark.world

SLR = "AuthFailure.ServiceLinkedRoleCreationNotPermitted"


@pytest.fixture(scope="module")
def stage(tmp_path_factory: pytest.TempPathFactory) -> Generator[Stage]:
    with launch_stage.standing(tmp_path_factory.mktemp("errors") / "world") as made:
        yield made


@pytest.fixture(scope="module")
def controller(stage: Stage, tmp_path_factory: pytest.TempPathFactory) -> Generator[Lead]:
    made = Lead(stage, tmp_path_factory.mktemp("controller"))
    yield made
    made.stop()


@pytest.fixture
def running(controller: Lead) -> Stage:
    """With a controller that may have launched before."""
    controller.be("shared")
    return controller.stage


@pytest.fixture
def fresh(controller: Lead) -> Generator[Stage]:
    """With a controller that remembers nothing, for codes that concern more than one pool."""
    controller.stop()
    for pod in items(controller.stage.client, PODS):
        # One that waits still would be launched for in the middle of another test.
        meta = pod["metadata"]
        controller.stage.client.delete(f"{PODS}/{meta['name']}", encode.deletion(meta["uid"]))
    for name in controller.stage.claims():
        # Room that other tests have left would do for a pod of this one.
        claim = f"{CLAIMS}/{name}"
        controller.stage.client.patch(claim, {"metadata": {"finalizers": None}})
        controller.stage.client.delete(claim)
    controller.be("fresh")
    yield controller.stage
    controller.stage.account.weather()
    controller.stop()


@pytest.mark.parametrize(
    ("code", "cheap", "dear"),
    [
        ("InsufficientInstanceCapacity", "c5a.large", "m5a.large"),
        ("InsufficientHostCapacity", "c5.large", "m5.large"),
        ("UnfulfillableCapacity", "c6a.large", "m6a.large"),
        ("Unsupported", "c6i.large", "m6i.large"),
        ("ReservationCapacityExceeded", "c7i.large", "m7i.large"),
        ("MaxFleetCountExceeded", "c7a.large", "m7a.large"),
    ],
)
def test_a_pool_that_says_no_is_left_out_and_the_next_choice_is_launched(
    running: Stage, code: str, cheap: str, dear: str
) -> None:
    before = set(running.claims())
    running.account.weather(sold_out=[{"instance_type": cheap, "code": code}])

    running.want(cheap, dear)

    assert running.launched(before)[0] == dear
    running.account.weather()
    again = set(running.claims())
    running.want(cheap, dear)
    assert running.launched(again)[0] == dear, "what was sold out is remembered"


@pytest.mark.parametrize(
    ("code", "message", "reason", "remedy"),
    [
        ("UnauthorizedOperation", "You are not authorized", "Unauthorized", "IAM role"),
        (
            "UnauthorizedOperation",
            "with an explicit deny in a service control policy",
            "Unauthorized",
            "service control policy of the organisation",
        ),
        (
            "UnauthorizedOperation",
            "Not authorized for images: [ami-1]",
            "AMIAuthorizationFailure",
            "share it",
        ),
        ("AuthFailure", "credentials are wrong", "Unauthorized", "credentials"),
        ("PendingVerification", "wait", "AccountPendingVerification", "verified"),
        (
            "InvalidParameter",
            "Security group sg-1 and subnet subnet-1 belong to different networks.",
            "SecurityGroupSubnetVPCMismatch",
            "one VPC",
        ),
        (
            "InvalidParameterValue",
            "Invalid IAM Instance Profile name",
            "InstanceProfileNameInvalid",
            "instance profile that exists",
        ),
        (
            "InvalidParameterCombination",
            "not eligible for Free Tier",
            "FreeTierIneligible",
            "Free Tier",
        ),
        (
            "InvalidUserData.Malformed",
            "User data is limited to 16384 bytes",
            "UserDataSizeLimitExceeded",
            "shorten",
        ),
        ("InvalidAMIID.NotFound", "no such image", "AMINotFound", "amiSelectorTerms"),
        ("InvalidAMIID.Malformed", "bad id", "InvalidAMIID", "ami-..."),
        ("InvalidAMIID.Unavailable", "it is being made", "AMINotFound", "it is being made"),
        ("InvalidSubnetID.NotFound", "no such subnet", "SubnetResolutionFailed", "selects again"),
        ("OptInRequired", "not subscribed", "Unauthorized", "subscribe the account"),
        ("InvalidBlockDeviceMapping", "bad device", "LaunchFailed", "blockDeviceMappings"),
        ("SomethingNew", "nobody knows", "LaunchFailed", "nobody knows"),
    ],
)
def test_what_another_pool_does_not_mend_is_told_and_the_claim_tried_again(
    running: Stage, code: str, message: str, reason: str, remedy: str
) -> None:
    before = set(running.claims())
    running.account.weather(sold_out=[{"code": code, "message": message}])

    running.want("m5d.large", "r5d.large")

    name, said = running.condition(before)
    assert said["reason"] == reason
    assert code in said["message"]
    assert remedy in said["message"]
    running.account.weather()
    assert running.launched(before)[0] == "m5d.large"
    assert name in running.claims(), "the same claim"


@pytest.mark.parametrize(
    ("code", "status", "retry_after"),
    [
        ("RequestLimitExceeded", 503, None),
        ("RequestLimitExceeded", 503, 1.0),
        ("InternalError", 500, None),
        ("Unavailable", 503, None),
        ("InvalidLaunchTemplateName.NotFoundException", 400, None),
    ],
)
def test_a_call_that_is_refused_once_is_made_again_for_the_same_claim(
    running: Stage, code: str, status: int, retry_after: float | None
) -> None:
    before = set(running.claims())
    refusal = {"operation": "CreateFleet", "code": code, "status": status, "times": 1}
    running.account.weather(refusals=[{**refusal, "retry_after_seconds": retry_after}])

    running.want("m5n.large")

    assert running.launched(before)[0] == "m5n.large"
    assert len(set(running.claims()) - before) == 1
    running.account.weather()


def test_a_denied_call_is_told_with_its_code_and_not_repeated_hot(running: Stage) -> None:
    before = set(running.claims())
    running.account.weather(refusals=[{"operation": "CreateFleet", "code": "AccessDenied"}])
    asked = _fleets(running)

    running.want("m6id.large")

    _, said = running.condition(before)
    assert (said["reason"], "AccessDenied" in said["message"]) == ("Unauthorized", True)
    time.sleep(6)
    assert 1 <= _fleets(running) - asked <= 5, "after 1, 2 and 4 seconds"
    running.account.weather()
    assert running.launched(before)[0] == "m6id.large"


@pytest.mark.parametrize(
    ("code", "way"),
    [("VcpuLimitExceeded", "on-demand"), ("MaxSpotInstanceCountExceeded", "spot")],
)
def test_a_quota_leaves_out_all_that_counts_against_it(fresh: Stage, code: str, way: str) -> None:
    fresh.account.weather(sold_out=[{"code": code, "capacity_type": way}])
    fresh.want("r5a.large", way=way)

    said = fresh.given_up(code)

    assert "Service Quotas" in said
    fresh.account.weather()
    before = set(fresh.claims())
    # Of one price, so that the price guard lets either be bought.
    fresh.want("r6i.2xlarge", "g4dn.xlarge", way=way)
    assert fresh.launched(before)[0] == "g4dn.xlarge", "G instances have a quota of their own"


def test_without_the_role_of_spot_there_is_no_spot_and_on_demand_is_launched(fresh: Stage) -> None:
    before = set(fresh.claims())
    fresh.account.weather(sold_out=[{"code": SLR, "capacity_type": "spot"}])
    fresh.want("r6a.large", way="spot on-demand")

    said = fresh.given_up(SLR)

    assert "create-service-linked-role" in said
    assert fresh.launched(before)[::2] == ("r6a.large", "on-demand")
    fresh.account.weather()
    before = set(fresh.claims())
    fresh.want("r7i.large", way="spot on-demand")
    assert fresh.launched(before)[::2] == ("r7i.large", "on-demand"), "other types too"


def test_with_all_spot_sold_out_a_few_calls_are_enough_to_know_and_on_demand_is_launched(
    fresh: Stage,
) -> None:
    """More than 900 types would do, of which a call names 60."""
    before, asked = set(fresh.claims()), _fleets(fresh)
    fresh.account.weather(sold_out=[{"capacity_type": "spot"}])

    fresh.want(way="spot on-demand")

    assert fresh.launched(before)[2] == "on-demand"
    assert _fleets(fresh) - asked <= 8


def test_a_pod_with_security_groups_of_its_own_gets_a_machine_that_has_branches(
    fresh: Stage,
) -> None:
    before = set(fresh.claims())

    fresh.want("t3.large", "m5.large", extra={"vpc.amazonaws.com/pod-eni": "1"})

    assert fresh.launched(before)[0] == "m5.large"


def test_a_subnet_without_addresses_closes_its_zone_and_the_next_is_taken(fresh: Stage) -> None:
    code = "InsufficientFreeAddressesInSubnet"
    before = set(fresh.claims())
    fresh.account.weather(sold_out=[{"code": code, "zone": "us-west-2a"}])

    fresh.want("m6in.large", zones=("us-west-2a", "us-west-2b"))

    assert fresh.launched(before)[1] == "us-west-2b"
    fresh.account.weather()
    before = set(fresh.claims())
    fresh.want("c6in.large", zones=("us-west-2a", "us-west-2b"))
    assert fresh.launched(before)[1] == "us-west-2b", "other types too"


def _fleets(stage: Stage) -> int:
    return stage.account.ask("GET", "/_usage").get("ec2:CreateFleet", 0)
