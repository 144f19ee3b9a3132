"""One table of reasons: no other spelling in the package, and every word where its kind belongs."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

import daiku
from daiku import reasons, reasons_page
from daiku.cloud import errors
from daiku.cloud.aws import errors as aws_errors
from daiku.model import labels
from daiku.reason import WHERE, Kind, label

ROOT = Path(str(daiku.__file__)).parent
PAGE = ROOT.parents[1] / "docs" / "reasons.md"
TABLE = ("reasons.py", "reason.py")
SOURCES = {
    str(path.relative_to(ROOT)): ast.parse(path.read_text())
    for path in sorted(ROOT.rglob("*.py"))
    if str(path.relative_to(ROOT)) not in TABLE
}
NAMES = {
    name: word
    for name, word in vars(reasons).items()
    if isinstance(word, str) and reasons.TABLE.get(word) and name.isupper()
}

TYPES = {"Drifted", "InstanceTerminating"}
"""Types of conditions that are spelled as a reason is."""
CODES = {
    "InsufficientCapacity", "InsufficientFreeAddressesInSubnet", "InternalError", "RequestLimitExceeded",
    "InvalidAMIID", "InvalidUserData", "ResourceNotFound",
}  # fmt: skip
"""AWS's own error codes, and beginnings of them, that are spelled as a reason is."""
OTHERS = {
    "api/kinds.py": {"PodDisruptionBudget"},  # a kind of object, here and in the next
    "cli/doctoring/workloads.py": {"PodDisruptionBudget"},
    "cli/doctoring/account.py": CODES,
    "cloud/aws/errors.py": CODES,
    "cloud/aws/trial.py": CODES,
    "cloud_choice.py": {"NodeRepair"},  # a feature gate, here and in the next
    "runtime/option_table.py": {"NodeRepair"},
    "runtime/carrier.py": {
        "InsufficientCapacityError"
    },  # a label, as Karpenter names errors of the cloud
    "api/manifests.py": {"PodDisruptionBudget"},  # a kind
    "disruption/audit.py": {"Budget", "DoNotDisrupt", "Empty"},  # rules of the audit
}
"""File -> words in it that are no reasons there."""

READ = {
    "api/decisions.py": "the answer of a controller",
    "cloud/aws/status.py": "AWS's codes, and names of our errors, which the table has",
    "disruption/candidates.py": "the condition DisruptionReason of a NodeClaim",
    "disruption/disruption_commands.py": "the annotation of a NodeClaim",
    "lifecycle/interruption.py": "the kind of a warning, which is the reason of the deletion",
    "model/interruption.py": "the kind of a warning, which is the reason of the deletion",
    "state/readiness.py": "the condition Ready of a node class",
    "state/registrations.py": "conditions of NodeClaims and NodePools",
}
"""File -> what it reads that is a reason, and so may make one of a string."""

PLACES: dict[str, tuple[int, set[Kind]]] = {
    "Blocker": (-1, {Kind.WAITING}),
    "_blocker": (-1, {Kind.WAITING}),
    "Kept": (-1, {Kind.KEPT}),
    "keep": (1, {Kind.KEPT}),
    "Stand": (0, {Kind.KEPT}),
    "_call_off": (1, {Kind.CALLED_OFF}),
    "let_off": (1, {Kind.CALLED_OFF}),
    "Refusal": (-1, {Kind.REFUSED}),
    "propose": (-1, {Kind.DISRUPTED}),
    "DeleteNodeClaim": (-1, {Kind.ENDED, Kind.DISRUPTED}),
    "announce": (1, {Kind.EVENT}),
    "on": (-1, {Kind.EVENT}),
    "tell": (1, {Kind.EVENT}),
    "set": (2, {Kind.CONDITION}),
    "wait": (1, {Kind.CONDITION}),
    "Meaning": (-1, {Kind.LAUNCH}),
    "_no": (1, {Kind.CLASS}),
}
"""Called -> which of its arguments is a reason (-1: one that is named so, or all), and of which kind it is."""


def _strings(tree: ast.AST) -> Iterator[ast.Constant]:
    return (n for n in ast.walk(tree) if isinstance(n, ast.Constant) and isinstance(n.value, str))


def _constants(node: ast.AST) -> list[str]:
    """Words of the table that an expression takes."""
    return [
        NAMES[n.attr]
        for n in ast.walk(node)
        if isinstance(n, ast.Attribute)
        and n.attr in NAMES
        and isinstance(n.value, ast.Name)
        and n.value.id == "reasons"
    ]


def test_the_page_is_what_the_table_says() -> None:
    assert PAGE.read_text() == reasons_page.page(), (
        "run: python -m daiku.reasons_page > docs/reasons.md"
    )


@pytest.mark.parametrize("file", SOURCES)
def test_no_module_spells_a_reason_itself(file: str) -> None:
    words = set(reasons.TABLE) - TYPES - OTHERS.get(file, set())

    assert [(s.lineno, s.value) for s in _strings(SOURCES[file]) if s.value in words] == []


def test_a_string_becomes_a_reason_only_where_one_is_read() -> None:
    makers = {
        file
        for file, tree in SOURCES.items()
        for call in ast.walk(tree)
        if isinstance(call, ast.Call) and ast.unparse(call.func) in {"Reason", "reason.Reason"}
    }

    assert makers == set(READ)


def test_every_word_of_the_table_is_taken_by_somebody() -> None:
    taken = {word for tree in SOURCES.values() for word in _constants(tree)}
    # A condition of an EC2NodeClass passes on the name of the error when AWS gave no code.
    taken |= {kind.__name__ for kind in _errors()}

    assert sorted(set(reasons.TABLE) - taken) == []


def _errors() -> list[type[errors.CloudError]]:
    return [aws_errors.ResourceNotFound, *errors.CloudError.__subclasses__()]


@pytest.mark.parametrize("kind", _errors(), ids=lambda kind: kind.__name__)
def test_the_name_of_every_error_that_a_class_may_pass_on_is_in_the_table(
    kind: type[errors.CloudError],
) -> None:
    # No call that a class is judged by is about an instance.
    assert kind.__name__ in reasons.TABLE or issubclass(kind, errors.InstanceNotFound)


def test_every_reason_stands_where_its_kind_belongs() -> None:
    wrong: list[str] = []
    checked = 0
    for file, tree in SOURCES.items():
        for call in ast.walk(tree):
            if not isinstance(call, ast.Call):
                continue
            called = ast.unparse(call.func).rpartition(".")[2]
            position, kinds = PLACES.get(called, (-1, set[Kind]()))
            named = [k.value for k in call.keywords if k.arg == "reason"]
            given = named or (call.args[position : position + 1] if position >= 0 else call.args)
            for word in (w for each in given for w in _constants(each) if kinds):
                checked += 1
                if kinds.isdisjoint(reasons.TABLE[word].kinds):
                    wrong.append(f"{file}:{call.lineno}: {word} in {called}")

    assert wrong == []
    assert checked > 100


@pytest.mark.parametrize("row", reasons.TABLE.values(), ids=lambda row: row.reason)
def test_a_row_says_something_in_the_middle_of_a_sentence(row: reasons.Row) -> None:
    assert row.kinds
    assert len(set(row.kinds)) == len(row.kinds)
    assert len(row.means) > 10
    assert not row.means.endswith(".")
    assert not row.remedy.endswith(".")
    assert "|" not in row.means + row.remedy, "it is a cell of a table"


@pytest.mark.parametrize("row", reasons.TABLE.values(), ids=lambda row: row.reason)
def test_a_word_is_written_as_kubernetes_or_metrics_write_it(row: reasons.Row) -> None:
    is_label = {Kind.ENDED, Kind.MADE}.issuperset(row.kinds)

    # Source: metav1.Condition (reason: CamelCase without blanks), Karpenter's values of the label reason. Karpenter's
    # own "Forceful Termination" is only in the message of the event Evicted.
    form = r"[a-z]+(_[a-z]+)*|Forceful Termination" if is_label else r"[A-Z][A-Za-z0-9]+"
    assert re.fullmatch(form, row.reason)


@pytest.mark.parametrize("row", reasons.TABLE.values(), ids=lambda row: row.reason)
def test_annotations_and_taints_are_called_what_they_are_called(row: reasons.Row) -> None:
    named = re.findall(r"(?:daiku\.dev|karpenter\.sh)/[a-z-]+", f"{row.means} {row.remedy}")

    assert [name for name in named if name not in vars(labels).values()] == []


def test_every_kind_has_reasons_and_says_where_they_are_met() -> None:
    assert set(WHERE) == set(Kind)
    assert {kind for row in reasons.TABLE.values() for kind in row.kinds} == set(Kind)


@pytest.mark.parametrize(
    ("word", "written"),
    [("InsufficientCapacity", "insufficient_capacity"), ("Empty", "empty"), ("expired", "expired")],
)
def test_metrics_write_a_reason_in_small_letters(word: str, written: str) -> None:
    assert label(word) == written


def test_a_word_of_somebody_else_has_neither_meaning_nor_remedy() -> None:
    foreign = reasons.Reason("UnauthorizedOperation")

    assert (reasons.means(foreign), reasons.remedy(foreign)) == ("", "")
