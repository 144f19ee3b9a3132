# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false
"""STS: AssumeRoleWithWebIdentity, checked as AWS checks it, and GetCallerIdentity.

This is where IRSA is true or not: the token must be signed by the world's ServiceAccount key, meant for an
IAM OIDC provider of the account, alive, and the role's trust policy must let exactly this subject
in. Session policies and other token issuers are not played.
"""

from typing import Any

from daiku_local.aws import clock, trust, web_token
from daiku_local.aws.cloud import Asked, Cloud
from daiku_local.aws.errors import AwsError

DURATION_SECONDS = 3600
DURATION_SECONDS_LEAST = 900


def assume_role_with_web_identity(cloud: Cloud, asked: Asked) -> dict[str, Any]:
    """AssumeRoleWithWebIdentity."""
    for name in ("RoleArn", "RoleSessionName", "WebIdentityToken"):
        if not asked.get(name):
            raise AwsError(
                "ValidationError", f"1 validation error detected: {name} must not be empty"
            )
    claims = _claims(cloud, str(asked["WebIdentityToken"]))
    provider = _provider(cloud, claims)
    role = _role(cloud, str(asked["RoleArn"]))
    host = claims.issuer.removeprefix("https://")
    facts = {f"{host}:sub": [claims.subject], f"{host}:aud": list(claims.audiences)}
    if role is None or not trust.allows(
        role.assume_role_policy_document,
        action="sts:AssumeRoleWithWebIdentity",
        federated=str(provider.arn),
        facts=facts,
    ):
        raise AwsError(
            "AccessDenied", "Not authorized to perform sts:AssumeRoleWithWebIdentity", status=403
        )
    session = cloud.sts.assume_role(
        region_name=cloud.world.region,
        role_session_name=asked["RoleSessionName"],
        role_arn=role.arn,
        policy=None,
        duration=_duration(asked, role),
        external_id=None,
    )
    return {
        "Credentials": {
            "AccessKeyId": session.access_key_id,
            "SecretAccessKey": session.secret_access_key,
            "SessionToken": session.session_token,
            "Expiration": session.expiration,
        },
        "SubjectFromWebIdentityToken": claims.subject,
        "AssumedRoleUser": {"AssumedRoleId": session.user_id, "Arn": session.arn},
        "Provider": provider.arn,
        "Audience": claims.audiences[0],
    }


def _claims(cloud: Cloud, token: str) -> web_token.Claims:
    try:
        key = (cloud.world.pki / "service-account.pub").read_bytes()
    except FileNotFoundError:
        raise AwsError(
            "IDPCommunicationError",
            "the laptop's control plane has no ServiceAccount key: is it up?",
        ) from None
    try:
        claims = web_token.verify(token, key)
    except web_token.BadTokenError as error:
        raise AwsError(
            "InvalidIdentityToken", f"The web identity token could not be validated: {error}"
        ) from error
    now = cloud.now()
    if now >= claims.expires_at:
        current, end = clock.moment(now), clock.moment(claims.expires_at)
        raise AwsError(
            "ExpiredTokenException",
            f"Token expired: current date/time {current:%Y-%m-%dT%H:%M:%SZ} must be before "
            f"the expiration date/time {end:%Y-%m-%dT%H:%M:%SZ}",
        )
    if now < claims.not_before:
        raise AwsError("InvalidIdentityToken", "The web identity token is not valid yet")
    return claims


def _provider(cloud: Cloud, claims: web_token.Claims) -> Any:
    """The account's OIDC provider of the token's issuer, if it accepts the token's audience."""
    host = claims.issuer.removeprefix("https://")
    arn = f"arn:aws:iam::{cloud.world.account}:oidc-provider/{host}"
    provider = cloud.iam.open_id_providers.get(arn)
    if provider is None or claims.issuer != cloud.world.service_account_issuer:
        raise AwsError(
            "InvalidIdentityToken",
            f"No OpenIDConnect provider found in your account for {claims.issuer}",
        )
    if not set(claims.audiences) & set(provider.client_id_list):
        raise AwsError("InvalidIdentityToken", "Incorrect token audience")
    return provider


def _role(cloud: Cloud, arn: str) -> Any:
    return next((role for role in cloud.iam.roles.values() if role.arn == arn), None)


def _duration(asked: Asked, role: Any) -> int:
    wanted = int(asked.get("DurationSeconds") or DURATION_SECONDS)
    most = int(role.max_session_duration or DURATION_SECONDS)
    if not DURATION_SECONDS_LEAST <= wanted <= most:
        raise AwsError(
            "ValidationError",
            f"The requested DurationSeconds {wanted} is not between {DURATION_SECONDS_LEAST} "
            f"and the role's MaxSessionDuration {most}",
        )
    return wanted


def get_caller_identity(cloud: Cloud, asked: Asked) -> dict[str, Any]:
    """GetCallerIdentity: a session's assumed role, an IAM user, or the laptop's own user."""
    session = cloud.sts.get_assumed_role_from_access_key(asked.access_key)
    user = cloud.iam.get_user_from_access_key_id(asked.access_key)
    account = cloud.world.account
    if session is not None:
        return {"UserId": session.user_id, "Account": account, "Arn": session.arn}
    if user is not None:
        return {"UserId": user.id, "Account": account, "Arn": user.arn}
    return {
        "UserId": "AIDALOCALLOCALLOCAL00",
        "Account": account,
        "Arn": f"arn:aws:iam::{account}:user/local",
    }


HANDLERS = {
    "AssumeRoleWithWebIdentity": assume_role_with_web_identity,
    "GetCallerIdentity": get_caller_identity,
}
