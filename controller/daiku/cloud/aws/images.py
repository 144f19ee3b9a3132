"""Which images machines boot: by alias through SSM parameters, or by id, name and tags through EC2.

Each image comes with requirements that say which instance types can boot it: architecture, and for EKS's own images
whether they are for accelerators. Of images with the same requirements only the best is kept.
"""

import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any, Final

from daiku.cloud.aws import aliases, errors, selectors
from daiku.cloud.aws.aliases import Condition
from daiku.cloud.aws.answers import part
from daiku.cloud.aws.instance_types import ARCHITECTURES
from daiku.cloud.aws.session import Session
from daiku.model import labels

OWNERS: Final = ("self", "amazon")
"""Whose images a name means when the term names no owner."""
FOUND_FOR: Final = timedelta(minutes=5)
"""How long the answer of a parameter that may change is kept."""
PINNED_FOR: Final = timedelta(hours=24)
"""How long that of one that names a release is kept."""
MISSING_FOR: Final = timedelta(minutes=1)

Uses = Sequence[tuple[Condition, ...]]
Json = Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundImage:
    """An image that the terms select."""

    id: str
    name: str
    created: str
    """ISO-8601, so that text order is time order."""
    deprecated: bool
    requirements: tuple[Condition, ...]


@dataclass(slots=True)
class Parameters:
    """The parameters of SSM, each asked for again only when its answer is old. Any thread may use it."""

    session: Session
    now: Callable[[], datetime]
    _known: dict[str, tuple[str, datetime]] = field(default_factory=dict[str, tuple[str, datetime]])
    """Name -> value and until when it holds."""
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def image(self, name: str) -> str:
        """The image that a parameter names; empty when there is no such parameter, or it names none.

        Raises:
            CloudError: SSM refused to say.
        """
        now = self.now()
        with self._lock:
            known = self._known.get(name)
        if known is not None and now < known[1]:
            return known[0]
        value = self._ask(name)
        pinned = name.startswith("/aws/service/") and not aliases.is_mutable(name)
        keep = MISSING_FOR if not value else PINNED_FOR if pinned else FOUND_FOR
        with self._lock:
            self._known[name] = (value, now + keep)
        return value

    def _ask(self, name: str) -> str:
        try:
            value: str = self.session.call("ssm", "get_parameter", Name=name)["Parameter"]["Value"]
        except errors.ResourceNotFound:
            return ""
        return value if value.startswith("ami-") else ""


def resolve(
    parameters: Parameters, terms: Sequence[Json], kubernetes: str, now: datetime
) -> list[FoundImage]:
    """Images that the terms select: newest first, one per set of requirements.

    Args:
        parameters: The parameters of SSM, and the way to EC2.
        terms: amiSelectorTerms.
        kubernetes: Minor version of the cluster, such as "1.36".
        now: An image whose deprecation time is before counts as deprecated.

    Raises:
        UnsupportedAlias: The alias names no family that has images for this cluster.
        CloudError: SSM or EC2 refused to say.
    """
    alias = next((t["alias"] for t in terms if t.get("alias")), "")
    uses = _uses(parameters, alias, kubernetes) if alias else {}
    queries = ([_by_ids(sorted(uses))] if uses else []) if alias else _by_terms(parameters, terms)
    iso = now.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%S.000Z")
    found = [
        _image(image, architecture, conditions, iso)
        for query in queries
        for page in parameters.session.pages(
            "ec2", "describe_images", IncludeDeprecated=True, **query
        )
        for image in page["Images"]
        # A machine of another architecture than ours cannot be made.
        if (architecture := ARCHITECTURES.get(image.get("Architecture", "x86_64"))) is not None
        for conditions in uses.get(image["ImageId"], ((),))
    ]
    return _best(found)


def _uses(parameters: Parameters, alias: str, kubernetes: str) -> dict[str, Uses]:
    """Image id -> what it is for, of each image of an alias; one that is not published is left out."""
    uses: dict[str, Uses] = {}
    for each in aliases.published(alias, kubernetes):
        if image_id := parameters.image(each.parameter):
            uses[image_id] = (*uses.get(image_id, ()), *each.uses)
    return uses


def _by_terms(parameters: Parameters, terms: Sequence[Json]) -> Iterator[dict[str, Any]]:
    ids = {t["id"] for t in terms if t.get("id")}
    ids |= {parameters.image(t["ssmParameter"]) for t in terms if t.get("ssmParameter")}
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
    return {
        "Filters": [
            {"Name": "image-id", "Values": list(ids)},
            {"Name": "state", "Values": ["available"]},
        ]
    }


def _image(image: Json, architecture: str, conditions: Sequence[Condition], now: str) -> FoundImage:
    deprecation = image.get("DeprecationTime", "")
    known = (*conditions, (labels.ARCH, "In", (architecture,)))
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
