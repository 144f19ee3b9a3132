"""Every call of AWS that the controller makes is in its IAM policy, and what is there besides has a reason."""

# pyright: reportUnknownVariableType=false, reportUnknownMemberType=false
# botocore has no types; its models are data.

import ast
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import botocore.session
from botocore import xform_name

import daiku
from daiku_infra.controller_statements import Scope, controller_statements

CODE = Path(str(daiku.__file__)).parent
PREFIXES = {
    "arc-zonal-shift": "arc-zonal-shift",
    "ssm": "ssm",
    "pricing": "pricing",
    "eks": "eks",
    "iam": "iam",
    "ec2": "ec2",
    "sqs": "sqs",
}
SAME_RIGHT = {"sqs:DeleteMessageBatch": "sqs:DeleteMessage"}
"""Calls that IAM knows under another name."""
NOT_CALLED = {
    "iam:TagInstanceProfile": "CreateInstanceProfile puts tags on what it makes",
    "iam:PassRole": "launches hand the node role over",
}
"""What is allowed though no line of code calls it, and why."""
BY_PEOPLE = {*(CODE / "cli").rglob("*.py"), CODE / "cloud" / "aws" / "leftovers.py"}
"""What a command or a destroy calls, with the rights of whoever runs it."""


def _called() -> Iterator[str]:
    """service:Operation of each `session.call` and `session.pages`; commands ask with a person's own rights."""
    loader: Any = botocore.session.get_session()
    for path in sorted(set(CODE.rglob("*.py")) - BY_PEOPLE):
        for node in ast.walk(ast.parse(path.read_text())):
            if not (isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute)):
                continue
            words: list[Any] = [a.value for a in node.args[:3] if isinstance(a, ast.Constant)]
            if (
                node.func.attr in {"call", "pages", "partial"}
                and len(words) == 2
                and words[0] in PREFIXES
            ):
                service, operation = words
                names: list[str] = loader.get_service_model(service).operation_names
                (name,) = [n for n in names if xform_name(n) == operation]
                yield f"{PREFIXES[service]}:{name}"


def _allowed() -> set[str]:
    scope = Scope(
        partition="aws",
        region="us-west-2",
        account="123456789012",
        cluster="demo",
        node_role_arn="arn:aws:iam::123456789012:role/node",
        queue_arn="arn:aws:sqs:us-west-2:123456789012:demo",
    )
    return {
        action
        for rows in controller_statements(scope).values()
        for row in rows
        for action in row.actions
    }


def test_every_call_is_allowed() -> None:
    called = {SAME_RIGHT.get(name, name) for name in _called()}

    assert len(called) >= 20
    assert called - _allowed() == set()


def test_nothing_is_allowed_without_a_reason() -> None:
    called = {SAME_RIGHT.get(name, name) for name in _called()}

    unused = _allowed() - called
    assert sorted(unused) == sorted(NOT_CALLED)
