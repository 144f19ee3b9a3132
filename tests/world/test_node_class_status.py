"""The status of an EC2NodeClass against the stand-in AWS: what is found, what is made, what a person is told."""

import datetime as dt
from collections.abc import Generator
from dataclasses import replace
from typing import Any

import pytest
from tests.world import node_classes
from tests.world.node_classes import NOW, Aws

from daiku.cloud.aws import instance_profiles, status

pytestmark = pytest.mark.world


@pytest.fixture(scope="module")
def aws(tmp_path_factory: pytest.TempPathFactory) -> Generator[Aws]:
    with node_classes.running(tmp_path_factory.mktemp("aws") / "world") as running:
        yield running


def test_a_class_that_is_right_is_ready_and_a_launch_was_tried(aws: Aws) -> None:
    before = aws.account.ask("GET", "/_usage")

    resolved = status.resolve(aws.provider, aws.node_class(), NOW)

    usage = aws.account.ask("GET", "/_usage")
    assert [c.type for c in resolved.conditions if c.status != "True"] == []
    assert resolved.conditions[-1].type == "Ready"
    assert len(resolved.fields["amis"]) == 5
    assert {s["id"] for s in resolved.fields["subnets"]} == set(aws.network.subnets)
    assert resolved.fields["instanceProfile"].startswith("demo_")
    for operation in ("CreateFleet", "RunInstances"):
        assert usage[f"ec2:{operation}"] == before.get(f"ec2:{operation}", 0) + 1
    assert aws.account.client("ec2").describe_instances()["Reservations"] == []
    templates = aws.account.client("ec2").describe_launch_templates()["LaunchTemplates"]
    assert [t["LaunchTemplateName"] for t in templates] == [aws.network.template]


@pytest.mark.parametrize(
    ("spec", "kind", "reason", "words"),
    [
        pytest.param(
            {"subnetSelectorTerms": [{"tags": {"no": "such"}}]},
            "SubnetsReady",
            "SubnetsNotFound",
            "no=such",
            id="subnets",
        ),
        pytest.param(
            {"securityGroupSelectorTerms": [{"name": "none"}]},
            "SecurityGroupsReady",
            "SecurityGroupsNotFound",
            "name=none",
            id="security groups",
        ),
        pytest.param(
            {"amiSelectorTerms": [{"name": "none"}], "amiFamily": "AL2023"},
            "AMIsReady",
            "AMINotFound",
            "name=none",
            id="images",
        ),
        pytest.param(
            {"amiSelectorTerms": [{"alias": "al2@latest"}]},
            "AMIsReady",
            "UnsupportedAlias",
            "al2023@latest",
            id="an alias without images",
        ),
        pytest.param(
            {"role": "nobody"},
            "InstanceProfileReady",
            "RoleNotFound",
            "Create the role",
            id="a role that does not exist",
        ),
        pytest.param(
            {"userData": "[", "amiFamily": "Bottlerocket"}
            | {"amiSelectorTerms": [{"alias": "bottlerocket@latest"}]},
            "ValidationSucceeded",
            "InvalidUserData",
            "not TOML",
            id="user data",
        ),
        pytest.param(
            {"kubelet": {"maxPod": 5}},
            "ValidationSucceeded",
            "InvalidKubeletConfiguration",
            "maxPod",
            id="kubelet",
        ),
    ],
)
def test_what_is_wrong_is_a_condition_with_a_reason_and_a_remedy(
    aws: Aws, spec: dict[str, Any], kind: str, reason: str, words: str
) -> None:
    before = aws.account.ask("GET", "/_usage").get("ec2:RunInstances", 0)

    conditions = aws.resolve(aws.node_class(**spec))

    assert (conditions[kind].status, conditions[kind].reason) == ("False", reason)
    assert words in conditions[kind].message
    assert conditions["Ready"].status == "False"
    assert words in conditions["Ready"].message
    assert aws.account.ask("GET", "/_usage").get("ec2:RunInstances", 0) == before


def test_a_profile_of_the_users_is_never_asked_for(aws: Aws) -> None:
    before = aws.account.ask("GET", "/_usage")

    conditions = aws.resolve(aws.node_class(role=None, instanceProfile=aws.network.profile))

    after = aws.account.ask("GET", "/_usage")
    assert conditions["Ready"].status == "True"
    assert {k: v for k, v in after.items() if k.startswith("iam:")} == {
        k: v for k, v in before.items() if k.startswith("iam:")
    }


def test_profiles_that_nobody_uses_are_collected_after_an_hour_and_no_others(aws: Aws) -> None:
    iam, session = aws.account.client("iam"), aws.provider.session
    first, second = aws.node_class(), aws.node_class()
    second = replace(second, meta=replace(second.meta, name="second"))
    names = [
        status.resolve(aws.provider, each, NOW).fields["instanceProfile"]
        for each in (first, second)
    ]
    now = dt.datetime.now(dt.UTC)  # noqa: TID251 - moto stamps what is made with the real time
    later = now + dt.timedelta(hours=2)

    young = instance_profiles.collect(session, "demo", {names[0]}, now)
    old = instance_profiles.collect(session, "demo", {names[0]}, later)

    assert young == []
    assert names[1] in old
    assert names[0] not in old
    left = {p["InstanceProfileName"] for p in iam.list_instance_profiles()["InstanceProfiles"]}
    assert {names[0], aws.network.profile} <= left
