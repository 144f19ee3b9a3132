"""Tokens and trust policies, the two halves of IRSA."""

import base64
import json
from typing import Any

import pytest
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import padding, rsa

from daiku_local.aws import trust, web_token

KEY = rsa.generate_private_key(public_exponent=65537, key_size=2048)
PEM = KEY.public_key().public_bytes(
    serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo
)
CLAIMS = {"iss": "https://issuer", "sub": "me", "aud": ["you"], "exp": 20, "nbf": 10}
PROVIDER = "arn:aws:iam::1:oidc-provider/issuer"
FACTS = {"issuer:sub": ["me"], "issuer:aud": ["you"]}


def part(content: Any) -> str:
    return base64.urlsafe_b64encode(json.dumps(content).encode()).rstrip(b"=").decode()


def sign(header: Any, claims: Any) -> str:
    signed = f"{part(header)}.{part(claims)}"
    signature = KEY.sign(signed.encode(), padding.PKCS1v15(), hashes.SHA256())
    return f"{signed}.{base64.urlsafe_b64encode(signature).rstrip(b'=').decode()}"


def test_a_signed_token_gives_its_claims() -> None:
    claims = web_token.verify(sign({"alg": "RS256"}, CLAIMS), PEM)

    assert (claims.issuer, claims.subject, claims.audiences) == ("https://issuer", "me", ("you",))
    assert (claims.not_before, claims.expires_at) == (10, 20)


@pytest.mark.parametrize(
    ("token", "reason"),
    [
        pytest.param("a.b", "three parts", id="not a JWT"),
        pytest.param("!.!.!", "base64url", id="not base64url"),
        pytest.param(f"{part([1])}.{part({})}.x", "JSON object", id="a list for a header"),
        pytest.param(sign({"alg": "none"}, CLAIMS), "only RS256", id="no algorithm"),
        pytest.param(
            sign({"alg": "RS256"}, CLAIMS).replace(part(CLAIMS), part({**CLAIMS, "sub": "x"})),
            "signature",
            id="changed after it was signed",
        ),
        pytest.param(sign({"alg": "RS256"}, {"iss": "x"}), "'sub'", id="without a subject"),
        pytest.param(sign({"alg": "RS256"}, {**CLAIMS, "aud": []}), "no audience", id="for nobody"),
    ],
)
def test_a_token_that_is_not_what_it_claims_is_refused(token: str, reason: str) -> None:
    with pytest.raises(web_token.BadTokenError, match=reason):
        web_token.verify(token, PEM)


def policy(*statements: dict[str, Any]) -> str:
    return json.dumps({"Version": "2012-10-17", "Statement": list(statements)})


def allow(**changes: Any) -> dict[str, Any]:
    return {
        "Effect": "Allow",
        "Principal": {"Federated": PROVIDER},
        "Action": "sts:AssumeRoleWithWebIdentity",
        "Condition": {"StringEquals": {"issuer:sub": "me", "issuer:aud": "you"}},
        **changes,
    }


@pytest.mark.parametrize(
    ("document", "expected"),
    [
        pytest.param(policy(allow()), True, id="the policy of IRSA"),
        pytest.param(policy(allow(Action=["sts:*"])), True, id="a wildcard action"),
        pytest.param(policy(allow(Principal={"Federated": "other"})), False, id="another provider"),
        pytest.param(policy(allow(Principal={"Service": "ec2"})), False, id="a service"),
        pytest.param(
            policy(allow(Condition={"StringEquals": {"issuer:sub": "you"}})),
            False,
            id="another subject",
        ),
        pytest.param(
            policy(allow(Condition={"StringEquals": {"issuer:sub": ["x", "me"]}})),
            True,
            id="one of several subjects",
        ),
        pytest.param(
            policy(allow(Condition={"StringLike": {"issuer:sub": "m*"}})), True, id="a pattern"
        ),
        pytest.param(
            policy(allow(Condition={"StringEquals": {"other:sub": "me"}})),
            False,
            id="a key of another issuer",
        ),
        pytest.param(
            policy(allow(Condition={"IpAddress": {"aws:SourceIp": "0.0.0.0/0"}})),
            False,
            id="an operator that is not known lets nobody in",
        ),
        pytest.param(policy(allow(), allow(Effect="Deny")), False, id="a denial beats it"),
        pytest.param(policy(), False, id="no statement"),
    ],
)
def test_a_trust_policy_lets_in_whom_it_names(document: str, expected: bool) -> None:
    allowed = trust.allows(
        document, action="sts:AssumeRoleWithWebIdentity", federated=PROVIDER, facts=FACTS
    )

    assert allowed is expected
