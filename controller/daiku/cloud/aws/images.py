"""Which images machines boot: by alias through SSM parameters, or by id, name and tags through EC2.

Each image comes with requirements that say which instance types can boot it: architecture, and for EKS's own images
whether they are for accelerators. Of images with the same requirements only the best is kept.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from daiku.cloud.aws import errors, selectors
from daiku.cloud.aws.answers import part
from daiku.cloud.aws.instance_types import ARCHITECTURES, PREFIX
from daiku.cloud.aws.session import Session
from daiku.model import labels

GPU_COUNT: Final = f"{PREFIX}instance-gpu-count"
ACCELERATOR_COUNT: Final = f"{PREFIX}instance-accelerator-count"
OWNERS: Final = ("self", "amazon")
"""Whose images a name means when the term names no owner."""

Condition = tuple[str, str, tuple[str, ...]]
"""key, operator, values: a requirement on the wire."""

VARIANTS: Final[Mapping[str, tuple[Condition, ...]]] = {
    "standard": ((ACCELERATOR_COUNT, "DoesNotExist", ()), (GPU_COUNT, "DoesNotExist", ())),
    "nvidia": ((GPU_COUNT, "Exists", ()),),
    "neuron": ((ACCELERATOR_COUNT, "Exists", ()),),
}
AL2023: Final = (
    ("x86_64", "standard"),
    ("x86_64", "nvidia"),
    ("x86_64", "neuron"),
    ("arm64", "standard"),
    ("arm64", "nvidia"),
)
"""Architecture and variant of each AL2023 image that EKS publishes."""


class UnsupportedAlias(Exception):  # named by what is wrong, like the condition's reason
    """An alias that no machine can be made of."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundImage:
    """An image that the terms select."""

    id: str
    name: str
    created: str
    """ISO-8601, so that text order is time order."""
    deprecated: bool
    requirements: tuple[Condition, ...]


def resolve(
    session: Session, terms: Sequence[Mapping[str, Any]], kubernetes: str, now: str
) -> list[FoundImage]:
    """Images that the terms select: newest first, one per set of requirements.

    Args:
        session: The way to AWS.
        terms: amiSelectorTerms.
        kubernetes: Minor version of the cluster, such as "1.34".
        now: ISO-8601; an image whose deprecation time is before counts as deprecated.

    Raises:
        UnsupportedAlias: The alias names a family that is not supported.
        CloudError: SSM or EC2 refused to say.
    """
    alias = next((t["alias"] for t in terms if t.get("alias")), "")
    wanted = list(_by_alias(session, alias, kubernetes)) if alias else []
    if alias:
        queries = [_by_ids(sorted({i for i, _ in wanted}))] if wanted else []
    else:
        queries = list(_by_terms(session, terms))
    found: list[FoundImage] = []
    for query in queries:
        for page in session.pages("ec2", "describe_images", IncludeDeprecated=True, **query):
            for image in page["Images"]:
                variants = [v for i, v in wanted if i == image["ImageId"]] or [""]
                found.extend(_image(image, variant, now) for variant in variants)
    return _best(found)


def _by_alias(session: Session, alias: str, kubernetes: str) -> Iterator[tuple[str, str]]:
    """(image id, variant) of each image of an alias; a variant that is not published is left out."""
    family, _, version = alias.partition("@")
    if family != "al2023":
        raise UnsupportedAlias(
            f"alias {alias!r} is not supported: use al2023@latest, or select images by id, name or tags "
            "with amiFamily Custom"
        )
    for arch, variant in AL2023:
        release = (
            "recommended"
            if version == "latest"
            else f"amazon-eks-node-al2023-{arch}-{variant}-{kubernetes}-{version}"
        )
        path = f"/aws/service/eks/optimized-ami/{kubernetes}/amazon-linux-2023/{arch}/{variant}/{release}/image_id"
        if image_id := _parameter(session, path):
            yield image_id, variant


def _parameter(session: Session, name: str) -> str:
    try:
        value: str = session.call("ssm", "get_parameter", Name=name)["Parameter"]["Value"]
    except errors.ResourceNotFound:
        return ""
    return value if value.startswith("ami-") else ""


def _by_terms(session: Session, terms: Sequence[Mapping[str, Any]]) -> Iterator[dict[str, Any]]:
    ids = {t["id"] for t in terms if t.get("id")}
    ids |= {_parameter(session, t["ssmParameter"]) for t in terms if t.get("ssmParameter")}
    if known := sorted(ids - {""}):
        yield _by_ids(known)
    for term in terms:
        filters = selectors.tag_filters(part(term, "tags"))
        if term.get("name"):
            filters.append({"Name": "name", "Values": [term["name"]]})
        if not filters:
            continue
        query: dict[str, Any] = {"Filters": [*filters, {"Name": "state", "Values": ["available"]}]}
        if term.get("owner"):
            query["Owners"] = [term["owner"]]
        elif term.get("name"):
            query["Owners"] = list(OWNERS)
        yield query


def _by_ids(ids: Sequence[str]) -> dict[str, Any]:
    return {"Filters": [{"Name": "image-id", "Values": list(ids)}]}


def _image(image: Mapping[str, Any], variant: str, now: str) -> FoundImage:
    architecture = ARCHITECTURES.get(image.get("Architecture", "x86_64"))
    known: tuple[Condition, ...] = VARIANTS.get(variant, ())
    if architecture is not None:
        known = (*known, (labels.ARCH, "In", (architecture,)))
    deprecation = image.get("DeprecationTime", "")
    return FoundImage(
        id=image["ImageId"],
        name=image.get("Name", ""),
        created=image.get("CreationDate", ""),
        deprecated=bool(deprecation) and deprecation < now,
        requirements=tuple(sorted(known, key=lambda c: (len(c[0]), c[0]))),
    )


def _best(found: Sequence[FoundImage]) -> list[FoundImage]:
    """One image per set of requirements: not deprecated, then newest, then greatest name."""
    best: dict[tuple[Condition, ...], FoundImage] = {}
    for image in found:
        known = best.get(image.requirements)
        rank = (not image.deprecated, image.created, image.name)
        if known is None or rank > (not known.deprecated, known.created, known.name):
            best[image.requirements] = image
    by_id = sorted(best.values(), key=lambda i: i.id)
    return sorted(by_id, key=lambda i: i.created, reverse=True)
