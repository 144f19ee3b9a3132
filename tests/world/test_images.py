"""Images by alias and by terms against the stand-in AWS: every family, several versions of Kubernetes."""

import datetime as dt
from collections.abc import Generator

import pytest
from tests.world import aws_account
from tests.world.aws_account import Account

from daiku.cloud.aws import images
from daiku.cloud.aws.images import FoundImage, Parameters
from daiku.cloud.aws.session import Session

pytestmark = pytest.mark.world

NOW = dt.datetime(2026, 11, 20, tzinfo=dt.UTC)


@pytest.fixture(scope="module")
def account(tmp_path_factory: pytest.TempPathFactory) -> Generator[Account]:
    with aws_account.running(tmp_path_factory.mktemp("aws") / "world") as running:
        yield running


@pytest.fixture(scope="module")
def parameters(account: Account) -> Generator[Parameters]:
    with pytest.MonkeyPatch.context() as environment:
        environment.setenv("AWS_ENDPOINT_URL", account.world.aws_endpoint)
        environment.setenv("AWS_ACCESS_KEY_ID", "local")
        environment.setenv("AWS_SECRET_ACCESS_KEY", "local")
        yield Parameters(Session(account.world.region), lambda: NOW)


@pytest.mark.parametrize(
    ("alias", "kubernetes", "names"),
    [
        pytest.param(
            "al2@latest",
            "1.32",
            ["eks-arm64-node", "eks-gpu-node", "eks-gpu-node", "eks-node"],
            id="al2",
        ),
        pytest.param(
            "al2023@v20260915",
            "1.34",
            ["arm64-nvidia", "arm64-standard", "x86_64-neuron", "x86_64-nvidia", "x86_64-standard"],
            id="al2023 of a release",
        ),
        pytest.param(
            "bottlerocket@v1.55.0",
            "1.35",
            ["1.35-arm64-v1.55.0", "1.35-nvidia-arm64", "1.35-nvidia-x86_64"]
            + ["1.35-x86_64-v1.55.0"] * 2,
            id="bottlerocket of a release",
        ),
        pytest.param("windows2019@latest", "1.31", ["Server-2019"], id="windows2019"),
        pytest.param("windows2022@latest", "1.34", ["Server-2022"], id="windows2022"),
        pytest.param("windows2025@latest", "1.35", ["Server-2025"], id="windows2025"),
    ],
)
def test_an_alias_has_an_image_for_each_kind_of_machine(
    parameters: Parameters, alias: str, kubernetes: str, names: list[str]
) -> None:
    found = images.resolve(parameters, [{"alias": alias}], kubernetes, NOW)

    assert len(found) == len(names)
    for name, image in zip(names, sorted(found, key=lambda i: i.name), strict=True):
        assert name in image.name
    assert len({image.requirements for image in found}) == len(found)


def test_a_name_finds_amazons_newest_image(parameters: Parameters) -> None:
    term = {"name": "amazon-eks-node-al2023-x86_64-standard-1.34-*"}

    (found,) = images.resolve(parameters, [term], "1.34", NOW)

    assert found.name.endswith("v20261105")
    assert not found.deprecated


def test_an_image_is_deprecated_after_two_years(parameters: Parameters) -> None:
    term = {"name": "amazon-eks-node-al2023-x86_64-standard-1.34-v20260915"}

    def at(year: int) -> FoundImage:
        (found,) = images.resolve(parameters, [term], "1.34", NOW.replace(year=year))
        return found

    assert [at(year).deprecated for year in (2026, 2029)] == [False, True]


def test_a_parameter_of_the_users_names_an_image(account: Account, parameters: Parameters) -> None:
    ssm = account.client("ssm")
    image = ssm.get_parameter(Name=aws_account.IMAGE)["Parameter"]["Value"]
    ssm.put_parameter(Name="/mine/nodes", Value=image, Type="String")

    (found,) = images.resolve(parameters, [{"ssmParameter": "/mine/nodes"}], "1.34", NOW)

    assert found.id == image


def test_terms_that_select_nothing_find_nothing(parameters: Parameters) -> None:
    terms = [{"id": "ami-00000000"}, {"tags": {"no": "such"}}, {"ssmParameter": "/no/such"}]

    assert images.resolve(parameters, terms, "1.34", NOW) == []
