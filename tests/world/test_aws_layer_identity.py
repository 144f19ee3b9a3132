"""AssumeRoleWithWebIdentity over HTTP: which tokens get credentials, and which errors the others get."""

import base64
import json
import time
import uuid
from collections.abc import Generator
from typing import Any

import botocore.exceptions
import pytest
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import padding, rsa
from tests.world import aws_account
from tests.world.aws_account import ISSUER, Account

pytestmark = pytest.mark.world

HOST = ISSUER.removeprefix("https://")
SUBJECT = "system:serviceaccount:kube-system:daiku"


@pytest.fixture(scope="module")
def account(tmp_path_factory: pytest.TempPathFactory) -> Generator[Account]:
    with aws_account.running(tmp_path_factory.mktemp("sts") / "world") as running:
        yield running


@pytest.fixture(scope="module")
def provider(account: Account) -> str:
    made = account.client("iam").create_open_id_connect_provider(
        Url=ISSUER, ClientIDList=["sts.amazonaws.com"]
    )
    return made["OpenIDConnectProviderArn"]


@pytest.fixture
def role(account: Account, provider: str) -> str:
    """A role that only the controller's ServiceAccount may assume."""
    statement = {
        "Effect": "Allow",
        "Principal": {"Federated": provider},
        "Action": "sts:AssumeRoleWithWebIdentity",
        "Condition": {"StringEquals": {f"{HOST}:sub": SUBJECT, f"{HOST}:aud": "sts.amazonaws.com"}},
    }
    policy = json.dumps({"Version": "2012-10-17", "Statement": [statement]})
    made = account.client("iam").create_role(
        RoleName=f"controller-{uuid.uuid4().hex[:8]}", AssumeRolePolicyDocument=policy
    )
    return made["Role"]["Arn"]


def token(signer: rsa.RSAPrivateKey, **claims: Any) -> str:
    """A ServiceAccount token; `claims` override what the API server would say."""
    now = int(time.time())  # noqa: TID251 - tokens are valid in real time
    content = {
        "iss": ISSUER,
        "sub": SUBJECT,
        "aud": ["sts.amazonaws.com"],
        "exp": now + 3600,
        "nbf": now,
        **claims,
    }
    parts = [_part(json.dumps(part).encode()) for part in ({"alg": "RS256"}, content)]
    signature = signer.sign(".".join(parts).encode(), padding.PKCS1v15(), hashes.SHA256())
    return ".".join([*parts, _part(signature)])


def _part(raw: bytes) -> str:
    return base64.urlsafe_b64encode(raw).rstrip(b"=").decode()


def assume(account: Account, role: str, web_identity: str) -> Any:
    return account.client("sts").assume_role_with_web_identity(
        RoleArn=role, RoleSessionName="daiku", WebIdentityToken=web_identity
    )


def refusal(account: Account, role: str, web_identity: str) -> str:
    with pytest.raises(botocore.exceptions.ClientError) as caught:
        assume(account, role, web_identity)
    return caught.value.response["Error"]["Code"]


def test_the_right_token_gets_credentials_of_the_role(account: Account, role: str) -> None:
    answer = assume(account, role, token(account.signer))

    given = answer["Credentials"]
    session = account.client(
        "sts",
        aws_access_key_id=given["AccessKeyId"],
        aws_secret_access_key=given["SecretAccessKey"],
        aws_session_token=given["SessionToken"],
    )
    name = role.rpartition("/")[2]
    identity = session.get_caller_identity()["Arn"]
    assert identity == f"arn:aws:sts::123456789012:assumed-role/{name}/daiku"
    assert answer["SubjectFromWebIdentityToken"] == SUBJECT


def test_another_service_account_is_denied(account: Account, role: str) -> None:
    other = token(account.signer, sub="system:serviceaccount:default:default")

    assert refusal(account, role, other) == "AccessDenied"


def test_a_role_that_does_not_exist_is_denied(account: Account, role: str) -> None:
    assert refusal(account, f"{role}-not", token(account.signer)) == "AccessDenied"


@pytest.mark.usefixtures("provider")
def test_a_role_that_trusts_somebody_else_is_denied(account: Account) -> None:
    arn = aws_account.role(account, f"ec2-{uuid.uuid4().hex[:8]}", "ec2.amazonaws.com")

    assert refusal(account, arn, token(account.signer)) == "AccessDenied"


def test_a_token_of_another_signer_is_invalid(account: Account, role: str) -> None:
    stranger = rsa.generate_private_key(public_exponent=65537, key_size=2048)

    assert refusal(account, role, token(stranger)) == "InvalidIdentityToken"


def test_a_token_for_another_audience_is_invalid(account: Account, role: str) -> None:
    other = token(account.signer, aud=["https://kubernetes.default.svc"])

    assert refusal(account, role, other) == "InvalidIdentityToken"


def test_a_token_of_an_issuer_without_a_provider_is_invalid(account: Account, role: str) -> None:
    other = token(account.signer, iss="https://oidc.example.com/id/1")

    assert refusal(account, role, other) == "InvalidIdentityToken"


def test_an_expired_token_is_told_apart(account: Account, role: str) -> None:
    assert refusal(account, role, token(account.signer, exp=1)) == "ExpiredTokenException"


def test_something_that_is_no_token_is_invalid(account: Account, role: str) -> None:
    assert refusal(account, role, "hello.this.is.not") == "InvalidIdentityToken"
