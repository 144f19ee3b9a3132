import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from daiku_infra import controller_statements, policies
from daiku_infra.controller_statements import PolicyName, Scope
from daiku_infra.policies import Statement

READING_VERBS = ("Describe", "Get", "List", "Receive")
OWN = (
    "aws:ResourceTag/kubernetes.io/cluster/demo",
    "aws:RequestTag/kubernetes.io/cluster/demo",
)


def scope(cluster: str = "demo") -> Scope:
    return Scope(
        partition="aws",
        region="us-west-2",
        account="123456789012",
        cluster=cluster,
        node_role_arn=f"arn:aws:iam::123456789012:role/{cluster}-node",
        queue_arn=f"arn:aws:sqs:us-west-2:123456789012:{cluster}",
    )


STATEMENTS = [
    statement
    for rows in controller_statements.controller_statements(scope()).values()
    for statement in rows
]


def condition_keys(statement: Statement) -> set[str]:
    return {key for keys in statement.conditions.values() for key in keys}


def changes_something(statement: Statement) -> bool:
    verbs = [action.split(":")[1] for action in statement.actions]
    return not all(verb.startswith(READING_VERBS) for verb in verbs)


@given(st.from_regex(r"[a-z0-9][a-z0-9-]{0,99}", fullmatch=True))
def test_each_policy_is_under_the_size_that_iam_takes(cluster: str) -> None:
    for document in controller_statements.controller_documents(scope(cluster)).values():
        assert len(policies.render(document)) <= policies.POLICY_SIZE_MAX


@pytest.mark.parametrize(
    "statement", [s for s in STATEMENTS if changes_something(s)], ids=lambda s: s.sid
)
def test_what_changes_something_is_bound_to_our_tags_or_to_named_resources(
    statement: Statement,
) -> None:
    own_tags = condition_keys(statement) & {*OWN}
    exactly_ours = all(arn.endswith((":role/demo-node", ":demo")) for arn in statement.resources)
    what_accounts_share = statement.sid == "LaunchFromWhatTheAccountShares"

    assert own_tags or exactly_ours or what_accounts_share
    assert "*" not in statement.resources


def test_launching_from_what_the_account_shares_makes_nothing_without_our_tags() -> None:
    shared = next(s for s in STATEMENTS if s.sid == "LaunchFromWhatTheAccountShares")
    made = {"instance", "fleet", "volume", "network-interface", "launch-template"}

    assert not {arn.split(":")[-1].split("/")[0] for arn in shared.resources} & made


def test_no_action_is_a_pattern() -> None:
    assert not [action for s in STATEMENTS for action in s.actions if "*" in action]


def test_each_sid_is_unique_and_made_of_letters() -> None:
    sids = [statement.sid for statement in STATEMENTS]

    assert len(set(sids)) == len(sids)
    assert all(sid.isalnum() for sid in sids)


def test_the_controller_may_make_every_call_it_makes() -> None:
    allowed = {action for statement in STATEMENTS for action in statement.actions}

    assert allowed >= {
        "ec2:CreateFleet", "ec2:RunInstances", "ec2:CreateLaunchTemplate", "ec2:CreateTags",
        "ec2:TerminateInstances", "ec2:DeleteLaunchTemplate", "ec2:DescribeInstances",
        "ec2:DescribeInstanceTypes", "ec2:DescribeInstanceTypeOfferings", "ec2:DescribeImages",
        "ec2:DescribeSubnets", "ec2:DescribeSecurityGroups", "ec2:DescribeLaunchTemplates",
        "ec2:DescribeSpotPriceHistory", "ec2:DescribeInstanceStatus", "iam:PassRole",
        "iam:GetInstanceProfile", "iam:ListInstanceProfiles", "eks:DescribeCluster",
        "ssm:GetParameter", "pricing:GetProducts", "sqs:ReceiveMessage", "sqs:DeleteMessage",
        "sqs:GetQueueUrl",
    }  # fmt: skip


def test_the_managed_policies_of_one_controller_fit_on_one_role() -> None:
    assert len(PolicyName) <= 10


def test_one_service_account_can_assume_the_role_and_no_other() -> None:
    trust = policies.service_account_trust(
        provider_arn="arn:aws:iam::1:oidc-provider/oidc.example.com/id/X",
        issuer="https://oidc.example.com/id/X",
        namespace="kube-system",
        service_account="daiku",
    )

    [statement] = trust["Statement"]
    assert statement["Action"] == "sts:AssumeRoleWithWebIdentity"
    assert statement["Condition"] == {
        "StringEquals": {
            "oidc.example.com/id/X:aud": "sts.amazonaws.com",
            "oidc.example.com/id/X:sub": "system:serviceaccount:kube-system:daiku",
        }
    }


def test_the_queue_takes_events_of_its_own_rules_only_and_nothing_in_clear_text() -> None:
    document = policies.queue_policy(queue_arn="arn:queue", rule_arns=["arn:rule/one"])

    feed, deny = document["Statement"]
    assert feed["Condition"] == {"ArnEquals": {"aws:SourceArn": ["arn:rule/one"]}}
    assert (deny["Effect"], deny["Principal"], deny["Action"]) == ("Deny", "*", "sqs:*")


def test_a_document_is_rendered_without_white_space_to_be_counted() -> None:
    text = policies.render(policies.service_trust("ec2.amazonaws.com"))

    assert " " not in text
    assert json.loads(text)["Version"] == "2012-10-17"


def test_a_policy_that_iam_would_not_take_is_refused_with_the_remedy() -> None:
    statement = policies.Statement(sid="Long", actions=["ec2:RunInstances"] * 400, resources=["*"])

    with pytest.raises(policies.PolicySizeError, match=r"at most 6,144 .* a shorter name"):
        policies.managed(policies.document([statement.encode()]))
