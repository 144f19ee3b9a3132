"""A node class is tried before it is Ready: what EC2 is asked, what each refusal means, how long a verdict holds.

Source: Karpenter's validation of EC2NodeClasses by dry run (reasons, order, half an hour, any annotation asks anew).
"""

from collections.abc import Iterator
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
from tests import build
from tests.unit.daiku_edge import aws_facts

from daiku.cloud import errors as cloud_errors
from daiku.cloud.aws import errors, trial
from daiku.cloud.aws.launch_templates import LaunchTemplates
from daiku.cloud.aws.pace import Pace
from daiku.cloud.aws.trial import Case, Trials, Verdict
from daiku.cloud.aws.user_data import Boot
from daiku.lifecycle.node_class_drift import HASH
from daiku.model import labels
from daiku.model.nodeclass import NodeClass
from daiku.model.requirements import Requirement, Requirements

WOULD = cloud_errors.LaunchRefused("would have succeeded", code="DryRunOperation")
TYPES = {
    t.name: t
    for t in (
        aws_facts.facts("c5.large", 2, 4096),
        aws_facts.facts(),
        aws_facts.facts("m6g.large", architecture="arm64"),
        aws_facts.facts("g5.xlarge", 4, 16384, extended={"nvidia.com/gpu": 1}),
    )
}


class Ec2:
    """EC2 as far as a trial asks it: each operation answers what it was told to, else that it would succeed."""

    region = "us-west-2"

    def __init__(self, **answers: list[Exception | None]) -> None:
        self.answers = answers
        self.pace = Pace()
        self.asked: list[tuple[str, dict[str, Any]]] = []

    def call(self, service: str, operation: str, **parameters: Any) -> dict[str, Any]:
        assert service == "ec2"
        self.asked.append((operation, parameters))
        dry = parameters.get("DryRun")
        answer = self.answers.get(operation, [WOULD if dry else None])
        told = answer.pop(0) if len(answer) > 1 else answer[0]
        if told is not None:
            raise told
        return {}

    def pages(self, service: str, operation: str, **parameters: Any) -> Iterator[dict[str, Any]]:
        assert service == "ec2"
        self.asked.append((operation, parameters))
        yield {"LaunchTemplates": []}

    @property
    def operations(self) -> list[str]:
        return [name for name, _ in self.asked]


class Clock:
    def __init__(self) -> None:
        self.now = build.NOW

    def __call__(self) -> Any:
        return self.now


def _denied(why: str = "") -> Exception:
    return errors.of_code("UnauthorizedOperation", f"You are not authorized. {why}")


def _case(found: NodeClass | None = None, **fields: Any) -> Case:
    boot = Boot(
        cluster=aws_facts.CLUSTER,
        family="AL2023",
        user_data="",
        labels={},
        taints=(),
        kubelet={},
        pods_max=110,
        raid0=False,
    )
    given = {"found": found or aws_facts.node_class(), "boot": boot, "types": TYPES, **fields}
    return Case(**given)


def _trials(ec2: Any, clock: Clock | None = None) -> Trials:
    return Trials(ec2, LaunchTemplates(ec2, "demo"), clock or Clock())


def _verdict(ec2: Any, **fields: Any) -> Verdict:
    return _trials(ec2).verdict(_case(**fields))


def test_a_template_is_made_both_launches_are_tried_and_the_template_goes() -> None:
    ec2 = Ec2()

    assert _verdict(ec2) is None

    assert ec2.operations == [
        "describe_launch_templates",
        "create_launch_template",
        "create_fleet",
        "run_instances",
        "delete_launch_template",
    ]
    by_name = dict(ec2.asked)
    assert by_name["create_fleet"]["DryRun"] is by_name["run_instances"]["DryRun"] is True
    tags = {t["Key"] for t in by_name["create_fleet"]["TagSpecifications"][0]["Tags"]}
    assert {"karpenter.sh/nodepool", "kubernetes.io/cluster/demo"} <= tags


@pytest.mark.parametrize(
    ("operation", "name"),
    [
        ("create_launch_template", "CreateLaunchTemplate"),
        ("create_fleet", "CreateFleet"),
        ("run_instances", "RunInstances"),
    ],
)
@pytest.mark.parametrize(
    ("why", "remedy"),
    [
        ("because no identity-based policy allows the action", "attach the controller's policies"),
        ("with an explicit deny in a permissions boundary", "widen the boundary"),
        ("with an explicit deny in a service control policy", "change that policy"),
    ],
)
def test_a_denied_call_has_its_own_reason_and_a_remedy(
    operation: str, name: str, why: str, remedy: str
) -> None:
    ec2 = Ec2(**{operation: [_denied(why)]})

    verdict = _verdict(ec2)

    assert verdict is not None
    assert verdict[0] == f"{name}AuthCheckFailed"
    assert f"isn't authorized to call ec2:{name}" in verdict[1]
    assert "UnauthorizedOperation" in verdict[1]
    assert remedy in verdict[1]


def test_what_was_made_for_the_trial_goes_also_when_it_is_denied() -> None:
    ec2 = Ec2(create_fleet=[_denied()])

    _verdict(ec2)

    assert ec2.operations[-1] == "delete_launch_template"


def test_one_subnet_that_would_do_is_enough() -> None:
    ec2 = Ec2(run_instances=[_denied(), WOULD])

    assert _verdict(ec2) is None
    assert ec2.operations.count("run_instances") == 2


def test_when_no_subnet_would_do_the_first_one_says_why() -> None:
    ec2 = Ec2(run_instances=[_denied("first"), _denied("second"), _denied("third")])

    verdict = _verdict(ec2)

    assert verdict is not None
    assert "first" in verdict[1]


@pytest.mark.parametrize(
    ("error", "spec", "reason"),
    [
        pytest.param(
            errors.of_code("InvalidParameterValue", "Value (x) for parameter iamInstanceProfile.name is invalid. "
                           "Invalid IAM Instance Profile name"),
            {"role": None, "instanceProfile": "x"},
            "InstanceProfileNotFound",
            id="a profile of the user's that is not there",
        ),
        pytest.param(
            errors.of_code("InvalidUserData.Malformed", "User data is limited to 16384 bytes"), {},
            "UserDataSizeLimitExceeded", id="user data that is too long",
        ),
        pytest.param(
            errors.of_code("InvalidBlockDeviceMapping", "Invalid device name /dev/xyz"), {},
            "LaunchRefused", id="a device that cannot be",
        ),
    ],
)  # fmt: skip
def test_a_launch_that_would_always_fail_is_told(
    error: Exception, spec: dict[str, Any], reason: str
) -> None:
    verdict = _verdict(Ec2(run_instances=[error]), found=aws_facts.node_class(**spec))

    assert verdict is not None
    assert verdict[0] == reason


@pytest.mark.parametrize(
    "code", ["InsufficientInstanceCapacity", "Unsupported", "SomethingNobodyHeardOf"]
)
def test_a_refusal_that_another_type_may_not_share_is_no_verdict(code: str) -> None:
    assert _verdict(Ec2(run_instances=[errors.of_code(code, "no")])) is None


@pytest.mark.parametrize(
    "error",
    [
        errors.of_code("RequestLimitExceeded", "slow down"),
        errors.of_code("InternalError", "oops"),
        errors.of_code("InvalidParameterValue", "Invalid IAM Instance Profile name"),
    ],
    ids=["throttled", "no answer", "our own profile that is not known everywhere yet"],
)
def test_when_ec2_cannot_say_nothing_is_believed(error: Exception) -> None:
    ec2 = Ec2(create_fleet=[error, WOULD])
    trials = _trials(ec2)

    with pytest.raises(cloud_errors.CloudError):
        trials.verdict(_case())

    assert trials.verdict(_case()) is None


@pytest.mark.parametrize(
    ("answers", "kept"),
    [
        pytest.param({}, timedelta(minutes=30), id="a yes"),
        pytest.param({"create_fleet": [_denied()]}, timedelta(minutes=10), id="a no"),
    ],
)
def test_a_verdict_is_kept(answers: dict[str, Any], kept: timedelta) -> None:
    ec2, clock = Ec2(**answers), Clock()
    trials = _trials(ec2, clock)

    for moment in (timedelta(0), kept - timedelta(seconds=1), kept):
        clock.now = build.NOW + moment
        trials.verdict(_case())

    assert ec2.operations.count("create_fleet") == 2


def test_images_that_no_type_boots_are_told_and_nothing_is_asked() -> None:
    ec2 = Ec2()

    verdict = _verdict(ec2, types={"g5.xlarge": TYPES["g5.xlarge"]}, found=_only_arm())

    assert verdict is not None
    assert verdict[0] == "NoInstanceTypes"
    assert "ami-arm (kubernetes.io/arch In [arm64])" in verdict[1]
    assert ec2.asked == []


def _only_arm() -> NodeClass:
    found = aws_facts.node_class()
    return replace(found, status={**found.status, "amis": found.status["amis"][:1]})


def _annotated(found: NodeClass) -> NodeClass:
    return replace(found, meta=replace(found.meta, annotations={"again": "please"}))


@pytest.mark.parametrize(
    "change",
    [
        pytest.param(_annotated, id="an annotation"),
        pytest.param(lambda c: replace(c, spec={**c.spec, "tags": {"a": "b"}}), id="the spec"),
        pytest.param(
            lambda c: replace(c, status={**c.status, "securityGroups": [{"id": "sg-2"}]}),
            id="what its selectors find",
        ),
    ],
)
def test_a_change_asks_anew(change: Any) -> None:
    ec2 = Ec2()
    trials, found = _trials(ec2), aws_facts.node_class()
    trials.verdict(_case(found))

    trials.verdict(_case(change(found)))

    assert ec2.operations.count("create_fleet") == 2


def _stamped(found: NodeClass) -> NodeClass:
    return replace(found, meta=replace(found.meta, annotations={HASH: "1"}))


@pytest.mark.parametrize(
    "change",
    [
        pytest.param(_stamped, id="an annotation of our own"),
        pytest.param(
            lambda c: replace(c, status={**c.status, "subnets": c.status["subnets"][::-1]}),
            id="another order of subnets, as free addresses come and go",
        ),
        pytest.param(
            lambda c: replace(c, status={**c.status, "capacityReservations": [{"id": "cr-1"}]}),
            id="a reservation",
        ),
    ],
)
def test_what_a_launch_is_not_made_of_asks_nothing(change: Any) -> None:
    ec2 = Ec2()
    trials, found = _trials(ec2), aws_facts.node_class()
    trials.verdict(_case(found))

    trials.verdict(_case(change(found)))

    assert ec2.operations.count("create_fleet") == 1


GPU_POOL = Requirements.of(Requirement.parse(labels.INSTANCE_TYPE, "In", ("g5.xlarge",)))
ARM_POOL = Requirements.of(Requirement.parse(labels.ARCH, "In", ("arm64",)))


@pytest.mark.parametrize(
    ("fields", "chosen"),
    [
        pytest.param({}, ("m5.large", "ami-x86"), id="a type that every region has"),
        pytest.param({"pools": [ARM_POOL]}, ("m6g.large", "ami-arm"), id="what the pool takes"),
        pytest.param({"pools": [GPU_POOL]}, ("g5.xlarge", "ami-x86"), id="GPUs when they must be"),
        pytest.param({"types": {}}, ("m5.large", "ami-x86"), id="types are not known yet"),
    ],
)
def test_which_type_is_tried(fields: dict[str, Any], chosen: tuple[str, str]) -> None:
    assert trial.choose(_case(**fields)) == chosen
