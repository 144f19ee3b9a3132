"""Requests and replies of AWS's protocols, without a server."""

from typing import Any

import pytest

from daiku_local.aws.errors import AwsError
from daiku_local.aws.wire import call, models, query, reply, rest, xml

SIGNED = "AWS4-HMAC-SHA256 Credential=local/20261121/us-west-2/{service}/aws4_request, Signature=x"
FORM = "application/x-www-form-urlencoded; charset=utf-8"


def read(
    service: str, body: str = "", method: str = "POST", target: str = "/", **headers: str
) -> Any:
    signed = {"authorization": SIGNED.format(service=service), "content-type": FORM, **headers}
    return call.read(method, target, signed, body.encode())


def test_an_ec2_request_is_read_into_the_names_of_the_api() -> None:
    body = (
        "Action=CreateFleet&Version=2016-11-15&Type=instant&DryRun=true"
        "&TargetCapacitySpecification.TotalTargetCapacity=2"
        "&LaunchTemplateConfigs.1.LaunchTemplateSpecification.LaunchTemplateName=t"
        "&LaunchTemplateConfigs.1.Overrides.2.InstanceType=c5.large"
        "&LaunchTemplateConfigs.1.Overrides.1.InstanceType=m5.large"
        "&LaunchTemplateConfigs.1.Overrides.1.Priority=0.5"
        "&TagSpecification.1.ResourceType=instance"
        "&TagSpecification.1.Tag.1.Key=a&TagSpecification.1.Tag.1.Value="
    )

    asked = read("ec2", body)

    assert (asked.service, asked.operation, asked.region) == ("ec2", "CreateFleet", "us-west-2")
    parameters = asked.parameters()
    config = parameters["LaunchTemplateConfigs"][0]
    assert config["Overrides"] == [
        {"InstanceType": "m5.large", "Priority": 0.5},
        {"InstanceType": "c5.large"},
    ]
    assert parameters["TargetCapacitySpecification"] == {"TotalTargetCapacity": 2}
    assert parameters["DryRun"] is True
    assert parameters["TagSpecifications"] == [
        {"ResourceType": "instance", "Tags": [{"Key": "a", "Value": ""}]}
    ]


def test_a_query_request_has_its_lists_under_member() -> None:
    body = "Action=ListInstanceProfiles&PathPrefix=%2Fa%2F&MaxItems=5"

    assert read("iam", body).parameters() == {"PathPrefix": "/a/", "MaxItems": 5}
    tree = query.tree("PolicyArns.member.1.arn=x&PolicyArns.member.2.arn=y")
    shape = models.operation("sts", "AssumeRoleWithWebIdentity").input_shape
    assert query.parameters(shape, tree, ec2=False) == {"PolicyArns": [{"arn": "x"}, {"arn": "y"}]}


def test_list_positions_are_numbers_not_texts() -> None:
    body = "&".join(f"InstanceId.{number}=i-{number}" for number in range(1, 13))

    found = read("ec2", f"Action=DescribeInstances&{body}").parameters()["InstanceIds"]

    assert found == [f"i-{number}" for number in range(1, 13)]


def test_a_json_request_is_known_by_its_target() -> None:
    asked = read("ssm", '{"Name": "/a"}', **{"x-amz-target": "AmazonSSM.GetParameter"})

    assert asked.operation == "GetParameter"
    assert asked.parameters() == {"Name": "/a"}


def test_a_rest_path_may_hold_an_arn_with_slashes() -> None:
    target = "/clusters/demo/access-entries/arn%3Aaws%3Aiam%3A%3A1%3Arole%2Fpath%2Fnode"

    asked = read("eks", method="GET", target=target)

    assert asked.operation == "DescribeAccessEntry"
    assert asked.parameters() == {
        "clusterName": "demo",
        "principalArn": "arn:aws:iam::1:role/path/node",
    }


def test_a_rest_request_takes_path_query_and_body_together() -> None:
    asked = read("eks", '{"tags": {"a": "b"}}', target="/tags/arn%3Ax")
    assert asked.parameters() == {"resourceArn": "arn:x", "tags": {"a": "b"}}

    listed = read("eks", method="GET", target="/clusters/demo/addons?maxResults=5&nextToken=t")
    assert listed.parameters() == {"clusterName": "demo", "maxResults": 5, "nextToken": "t"}


def test_a_fixed_word_in_a_path_beats_a_label() -> None:
    assert rest.find("eks", "GET", "/addons/supported-versions") == ("DescribeAddonVersions", {})


def test_an_unsigned_request_is_for_sts() -> None:
    body = b"Action=AssumeRoleWithWebIdentity&RoleArn=r"

    asked = call.read("POST", "/", {"content-type": FORM}, body)

    assert (asked.service, asked.operation) == ("sts", "AssumeRoleWithWebIdentity")


def test_an_ec2_result_is_xml_along_its_description() -> None:
    result = {
        "TerminatingInstances": [
            {"InstanceId": "i-<1>", "CurrentState": {"Code": 32, "Name": "shutting-down"}}
        ]
    }

    answer = reply.of_result("ec2", "TerminateInstances", result)

    text = answer.body.decode()
    assert "<instancesSet><item><instanceId>i-&lt;1&gt;</instanceId>" in text
    assert "<currentState><code>32</code>" in text
    assert answer.headers["Content-Type"].startswith("text/xml")


def test_a_member_that_the_api_does_not_have_is_a_mistake_of_ours() -> None:
    shape = models.operation("ec2", "TerminateInstances").output_shape

    with pytest.raises(KeyError, match="no member 'Instances'"):
        xml.write(shape, {"Instances": []})


@pytest.mark.parametrize(
    ("service", "expected"),
    [
        ("ec2", b"<Errors><Error><Code>Gone</Code><Message>a &amp; b</Message></Error></Errors>"),
        ("sts", b"<ErrorResponse><Error><Type>Sender</Type><Code>Gone</Code>"),
        ("ssm", b'{"__type": "Gone", "message": "a & b"}'),
        ("eks", b'{"__type": "Gone", "message": "a & b", "clusterName": "c"}'),
    ],
)
def test_an_error_has_the_form_of_its_protocol(service: str, expected: bytes) -> None:
    fields = {"clusterName": "c"} if service == "eks" else {}

    answer = reply.of_error(service, AwsError("Gone", "a & b", status=404, fields=fields))

    assert answer.status == 404
    assert expected in answer.body
