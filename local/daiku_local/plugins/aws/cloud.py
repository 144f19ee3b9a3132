"""The laptop world's AWS, seen through boto3: clients, errors, retries.

A stand-in must never touch a real account, so there are no clients but for a loopback address, and
they carry made-up credentials whatever the environment holds.
"""

# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false

import functools
import ipaddress
import os
import socket
import threading
import time
import urllib.parse
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, TypeVar

import boto3
import botocore.config
import botocore.exceptions

from daiku_local.plugins.errors import ProviderError
from daiku_local.plugins.values import Plain

Result = TypeVar("Result")

DEFAULT_REGION = "us-west-2"
SETTLING_SECONDS = 20.0
"""How long something that was just made may stay invisible to other calls."""
RELEASE_SECONDS = 90.0
"""How long something may stay in use after its user was deleted."""
CONNECT_SECONDS = 5.0
POLL_SECONDS = 0.25

_IN_USE = frozenset(
    {"DependencyViolation", "DeleteConflict", "ResourceInUse", "ResourceInUseException"}
)
_session_lock = threading.Lock()


@dataclass(frozen=True, slots=True, kw_only=True)
class TagRules:
    """What the provider's configuration says about tags."""

    default: dict[str, str] = field(default_factory=dict[str, str])
    """Tags of every resource."""
    ignored_keys: frozenset[str] = frozenset()
    """Tags that others own."""
    ignored_prefixes: tuple[str, ...] = ()
    """Beginnings of tags that others own."""

    def owned(self, tags: dict[str, str]) -> dict[str, str]:
        """Give the tags that are neither AWS's own nor ignored."""
        skipped = ("aws:", *self.ignored_prefixes)
        return {
            key: value
            for key, value in tags.items()
            if key not in self.ignored_keys and not key.startswith(skipped)
        }


def loopback_endpoint() -> str:
    """Give AWS_ENDPOINT_URL.

    Raises:
        ProviderError: It is not set, or is not on this machine.
    """
    url = os.environ.get("AWS_ENDPOINT_URL", "")
    host = urllib.parse.urlsplit(url).hostname or ""
    try:
        local = host == "localhost" or ipaddress.ip_address(host).is_loopback
    except ValueError:
        local = False
    if not local:
        raise ProviderError(
            f"this `pulumi-resource-aws` is Daiku's stand-in for the laptop world and speaks to "
            f"this machine only, but AWS_ENDPOINT_URL is {url!r}: run the command through "
            f"`daiku local exec -- …`, or for a real account outside of it, with local/bin on no PATH"
        )
    return url


def require_answer(url: str) -> None:
    """See to it that something listens at `url`; boto3 alone would try for a minute.

    Raises:
        ProviderError: Nothing does.
    """
    parts = urllib.parse.urlsplit(url)
    address = (parts.hostname or "", parts.port or (443 if parts.scheme == "https" else 80))
    try:
        socket.create_connection(address, timeout=CONNECT_SECONDS).close()
    except OSError as error:
        raise ProviderError(
            f"nothing answers at AWS_ENDPOINT_URL {url} ({error}): `daiku local status` tells "
            f"whether the laptop world is up"
        ) from error


def require_credentials() -> None:
    """See to it that somebody says who they are. The stand-in takes any; the real provider does not start without.

    Raises:
        ProviderError: There are none.
    """
    if boto3.Session().get_credentials() is None:
        raise ProviderError(
            "No valid credential sources found: there are none in the environment, in a profile, nor by any other way "
            "that the AWS SDK knows"
        )


class Cloud:
    """boto3 clients of one region, and the account behind them."""

    def __init__(self, region: str, tags: TagRules | None = None) -> None:
        self.endpoint = loopback_endpoint()
        self.region = region
        self.tags = tags or TagRules()
        self._clients: dict[str, Any] = {}

    def client(self, service: str) -> Any:
        """Give the client of `service`, made once."""
        with _session_lock:  # the default session of boto3 must not make two clients at a time
            if service not in self._clients:
                self._clients[service] = boto3.client(
                    service,
                    region_name=self.region,
                    endpoint_url=self.endpoint,
                    aws_access_key_id="local",
                    aws_secret_access_key="local",  # noqa: S106 - the stand-in AWS takes any
                    config=botocore.config.Config(
                        retries={"mode": "standard", "total_max_attempts": 10},
                        max_pool_connections=40,
                    ),
                )
            return self._clients[service]

    @property
    def ec2(self) -> Any:
        """Client of EC2, the service with most of the types."""
        return self.client("ec2")

    @functools.cached_property
    def account(self) -> str:
        """Account id, twelve digits."""
        return str(self.client("sts").get_caller_identity()["Account"])

    def arn(self, service: str, resource: str) -> str:
        """Give the ARN of `resource` in this region and account."""
        return f"arn:aws:{service}:{self.region}:{self.account}:{resource}"


def code_of(error: botocore.exceptions.ClientError) -> str:
    """Give AWS's error code, such as `InvalidVpcID.NotFound`."""
    details: Any = error.response
    return str(details.get("Error", {}).get("Code", ""))


def is_absent(error: botocore.exceptions.ClientError) -> bool:
    """Tell whether AWS says that the thing asked for does not exist."""
    code = code_of(error)
    return (
        "NotFound" in code
        or "NoSuch" in code
        or "NonExistent" in code
        or code in {"NoSuchEntity", "404"}
    )


def explain(error: Exception, doing: str) -> ProviderError:
    """Give an AWS error as one sentence that says what was being done."""
    if isinstance(error, botocore.exceptions.ClientError):
        details: Any = error.response
        message = details.get("Error", {}).get("Message", "")
        return ProviderError(
            f"{doing}: {error.operation_name} answered {code_of(error)}: {message}"
        )
    return ProviderError(f"{doing}: {error}")


def found(call: Callable[[], Result]) -> Result | None:
    """Give what `call` gives, None where AWS says that it does not exist."""
    try:
        return call()
    except botocore.exceptions.ClientError as error:
        if is_absent(error):
            return None
        raise


def eventually(call: Callable[[], Result], seconds: float = SETTLING_SECONDS) -> Result:
    """Give what `call` gives, trying again while AWS has not heard yet of what was just made.

    A name that was never made looks the same, so this waits only where the program's own resources
    are meant, and not for long.
    """
    deadline = time.monotonic() + seconds
    while True:
        try:
            return call()
        except botocore.exceptions.ClientError as error:
            if not is_absent(error) or time.monotonic() > deadline:
                raise
        time.sleep(POLL_SECONDS)


def released(call: Callable[[], Any], seconds: float = RELEASE_SECONDS) -> None:
    """Do a deletion, trying again while its user is still going away. What is gone is no error."""
    deadline = time.monotonic() + seconds
    while True:
        try:
            call()
        except botocore.exceptions.ClientError as error:
            if is_absent(error):
                return
            if code_of(error) not in _IN_USE or time.monotonic() > deadline:
                raise
        else:
            return
        time.sleep(POLL_SECONDS)


def until(
    read: Callable[[], Result], done: Callable[[Result], bool], *, what: str, seconds: float
) -> Result:
    """Ask `read` until `done` holds of its answer; give that answer.

    Raises:
        ProviderError: It does not hold after `seconds`.
    """
    deadline = time.monotonic() + seconds
    while True:
        answer = read()
        if done(answer):
            return answer
        if time.monotonic() > deadline:
            raise ProviderError(f"{what} after {seconds:.0f} s; last seen: {answer!r}")
        time.sleep(POLL_SECONDS)


def tag_list(tags: Plain | None) -> list[dict[str, str]]:
    """Give tags as the list of Key and Value that most of AWS takes."""
    return [{"Key": key, "Value": str(value)} for key, value in (tags or {}).items()]


def tag_map(tags: Any) -> dict[str, str]:
    """Give a list of Key and Value as tags."""
    return {tag["Key"]: tag["Value"] for tag in tags or ()}
