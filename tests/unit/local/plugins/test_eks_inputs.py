import pytest

from daiku_local.plugins.eks import inputs

GOOD = {"skipDefaultNodeGroup": True, "subnetIds": ["s"]}


def _refused(**more: object) -> set[str]:
    return {failure.path for failure in inputs.failures({**GOOD, **more})}


@pytest.mark.parametrize(
    ("given", "refused"),
    [
        pytest.param({}, set(), id="a bare cluster"),
        pytest.param({"fargate": False}, set(), id="a switch that is off"),
        pytest.param({"fargate": True}, {"fargate"}, id="a switch that is on"),
        pytest.param({"instanceType": "m5.large"}, {"instanceType"}, id="default nodes"),
        pytest.param({"vpcID": "v"}, {"vpcID"}, id="a name that the SDK has not"),
        pytest.param(
            {"corednsAddonOptions": {"enabled": False, "corednsComputeType": "ec2"}},
            {"corednsAddonOptions.corednsComputeType"},
            id="a nested option",
        ),
        pytest.param({"skipDefaultNodeGroup": None}, {"skipDefaultNodeGroup"}, id="default group"),
        pytest.param({"subnetIds": None}, {"subnetIds"}, id="no subnet"),
    ],
)
def test_inputs_that_the_laptop_cannot_honour_are_named(
    given: dict[str, object], refused: set[str]
) -> None:
    assert _refused(**given) == refused
