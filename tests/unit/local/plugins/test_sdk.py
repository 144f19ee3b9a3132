import pytest

from daiku_local.plugins import sdk
from daiku_local.plugins.aws import kinds  # noqa: F401 - fills the table
from daiku_local.plugins.aws.kind import KINDS
from daiku_local.plugins.errors import ProviderError
from daiku_local.plugins.values import UNKNOWN


def _failures(token: str, given: dict[str, object]) -> dict[str, str]:
    found = sdk.check("aws", sdk.shape_of("aws", token), given)
    return {failure.path: failure.reason for failure in found}


def test_missing_and_misspelt_properties_are_found_at_every_depth() -> None:
    given = {"rolArn": "r", "vpcConfig": {"subnetIds": ["s"], "publicAccesCidrs": []}}

    assert _failures("aws:eks/cluster:Cluster", given) == {
        "roleArn": "is required, and was not given",
        "rolArn": "is no property of this type; did you mean 'roleArn'?",
        "vpcConfig.publicAccesCidrs": (
            "is no property of this type; did you mean 'publicAccessCidrs'?"
        ),
    }


def test_elements_of_a_list_are_judged_one_by_one() -> None:
    given = {"routes": [{"cidrBlock": "0.0.0.0/0"}, {"cidr": "x"}], "vpcId": UNKNOWN}

    assert list(_failures("aws:ec2/routeTable:RouteTable", given)) == ["routes[1].cidr"]


@pytest.mark.parametrize(
    "value", [UNKNOWN, "{}", {"Version": "2012-10-17", "Statement": []}], ids=str
)
def test_a_policy_may_be_text_or_an_object(value: object) -> None:
    assert _failures("aws:iam/policy:Policy", {"policy": value}) == {}


def test_a_plain_value_where_an_object_belongs_is_refused() -> None:
    given = {"roleArn": "r", "vpcConfig": "vpc-1"}

    assert _failures("aws:eks/cluster:Cluster", given) == {
        "vpcConfig": "must be an object, and is 'vpc-1'"
    }


def test_a_type_that_the_sdk_has_not_is_an_error() -> None:
    with pytest.raises(ProviderError, match=r"has no class NoneArgs in ec2/none\.py"):
        sdk.shape_of("aws", "aws:ec2/none:None")


@pytest.mark.parametrize("token", sorted(KINDS))
def test_every_input_that_a_type_honours_is_one_of_the_sdk(token: str) -> None:
    kind, shape = KINDS[token], sdk.shape_of("aws", token)

    honoured = kind.fixed | kind.live | kind.ignored

    assert honoured - shape.nested.keys() == set()
    assert shape.required - honoured - {"tags"} == set()
    assert not kind.tagged or "tags" in shape.nested
    assert not kind.fixed & kind.live
