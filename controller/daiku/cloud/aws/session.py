"""The way to AWS: one boto3 session, one client per service, every failure as one of our errors.

Credentials, region and endpoints come from boto3's own chain (web identity in a cluster, AWS_ENDPOINT_URL*). Answers
are plain dictionaries; the modules beside this one know their shape.
"""

# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false
# boto3 has no types; this module is where it is wrapped.

import threading
from collections.abc import Iterator
from datetime import datetime
from importlib import metadata
from typing import Any, Final

import boto3
import boto3.session
import botocore.session
from botocore import exceptions, utils, xform_name
from botocore.config import Config

from daiku.cloud.aws import errors
from daiku.cloud.aws.pace import Pace
from daiku.cloud.errors import Throttled

CONNECT_SECONDS: Final = 5
READ_SECONDS: Final = 60
"""DescribeInstanceTypes is the slowest call."""
ATTEMPTS_MAX: Final = 3
"""Of one call, with back-off; after that the next tick or poll tries again."""

PACED_BY_CALLER: Final = frozenset({"create_fleet"})
"""Operations whose callers reserve their turn themselves, because others may join them while they wait."""

Json = dict[str, Any]


class NoRegionError(Exception):
    """Nothing says which region is meant."""


class Session:
    """AWS as this process sees it. Any thread may use it."""

    def __init__(self, region: str = "") -> None:
        # boto3 by itself reads AWS_DEFAULT_REGION only; every other SDK reads AWS_REGION.
        core: Any = botocore.session.Session()
        core.get_component("response_parser_factory").set_parser_defaults(timestamp_parser=_moment)
        self._session: Any = boto3.session.Session(
            botocore_session=core, region_name=region or None
        )
        self._lock = threading.Lock()
        self.pace = Pace()
        self._clients: dict[tuple[str, str], Any] = {}
        found: str | None = self._session.region_name
        if not found:
            raise NoRegionError("no AWS region is known: set AWS_REGION, such as us-west-2")
        # Of everything but Pricing, which only a few regions have.
        self.region: str = found

    def call(self, service: str, operation: str, *, region: str = "", **parameters: Any) -> Json:
        """Make one call, such as ("ec2", "describe_subnets", Filters=[...]).

        Raises:
            CloudError: It was refused, or there was no answer.
        """
        client = self._client(service, region or self.region)
        try:
            answer: Json = getattr(client, operation)(**parameters)
        except (exceptions.ClientError, exceptions.BotoCoreError) as error:
            raise errors.translate(f"{service} {operation}", error) from error
        self.pace.answered(_paced(service, operation))
        return answer

    def pages(
        self, service: str, operation: str, *, region: str = "", **parameters: Any
    ) -> Iterator[Json]:
        """Make a call that answers in pages, page by page.

        Raises:
            CloudError: It was refused, or there was no answer.
        """
        client = self._client(service, region or self.region)
        try:
            yield from client.get_paginator(operation).paginate(**parameters)
        except (exceptions.ClientError, exceptions.BotoCoreError) as error:
            raise errors.translate(f"{service} {operation}", error) from error
        self.pace.answered(_paced(service, operation))

    def _client(self, service: str, region: str) -> Any:
        with self._lock:
            known = self._clients.get((service, region))
            if known is None:
                config = Config(
                    region_name=region,
                    retries={"mode": "standard", "total_max_attempts": ATTEMPTS_MAX},
                    connect_timeout=CONNECT_SECONDS,
                    read_timeout=READ_SECONDS,
                    max_pool_connections=32,
                    user_agent_extra=f"daiku/{metadata.version('daiku')}",
                )
                known = self._session.client(service, config=config)
                self._clients[service, region] = known
                # Every try of a call passes here, those that boto3 makes by itself too.
                known.meta.events.register("before-send", self._await_turn)
                known.meta.events.register("response-received", self._heed_throttle)
            return known

    def _await_turn(self, event_name: str, **_: Any) -> None:
        operation = _of_event(event_name)
        if operation in PACED_BY_CALLER:
            # Its caller has taken the token; boto3's own next try finds here how long AWS wants to be left alone.
            self.pace.wait_out(operation)
        else:
            self.pace.wait(operation)

    def _heed_throttle(
        self,
        event_name: str,
        response_dict: Any = None,
        parsed_response: Any = None,
        **_: Any,
    ) -> None:
        said: Json = (parsed_response or {}).get("Error") or {}
        row = errors.meaning(str(said.get("Code", "")), str(said.get("Message", "")))
        if said and issubclass(row.kind, Throttled):
            asked = errors.retry_after((response_dict or {}).get("headers") or {})
            self.pace.throttled(_of_event(event_name), asked)


def _moment(value: Any) -> datetime:
    """A time as AWS writes it. botocore guesses at every form there is, for a third of the cost of the spot prices."""
    if isinstance(value, str) and value.endswith("Z"):
        try:
            return datetime.fromisoformat(value)
        except ValueError:
            pass
    return utils.parse_timestamp(value)


def _paced(service: str, operation: str) -> str:
    """The name of an operation for the pace."""
    return operation if service == "ec2" else f"{service}:{operation}"


def _of_event(name: str) -> str:
    """The same of a botocore event such as before-send.ec2.DescribeInstances."""
    _, service, operation = name.split(".")
    return _paced(service, xform_name(operation))
