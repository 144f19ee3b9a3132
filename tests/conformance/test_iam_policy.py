"""Every call of AWS that the controller makes is in its IAM policy, and what is there besides has a reason."""

from tests.conformance import aws_calls

from daiku_infra.controller_statements import Scope, controller_statements

SAME_RIGHT = {"sqs:DeleteMessageBatch": "sqs:DeleteMessage"}
"""Calls that IAM knows under another name."""
NOT_CALLED = {
    "iam:TagInstanceProfile": "CreateInstanceProfile puts tags on what it makes",
    "iam:PassRole": "launches hand the node role over",
}
"""What is allowed though no line of code calls it, and why."""


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
    called = {SAME_RIGHT.get(name, name) for name in aws_calls.made()}

    assert len(called) >= 20
    assert called - _allowed() == set()


def test_nothing_is_allowed_without_a_reason() -> None:
    called = {SAME_RIGHT.get(name, name) for name in aws_calls.made()}

    unused = _allowed() - called
    assert sorted(unused) == sorted(NOT_CALLED)
