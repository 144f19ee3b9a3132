"""Trust policies of roles: whether a federated principal with certain facts is let in.

Only what web identity needs: Federated principals, and the condition operators on strings. An operator
that is not known lets nobody in.
"""

import fnmatch
import json
from collections.abc import Callable, Mapping
from typing import Any

Facts = Mapping[str, list[str]]
"""What is known of the caller, by condition key."""

OPERATORS: dict[str, Callable[[str, str], bool]] = {
    "StringEquals": lambda value, wanted: value == wanted,
    "StringEqualsIgnoreCase": lambda value, wanted: value.lower() == wanted.lower(),
    "StringLike": fnmatch.fnmatchcase,
}


def allows(document: str, *, action: str, federated: str, facts: Facts) -> bool:
    """Whether a trust policy allows an action to a federated principal: an Allow, and no Deny.

    Args:
        document: The policy as JSON.
        action: Such as "sts:AssumeRoleWithWebIdentity".
        federated: ARN of the identity provider.
        facts: Values of the condition keys.
    """
    content: dict[str, Any] = json.loads(document)
    statements = [
        statement
        for statement in _many(content.get("Statement", []))
        if _is_about(statement, action, federated) and _holds(statement.get("Condition", {}), facts)
    ]
    effects = {str(statement["Effect"]) for statement in statements}
    return effects == {"Allow"}


def _many(value: Any) -> list[Any]:
    return list(value) if isinstance(value, list) else [value]  # pyright: ignore[reportUnknownArgumentType, reportUnknownVariableType] JSON


def _is_about(statement: Mapping[str, Any], action: str, federated: str) -> bool:
    principal = statement.get("Principal", {})
    if principal != "*":
        named = _many(principal.get("Federated", []))
        if federated not in named and "*" not in named:
            return False
    actions = _many(statement.get("Action", []))
    return any(fnmatch.fnmatchcase(action.lower(), str(one).lower()) for one in actions)


def _holds(condition: Mapping[str, Mapping[str, Any]], facts: Facts) -> bool:
    return all(
        _matches(operator, facts.get(key, []), [str(one) for one in _many(wanted)])
        for operator, keys in condition.items()
        for key, wanted in keys.items()
    )


def _matches(operator: str, values: list[str], wanted: list[str]) -> bool:
    """Whether any value meets any wanted one; a negated operator holds when none does."""
    plain = operator.rpartition(":")[2]
    negated = plain.startswith("StringNot")
    test = OPERATORS.get(plain.replace("StringNot", "String", 1) if negated else plain)
    if test is None:
        return False
    found = any(test(value, one) for value in values for one in wanted)
    return not found if negated else found
