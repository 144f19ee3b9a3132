"""ServiceAccount tokens as a web identity: a JWT signed with RS256, read and verified."""

import base64
import binascii
import json
from dataclasses import dataclass
from typing import Any, cast

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import padding, rsa


class BadTokenError(Exception):
    """A token that is not what it claims to be; the message says why."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Claims:
    """What a verified token says."""

    issuer: str
    """Who issued it, an https URL."""
    subject: str
    """Whom it names, such as "system:serviceaccount:kube-system:daiku"."""
    audiences: tuple[str, ...]
    """For whom it is meant, at least one."""
    expires_at: float
    """End of its validity, seconds since 1970."""
    not_before: float
    """Beginning of its validity, seconds since 1970."""


def verify(token: str, public_key: bytes) -> Claims:
    """The claims of a token whose signature the key confirms; times are not judged.

    Args:
        token: A JWT in its compact form.
        public_key: RSA public key in PEM form.

    Raises:
        BadTokenError: It has another form, another algorithm, or another signer.
    """
    parts = token.split(".")
    if len(parts) != 3:
        raise BadTokenError("it has not the three parts of a JWT")
    header, content = _object(parts[0]), _object(parts[1])
    if header.get("alg") != "RS256":
        raise BadTokenError(f"its algorithm is {header.get('alg')!r}, only RS256 is accepted")
    key = cast("rsa.RSAPublicKey", serialization.load_pem_public_key(public_key))
    try:
        key.verify(
            _decode(parts[2]),
            f"{parts[0]}.{parts[1]}".encode(),
            padding.PKCS1v15(),
            hashes.SHA256(),
        )
    except InvalidSignature:
        raise BadTokenError("its signature is not that of the issuer's key") from None
    audience: Any = content.get("aud") or ()
    audiences = (audience,) if isinstance(audience, str) else tuple(str(one) for one in audience)
    try:
        claims = Claims(
            issuer=str(content["iss"]),
            subject=str(content["sub"]),
            audiences=audiences,
            expires_at=float(content["exp"]),
            not_before=float(content.get("nbf", 0)),
        )
    except (KeyError, TypeError, ValueError) as error:
        raise BadTokenError(f"claim {error} is absent or malformed") from error
    if not audiences:
        raise BadTokenError("it is meant for no audience")
    return claims


def _object(part: str) -> dict[str, Any]:
    try:
        content: Any = json.loads(_decode(part))
    except ValueError as error:
        raise BadTokenError("a part is not JSON in base64url") from error
    if not isinstance(content, dict):
        raise BadTokenError("a part is not a JSON object")
    return cast("dict[str, Any]", content)


def _decode(part: str) -> bytes:
    try:
        return base64.b64decode(part + "=" * (-len(part) % 4), altchars=b"-_", validate=True)
    except binascii.Error as error:
        raise BadTokenError("a part is not base64url") from error
