"""Which images are chosen: what is asked of EC2 and SSM, which image wins, and how long an answer is believed."""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from daiku.cloud import errors as cloud_errors
from daiku.cloud.aws import errors, images
from daiku.cloud.aws.images import FoundImage, Parameters

NOW = datetime(2026, 11, 20, tzinfo=UTC)
X86 = ("kubernetes.io/arch", "In", ("amd64",))
ARM = ("kubernetes.io/arch", "In", ("arm64",))


class Amazon:
    """SSM and EC2 as far as images are asked for: remembers what was asked."""

    region = "us-west-2"

    def __init__(self, *found: dict[str, Any], parameters: dict[str, Any] | None = None) -> None:
        self.found = list(found)
        self.parameters = parameters or {}
        self.asked: list[dict[str, Any]] = []
        self.names: list[str] = []

    def call(self, service: str, operation: str, **parameters: Any) -> dict[str, Any]:
        assert (service, operation) == ("ssm", "get_parameter")
        name = parameters["Name"]
        self.names.append(name)
        value = self.parameters.get(name)
        if isinstance(value, Exception):
            raise value
        if value is None:
            raise errors.ResourceNotFound(name, code="ParameterNotFound")
        return {"Parameter": {"Value": value}}

    def pages(self, service: str, operation: str, **parameters: Any) -> Iterator[dict[str, Any]]:
        assert (service, operation) == ("ec2", "describe_images")
        self.asked.append(parameters)
        yield {"Images": self.found}


class Clock:
    def __init__(self) -> None:
        self.now = NOW

    def __call__(self) -> datetime:
        return self.now


def _image(name: str, created: str = "2026-01-01", **fields: Any) -> dict[str, Any]:
    return {
        "ImageId": f"ami-{name}",
        "Name": name,
        "CreationDate": f"{created}T00:00:00.000Z",
        "Architecture": "x86_64",
        **fields,
    }


def _resolve(amazon: Any, *terms: dict[str, Any], kubernetes: str = "1.34") -> list[FoundImage]:
    return images.resolve(Parameters(amazon, Clock()), terms, kubernetes, NOW)


def _filters(asked: dict[str, Any]) -> dict[str, list[str]]:
    return {f["Name"]: f["Values"] for f in asked["Filters"]}


@pytest.mark.parametrize(
    ("term", "filters", "owners"),
    [
        pytest.param({"tags": {"a": "b", "c": "*"}}, {"tag:a": ["b"], "tag-key": ["c"]}, None, id="tags: any owner"),
        pytest.param({"tags": {"a": "b"}, "owner": "self"}, {"tag:a": ["b"]}, ["self"], id="tags of an owner"),
        pytest.param({"name": "mine-*"}, {"name": ["mine-*"]}, ["self", "amazon"], id="a name: ours or Amazon's"),
        pytest.param({"name": "x", "owner": "12345"}, {"name": ["x"]}, ["12345"], id="an owner's name"),
        pytest.param({"id": "ami-1"}, {"image-id": ["ami-1"]}, None, id="an id"),
    ],
)  # fmt: skip
def test_a_term_is_one_question(
    term: dict[str, Any], filters: dict[str, list[str]], owners: list[str] | None
) -> None:
    amazon = Amazon(_image("a"))

    _resolve(amazon, term)

    (asked,) = amazon.asked
    assert _filters(asked) == {**filters, "state": ["available"]}
    assert asked.get("Owners") == owners
    assert asked["IncludeDeprecated"] is True


def test_ids_and_parameters_are_one_question_together() -> None:
    amazon = Amazon(_image("a"), parameters={"/mine": "ami-9", "/other": "not an image"})

    _resolve(
        amazon, {"id": "ami-1"}, {"ssmParameter": "/mine"}, {"ssmParameter": "/other"}, {"id": "ami-2"},
        {"ssmParameter": "/missing"},
    )  # fmt: skip

    (asked,) = amazon.asked
    assert _filters(asked)["image-id"] == ["ami-1", "ami-2", "ami-9"]


def test_a_parameter_that_may_not_be_read_is_an_error() -> None:
    amazon = Amazon(parameters={"/mine": cloud_errors.Denied("no", code="AccessDeniedException")})

    with pytest.raises(cloud_errors.Denied):
        _resolve(amazon, {"ssmParameter": "/mine"})


@pytest.mark.parametrize(
    ("found", "winner"),
    [
        pytest.param([_image("old"), _image("new", "2026-02-01")], "ami-new", id="the newest"),
        pytest.param([_image("a"), _image("b")], "ami-b", id="the greatest name of one day"),
        pytest.param(
            [_image("old"), _image("new", "2026-02-01", DeprecationTime="2026-11-01T00:00:00.000Z")],
            "ami-old",
            id="an older one that is not deprecated",
        ),
        pytest.param(
            [_image("old"), _image("new", "2026-02-01", DeprecationTime="2026-12-01T00:00:00.000Z")],
            "ami-new",
            id="one that will be deprecated",
        ),
    ],
)  # fmt: skip
def test_of_images_for_the_same_machines_one_wins(found: list[Any], winner: str) -> None:
    for order in (found, found[::-1]):
        (best,) = _resolve(Amazon(*order), {"tags": {"a": "b"}})
        assert best.id == winner


def test_a_deprecated_image_that_is_the_only_one_is_taken_and_told() -> None:
    (found,) = _resolve(Amazon(_image("a", DeprecationTime="2026-11-01T00:00:00.000Z")), {"id": "ami-a"})  # fmt: skip

    assert found.deprecated


def test_images_are_listed_newest_first_then_by_id() -> None:
    found = _resolve(
        Amazon(
            _image("b", Architecture="arm64"),
            _image("a"),
            _image("c", "2026-03-01", Architecture="i386"),
        ),
        {"tags": {"a": "b"}},
    )

    assert [(i.id, i.requirements) for i in found] == [("ami-a", (X86,)), ("ami-b", (ARM,))]


def test_an_image_of_an_alias_may_serve_two_kinds_of_machines() -> None:
    gpu = "/aws/service/eks/optimized-ami/1.32/amazon-linux-2-gpu/recommended/image_id"

    found = _resolve(
        Amazon(_image("gpu"), parameters={gpu: "ami-gpu"}),
        {"alias": "al2@latest"},
        kubernetes="1.32",
    )

    assert [i.id for i in found] == ["ami-gpu", "ami-gpu"]
    assert {i.requirements[-1][0] for i in found} == {
        "karpenter.k8s.aws/instance-gpu-count",
        "karpenter.k8s.aws/instance-accelerator-count",
    }


def test_requirements_are_listed_by_the_length_of_their_keys() -> None:
    name = "/aws/service/eks/optimized-ami/1.34/amazon-linux-2023/x86_64/standard/recommended"

    (found,) = _resolve(
        Amazon(_image("a"), parameters={f"{name}/image_id": "ami-a"}), {"alias": "al2023@latest"}
    )

    assert [c[0] for c in found.requirements] == [
        "kubernetes.io/arch",
        "karpenter.k8s.aws/instance-gpu-count",
        "karpenter.k8s.aws/instance-accelerator-count",
    ]


def test_an_alias_without_published_images_asks_ec2_nothing() -> None:
    amazon = Amazon(_image("a"))

    assert _resolve(amazon, {"alias": "al2023@v20200101"}) == []
    assert amazon.asked == []


@pytest.mark.parametrize(
    ("name", "value", "kept"),
    [
        pytest.param("/mine", "ami-1", timedelta(minutes=5), id="a parameter of the user's"),
        pytest.param("/aws/service/eks/x/recommended/image_id", "ami-1", timedelta(minutes=5), id="the latest"),
        pytest.param("/aws/service/eks/x/node-v1/image_id", "ami-1", timedelta(hours=24), id="a pinned release"),
        pytest.param("/aws/service/eks/x/node-v2/image_id", None, timedelta(minutes=1), id="none yet"),
    ],
)  # fmt: skip
def test_how_long_a_parameter_is_believed(name: str, value: str | None, kept: timedelta) -> None:
    amazon, clock = Amazon(parameters={name: value} if value else {}), Clock()
    parameters = Parameters(amazon, clock)  # pyright: ignore[reportArgumentType]

    for moment in (timedelta(0), kept - timedelta(seconds=1), kept):
        clock.now = NOW + moment
        assert parameters.image(name) == (value or "")

    assert len(amazon.names) == 2
