# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false
"""Who is who: IAM roles that EKS is given, and the principal behind a call."""

import json
from typing import Any

from daiku_local.aws.cloud import Cloud
from daiku_local.aws.eks import errors


def role_by_arn(cloud: Cloud, arn: str) -> Any:
    """Moto's role of that ARN, None if there is none."""
    return next((role for role in cloud.iam.roles.values() if role.arn == arn), None)


def check_role(cloud: Cloud, arn: str, service: str) -> Any:
    """Moto's role of that ARN, if the service may assume it.

    Raises:
        AwsError: There is no such role, or its trust policy does not name the service.
    """
    role = role_by_arn(cloud, arn)
    if role is None or service not in _trusted_services(role):
        raise errors.bad_parameter(
            f"Role with arn: {arn}, could not be assumed because it does not exist "
            f"or the trusted entity is not correct ({service})"
        )
    return role


def _trusted_services(role: Any) -> list[str]:
    policy = json.loads(role.assume_role_policy_document)
    statements = (
        policy["Statement"] if isinstance(policy["Statement"], list) else [policy["Statement"]]
    )
    services: list[str] = []
    for statement in statements:
        principal = statement.get("Principal", {})
        named = principal.get("Service", []) if isinstance(principal, dict) else []
        services.extend([named] if isinstance(named, str) else named)
    return services


def principal_of(cloud: Cloud, access_key: str) -> str:
    """ARN of the IAM user or role behind an access key."""
    session = cloud.sts.get_assumed_role_from_access_key(access_key)
    if session is not None:
        return str(session.role_arn)
    user = cloud.iam.get_user_from_access_key_id(access_key)
    return str(user.arn) if user else f"arn:aws:iam::{cloud.world.account}:user/local"
