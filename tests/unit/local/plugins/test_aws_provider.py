import json

import pytest

from daiku_local.plugins.aws import functions, instances
from daiku_local.plugins.aws.cloud import TagRules
from daiku_local.plugins.aws.provider import AwsProvider
from daiku_local.plugins.servicer import Subject
from daiku_local.plugins.values import UNKNOWN

SEED = bytes(range(32))


def _subject(token: str, name: str = "main") -> Subject:
    return Subject(urn=f"urn:pulumi:dev::p::daiku:index:Vpc${token}::{name}")


QUEUE = _subject("aws:sqs/queue:Queue")
VPC = _subject("aws:ec2/vpc:Vpc")
ROLE = _subject("aws:iam/role:Role")


def test_a_name_is_made_from_the_resources_own_and_kept() -> None:
    provider = AwsProvider()

    first, _ = provider.check(QUEUE, {}, {}, SEED)
    second, _ = provider.check(QUEUE, first, {}, b"another seed")

    assert first["name"] == "main-0001020"
    assert second["name"] == first["name"]


def test_region_and_all_tags_are_filled_in() -> None:
    inputs, failures = AwsProvider().check(VPC, {}, {"cidrBlock": "10.0.0.0/16"}, SEED)

    assert failures == []
    assert inputs == {"cidrBlock": "10.0.0.0/16", "region": "us-west-2", "tagsAll": {}}


def test_tags_that_are_not_known_make_all_tags_unknown() -> None:
    inputs, _ = AwsProvider().check(VPC, {}, {"tags": UNKNOWN}, SEED)

    assert inputs["tagsAll"] is UNKNOWN


def test_a_diff_names_paths_and_what_forces_a_replacement() -> None:
    old = {"cidrBlock": "10.0.0.0/16", "tags": {"a": "1"}}
    new = {"cidrBlock": "10.0.0.0/20", "tags": {"a": "2", "b": "3"}}

    difference = AwsProvider().diff(VPC, old=old, new=new, state={})

    assert difference.paths == {"cidrBlock": "update", "tags.a": "update", "tags.b": "add"}
    assert difference.replaces == {"cidrBlock"}


def test_a_policy_that_is_only_written_differently_is_no_change() -> None:
    old = {"assumeRolePolicy": '{"Statement": [{"Action": ["a"]}]}'}
    new = {"assumeRolePolicy": '{"Statement":[{"Action":"a"}]}'}

    assert AwsProvider().diff(ROLE, old=old, new=new, state={}).paths == {}


@pytest.mark.parametrize(
    ("name", "delete_first"),
    [("mine", True), ("main-0001020", False)],
    ids=["given by the program", "made from the resource's name"],
)
def test_a_replacement_deletes_first_where_the_name_would_be_taken(
    name: str, delete_first: bool
) -> None:
    old, new = {"name": name, "path": "/"}, {"name": name, "path": "/x/"}

    assert AwsProvider().diff(ROLE, old=old, new=new, state={}).delete_first is delete_first


def test_a_preview_of_an_update_keeps_what_does_not_change() -> None:
    cluster = _subject("aws:eks/cluster:Cluster")
    state = {"arn": "a", "vpcConfig": {"subnetIds": ["s"], "vpcId": "v"}, "version": "1.34"}
    old = {"vpcConfig": {"subnetIds": ["s"]}, "version": "1.34", "tags": {}}
    new = {"vpcConfig": {"subnetIds": ["s"], "endpointPrivateAccess": True}}

    preview = AwsProvider().preview_update(cluster, old=old, new=new, state=state)

    assert preview == {
        "arn": "a",
        "vpcConfig": {"subnetIds": ["s"], "vpcId": "v", "endpointPrivateAccess": True},
    }


def test_configuration_that_means_a_real_account_is_refused() -> None:
    failures = AwsProvider().check_config(
        {"region": "us-west-2", "version": "7.51.1", "assumeRoles": "[]", "regin": "x"}
    )

    assert {failure.path: failure.reason.split(":")[0] for failure in failures} == {
        "assumeRoles": "means a real account, and the stand-in for aws has none",
        "regin": "is no configuration of aws; did you mean 'region'?",
    }


def test_tags_of_others_are_not_the_programs() -> None:
    rules = TagRules(ignored_keys=frozenset({"owner"}), ignored_prefixes=("k8s.io/",))

    tags = {"aws:cloudformation": "1", "owner": "2", "k8s.io/x": "3", "Name": "4"}

    assert rules.owned(tags) == {"Name": "4"}


def test_a_statement_is_written_as_iam_prints_it() -> None:
    given = {
        "sid": "One",
        "actions": ["sts:AssumeRole"],
        "resources": ["a", "b"],
        "principals": [
            {"type": "Service", "identifiers": ["ec2.amazonaws.com"]},
            {"type": "AWS", "identifiers": ["1", "2"]},
        ],
        "conditions": [
            {"test": "StringEquals", "variable": "a:sub", "values": ["x"]},
            {"test": "StringEquals", "variable": "a:aud", "values": ["y", "z"]},
        ],
    }

    assert functions.statement(given) == {
        "Effect": "Allow",
        "Sid": "One",
        "Action": "sts:AssumeRole",
        "Resource": ["b", "a"],
        "Principal": {"Service": "ec2.amazonaws.com", "AWS": ["2", "1"]},
        "Condition": {"StringEquals": {"a:sub": "x", "a:aud": ["z", "y"]}},
    }


def test_a_launch_template_speaks_ec2s_words() -> None:
    inputs = {
        "name": "x",
        "imageId": "ami-1",
        "vpcSecurityGroupIds": ["sg-1"],
        "ebsOptimized": "true",
        "networkInterfaces": [{"securityGroups": ["sg-2"], "deviceIndex": 0}],
        "tagSpecifications": [{"resourceType": "instance", "tags": {"a": "b"}}],
    }

    assert json.loads(json.dumps(instances.template_data(inputs))) == {
        "ImageId": "ami-1",
        "SecurityGroupIds": ["sg-1"],
        "EbsOptimized": True,
        "NetworkInterfaces": [{"Groups": ["sg-2"], "DeviceIndex": 0}],
        "TagSpecifications": [{"ResourceType": "instance", "Tags": [{"Key": "a", "Value": "b"}]}],
    }
