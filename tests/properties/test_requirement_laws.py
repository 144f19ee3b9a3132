"""The algebra of requirements is an algebra of sets: each law is one test."""

from hypothesis import given
from hypothesis import strategies as st
from tests import strategies

from daiku.model.requirement import Requirement
from daiku.model.requirements import Requirements

VALUES = st.sampled_from([*strategies.VALUES, "z", "4", "+2"])
ONE = strategies.requirement()


@given(ONE, ONE)
def test_intersection_does_not_care_about_order(a: Requirement, b: Requirement) -> None:
    assert a & b == b & a


@given(ONE, ONE, ONE)
def test_intersection_does_not_care_about_grouping(
    a: Requirement, b: Requirement, c: Requirement
) -> None:
    assert (a & b) & c == a & (b & c)


@given(ONE)
def test_intersection_with_itself_changes_nothing(a: Requirement) -> None:
    assert a & a == a


@given(ONE)
def test_anything_is_the_identity(a: Requirement) -> None:
    assert a & Requirement.anything("key") == a


@given(ONE, ONE)
def test_two_requirements_intersect_exactly_when_their_intersection_is_not_empty(
    a: Requirement, b: Requirement
) -> None:
    assert a.intersects(b) == (not (a & b).is_empty)


@given(ONE, ONE, VALUES)
def test_a_value_meets_the_intersection_exactly_when_it_meets_both(
    a: Requirement, b: Requirement, value: str
) -> None:
    assert (a & b).has(value) == (a.has(value) and b.has(value))


@given(ONE, ONE)
def test_absence_meets_the_intersection_exactly_when_it_meets_both(
    a: Requirement, b: Requirement
) -> None:
    assert (a & b).absent == (a.absent and b.absent)


@given(ONE, ONE)
def test_what_is_written_and_read_again_is_the_same(a: Requirement, b: Requirement) -> None:
    both = a & b

    read = [
        Requirement.parse(i["key"], i["operator"], i.get("values", ()), i.get("minValues"))
        for i in both.to_wire()
    ]

    again = Requirement.anything("key")
    for each in read:
        again &= each
    assert (again.complement, again.values, again.gte, again.lte, again.absent) == (
        both.complement,
        both.values,
        both.gte,
        both.lte,
        both.absent,
    )


@given(st.lists(ONE, max_size=4), st.lists(ONE, max_size=4))
def test_sets_of_requirements_intersect_like_their_members(
    a: list[Requirement], b: list[Requirement]
) -> None:
    left, right = Requirements.of(*a), Requirements.of(*b)

    assert left & right == Requirements.of(*a, *b)
    assert hash(left & right) == hash(right & left)


@given(st.dictionaries(st.sampled_from(strategies.KEYS), VALUES), st.lists(ONE, max_size=3))
def test_labels_meet_requirements_exactly_when_every_label_does(
    known: dict[str, str], asked: list[Requirement]
) -> None:
    wanted = Requirements.of(*asked)
    there = Requirements.from_labels(known)

    met = all(r.has(known[r.key]) if r.key in known else r.absent for r in wanted)
    assert (not there.compatible(wanted)) == met
