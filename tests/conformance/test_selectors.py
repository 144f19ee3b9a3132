"""Which labels a selector means, operator by operator.

Source: kubernetes.io/docs/concepts/overview/working-with-objects/labels; apimachinery's labels.Requirement.Matches: a
key that is missing meets NotIn and DoesNotExist.
"""

from typing import Any

import pytest

from daiku.model import selectors
from daiku.scheduling.audit import crowd

OLD_ZONE = "failure-domain.beta.kubernetes.io/zone"
LABELS = {"app": "web", "empty": "", OLD_ZONE: "a"}


def expression(key: str, operator: str, *values: str) -> dict[str, Any]:
    return {"key": key, "operator": operator, **({"values": list(values)} if values else {})}


TABLE = [
    pytest.param(None, False, id="no selector means nothing"),
    pytest.param({}, True, id="an empty selector means everything"),
    pytest.param({"matchLabels": {"app": "web"}}, True, id="an equal label"),
    pytest.param({"matchLabels": {"app": "api"}}, False, id="another value"),
    pytest.param({"matchLabels": {"tier": "web"}}, False, id="another key"),
    pytest.param({"matchLabels": {"app": "web", "tier": "x"}}, False, id="every label must match"),
    pytest.param({"matchLabels": {"empty": ""}}, True, id="an empty value is a value"),
    pytest.param({"matchExpressions": [expression("app", "In", "api", "web")]}, True, id="In"),
    pytest.param({"matchExpressions": [expression("app", "In", "api")]}, False, id="not In"),
    pytest.param(
        {"matchExpressions": [expression("tier", "In", "web")]}, False, id="In needs the key"
    ),
    pytest.param({"matchExpressions": [expression("app", "NotIn", "api")]}, True, id="NotIn"),
    pytest.param(
        {"matchExpressions": [expression("app", "NotIn", "web")]}, False, id="NotIn excludes"
    ),
    pytest.param(
        {"matchExpressions": [expression("tier", "NotIn", "web")]},
        True,
        id="NotIn is met without the key",
    ),
    pytest.param({"matchExpressions": [expression("empty", "Exists")]}, True, id="Exists"),
    pytest.param({"matchExpressions": [expression("tier", "Exists")]}, False, id="does not Exist"),
    pytest.param(
        {"matchExpressions": [expression("tier", "DoesNotExist")]}, True, id="DoesNotExist"
    ),
    pytest.param(
        {"matchExpressions": [expression("app", "DoesNotExist")]}, False, id="but it does"
    ),
    pytest.param({"matchLabels": {OLD_ZONE: "a"}}, True, id="a label of the old spelling"),
    pytest.param({"matchLabels": {OLD_ZONE: "b"}}, False, id="another value of it"),
    pytest.param(
        {
            "matchLabels": {"app": "web"},
            "matchExpressions": [expression("app", "NotIn", "web")],
        },
        False,
        id="labels and expressions hold together",
    ),
]


@pytest.mark.parametrize(("selector", "expected"), TABLE)
def test_a_selector_means(selector: dict[str, Any] | None, expected: bool) -> None:
    assert selectors.selects(selector, LABELS) is expected


@pytest.mark.parametrize(("selector", "expected"), TABLE)
def test_the_audit_reads_selectors_alike(selector: dict[str, Any] | None, expected: bool) -> None:
    assert crowd.selects(selectors.parse(selector), LABELS) is expected
