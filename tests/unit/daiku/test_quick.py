"""`model.quick`: values that are made sooner are the same values."""

import copy
import dataclasses
from dataclasses import dataclass, field

import pytest

from daiku.model import quick


@dataclass(frozen=True, slots=True, kw_only=True)
class Plain:
    kind: str
    count: int = 3
    labels: dict[str, str] = field(default_factory=dict[str, str])


@quick.made
@dataclass(frozen=True, slots=True, kw_only=True)
class Quick:
    kind: str
    count: int = 3
    labels: dict[str, str] = field(default_factory=dict[str, str])


@pytest.mark.parametrize(
    "given", [{"kind": "a"}, {"kind": "a", "count": 0}, {"labels": {"x": "y"}, "kind": ""}]
)
def test_it_has_the_fields_that_the_dataclass_would_have(given: dict[str, object]) -> None:
    made = Quick(**given)  # pyright: ignore[reportArgumentType]

    assert type(made) is Quick
    assert dataclasses.asdict(made) == dataclasses.asdict(Plain(**given))  # pyright: ignore[reportArgumentType]


def test_values_of_a_factory_are_not_shared() -> None:
    assert Quick(kind="a").labels is not Quick(kind="a").labels


def test_it_cannot_be_changed() -> None:
    made = Quick(kind="a")

    with pytest.raises(dataclasses.FrozenInstanceError):
        made.count = 4  # pyright: ignore[reportAttributeAccessIssue]
    with pytest.raises(AttributeError):
        object.__setattr__(made, "other", 4)


@pytest.mark.parametrize(
    ("given", "message"),
    [({}, "kind"), ({"kind": "a", "colour": "red"}, "colour")],
)
def test_a_missing_or_unknown_field_is_refused_by_name(
    given: dict[str, object], message: str
) -> None:
    with pytest.raises(TypeError, match=message):
        Quick(**given)  # pyright: ignore[reportArgumentType]


def test_it_is_equal_copied_and_replaced_like_any_other() -> None:
    made = Quick(kind="a", count=1)

    assert made == Quick(kind="a", count=1)
    assert made != Quick(kind="a", count=2)
    assert copy.deepcopy(made) == made
    assert dataclasses.replace(made, count=2) == Quick(kind="a", count=2)
