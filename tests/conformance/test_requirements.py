"""What each operator allows, and what pairs of them make of each other.

Source: Kubernetes node affinity operators; karpenter.sh/v1 for Gte, Lte and minValues.
"""

import pytest

from daiku.model import labels
from daiku.model.requirement import Requirement
from daiku.model.requirements import Requirements

WELL_KNOWN = frozenset({labels.ZONE})


def requirement(text: str, key: str = "key") -> Requirement:
    operator, *values = text.split()
    return Requirement.parse(key, operator, values)


@pytest.mark.parametrize(
    ("operator", "value", "allowed"),
    [
        pytest.param("In a b", "a", True, id="In allows what it names"),
        pytest.param("In a b", "c", False, id="In allows nothing else"),
        pytest.param("NotIn a", "a", False, id="NotIn refuses what it names"),
        pytest.param("NotIn a", "b", True, id="NotIn allows everything else"),
        pytest.param("Exists", "", True, id="Exists allows any value, the empty one too"),
        pytest.param("DoesNotExist", "a", False, id="DoesNotExist allows no value"),
        pytest.param("Gt 3", "3", False, id="Gt is strict"),
        pytest.param("Gt 3", "4", True, id="Gt allows the next integer"),
        pytest.param("Gte 3", "3", True, id="Gte is inclusive"),
        pytest.param("Lt 3", "3", False, id="Lt is strict"),
        pytest.param("Lte 3", "3", True, id="Lte is inclusive"),
        pytest.param("Gt 3", "ten", False, id="what is no integer lies outside every bound"),
        pytest.param("Gt -2", "-1", True, id="bounds may be negative on pods"),
        pytest.param(
            "Gt 9223372036854775807",
            "9223372036854775807",
            False,
            id="nothing is greater than the largest",
        ),
    ],
)
def test_a_value_is_allowed(operator: str, value: str, allowed: bool) -> None:
    assert requirement(operator).has(value) is allowed


@pytest.mark.parametrize(
    ("operator", "absent"),
    [
        pytest.param("In a", False, id="In needs the label"),
        pytest.param("NotIn a", True, id="NotIn is met without the label"),
        pytest.param("Exists", False, id="Exists needs the label"),
        pytest.param("DoesNotExist", True, id="DoesNotExist is met without the label"),
        pytest.param("Gt 1", False, id="a bound needs the label"),
    ],
)
def test_a_node_without_the_label_meets_it(operator: str, absent: bool) -> None:
    assert (not Requirements().compatible(Requirements.of(requirement(operator)))) is absent


@pytest.mark.parametrize(
    ("one", "other", "both"),
    [
        pytest.param("In a b", "In b c", ["In b"], id="two lists leave what both name"),
        pytest.param("In a b", "NotIn b", ["In a"], id="a list loses what is excluded"),
        pytest.param("NotIn a", "NotIn b", ["NotIn a b"], id="exclusions add up"),
        pytest.param("Exists", "In a", ["In a"], id="Exists adds nothing to a list"),
        pytest.param(
            "Exists", "NotIn a", ["Exists", "NotIn a"], id="Exists takes absence from NotIn"
        ),
        pytest.param("DoesNotExist", "NotIn a", ["DoesNotExist"], id="absence meets both"),
        pytest.param(
            "In a",
            "In b",
            ["Exists", "DoesNotExist"],
            id="two lists apart are impossible, not absent",
        ),
        pytest.param(
            "In a",
            "DoesNotExist",
            ["Exists", "DoesNotExist"],
            id="a value and absence are impossible",
        ),
        pytest.param("Gt 1", "Lt 4", ["Gte 2", "Lte 3"], id="bounds close in from both sides"),
        pytest.param(
            "Gt 4", "Lt 4", ["Exists", "DoesNotExist"], id="bounds that cross are impossible"
        ),
        pytest.param("In 1 2 x", "Gte 2", ["In 2"], id="a bound drops numbers outside and words"),
        pytest.param(
            "NotIn 2 9", "Lte 3", ["Lte 3", "NotIn 2"], id="a range keeps the exclusions within it"
        ),
    ],
)
def test_two_requirements_together(one: str, other: str, both: list[str]) -> None:
    wire = (requirement(one) & requirement(other)).to_wire()

    assert [" ".join([i["operator"], *i.get("values", [])]) for i in wire] == both


def test_the_larger_min_values_wins() -> None:
    few, many = (
        Requirement.parse("key", "In", ["a", "b"], 1),
        Requirement.parse("key", "Exists", (), 2),
    )

    assert (few & many).min_values == 2


@pytest.mark.parametrize(("old", "new"), sorted(labels.ALIASES.items()))
def test_an_old_key_means_its_successor(old: str, new: str) -> None:
    assert requirement("In a", old) == requirement("In a", new)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        pytest.param("In", "at least one value", id="In without values"),
        pytest.param("Gt", "exactly one integer", id="Gt without a value"),
        pytest.param("Gt 1 2", "exactly one integer", id="Gt with two values"),
        pytest.param("Lt x", "exactly one integer", id="Lt of a word"),
        pytest.param("Near a", "use In, NotIn", id="an operator that does not exist"),
    ],
)
def test_what_cannot_be_read_is_refused_with_what_would_do(text: str, says: str) -> None:
    with pytest.raises(ValueError, match=says):
        requirement(text)


@pytest.mark.parametrize(
    ("there", "asked", "problem"),
    [
        pytest.param({"team": "In x"}, {"team": "In x y"}, "", id="a value in common is enough"),
        pytest.param({"team": "In x"}, {"team": "In y"}, "not in", id="no value in common"),
        pytest.param(
            {}, {"team": "In x"}, "does not have known values", id="an unknown label cannot be had"
        ),
        pytest.param(
            {}, {"team": "NotIn x"}, "", id="an unknown label is absent, which NotIn allows"
        ),
        pytest.param(
            {}, {labels.ZONE: "In a"}, "", id="a label that the cloud decides can still be had"
        ),
        pytest.param(
            {"team": "NotIn x"}, {"team": "DoesNotExist"}, "", id="both are met without the label"
        ),
        pytest.param(
            {"example.com/team": "In x"},
            {"team": "In x"},
            "typo of",
            id="a near miss is pointed out",
        ),
    ],
)
def test_a_pod_meets_a_node_pool(
    there: dict[str, str], asked: dict[str, str], problem: str
) -> None:
    pool = Requirements.of(*(requirement(text, key) for key, text in there.items()))
    pod = Requirements.of(*(requirement(text, key) for key, text in asked.items()))

    problems = pool.compatible(pod, WELL_KNOWN)

    assert bool(problems) is bool(problem)
    assert problem in " ".join(problems)


FORMS = (
    "Exists",
    "DoesNotExist",
    "In a",
    "In b",
    "In a b",
    "NotIn a",
    "In 1",
    "In 9",
    "In 1 9",
    "NotIn 1 2",
    *(
        f"{operator} {bound}"
        for operator in ("Gt", "Gte", "Lt", "Lte")
        for bound in ("0", "1", "9")
    ),
    f"Gt {2**63 - 1}",
)
"""Those of Karpenter's matrix of pairs."""
SAMPLES = ("a", "b", "c", "", "-1", "0", "1", "2", "5", "8", "9", "10", str(2**63 - 1))


@pytest.mark.parametrize("other", FORMS)
@pytest.mark.parametrize("one", FORMS)
def test_every_pair_of_operators_means_what_its_values_say(one: str, other: str) -> None:
    """Source: karpenter-core, pkg/scheduling/requirement_test.go, "Intersect requirements"."""
    first, second = requirement(one), requirement(other)
    both = first & second

    assert [v for v in SAMPLES if both.has(v)] == [
        v for v in SAMPLES if first.has(v) and second.has(v)
    ]
    assert both.absent is (first.absent and second.absent)
    assert first.intersects(second) is (both.absent or any(map(both.has, SAMPLES)))
    assert both == second & first
