"""From a recognised call to its reply: weather first, then our own operation, else moto."""

import time
from collections.abc import Callable
from dataclasses import dataclass

from daiku_local.aws import operations
from daiku_local.aws.cloud import Asked, Cloud
from daiku_local.aws.errors import AwsError
from daiku_local.aws.moto_door import ServiceException
from daiku_local.aws.wire import models
from daiku_local.aws.wire.call import Call
from daiku_local.aws.wire.reply import Reply, of_error, of_result

THROTTLED = {
    "ec2": ("RequestLimitExceeded", "Request limit exceeded.", 503),
    "eks": ("ThrottlingException", "Rate exceeded", 429),
}
"""Code, message and status of a refused call, by service; the last entry of `_throttled` for others."""

Forward = Callable[[], Reply]
"""Has moto answer the request."""


@dataclass(frozen=True, slots=True)
class Dispatcher:
    """Answers calls on behalf of one cloud; any thread may use it."""

    cloud: Cloud
    """The account that is asked."""

    def answer(self, call: Call, forward: Forward) -> Reply:
        """The reply to a call."""
        cloud = self.cloud
        cloud.usage.count(call.service, call.operation or "?")
        if delay_ms := cloud.weather.forecast.latency_ms:
            time.sleep(delay_ms / 1000)
        try:
            if not cloud.weather.admits(call.operation):
                raise _throttled(call.service)
            return self._perform(call, forward)
        except AwsError as error:
            return of_error(call.service, error)
        except ServiceException as error:
            return of_error(call.service, AwsError(error.code, error.message))

    def _perform(self, call: Call, forward: Forward) -> Reply:
        cloud = self.cloud
        key = (call.service, call.operation)
        elsewhere = call.service in operations.REGIONAL and call.region != cloud.world.region
        handler = None if elsewhere else operations.OWN.get(key)
        if handler is None:
            guard = None if elsewhere else operations.GUARDS.get(key)
            with cloud.lock:
                cloud.timeline.settle()
                if guard is not None:
                    guard(cloud, _asked(call))
                reply = forward()
            return _explain(call, reply)
        asked = _asked(call)
        if key in operations.LOCK_FREE:
            result = handler(cloud, asked)
        else:
            with cloud.lock:
                cloud.timeline.settle()
                result = handler(cloud, asked)
        return of_result(call.service, call.operation, result)


def _asked(call: Call) -> Asked:
    return Asked(call.parameters(), region=call.region, access_key=call.access_key)


def _throttled(service: str) -> AwsError:
    code, message, status = THROTTLED.get(service, ("ThrottlingException", "Rate exceeded", 400))
    return AwsError(code, message, status=status)


def _explain(call: Call, reply: Reply) -> Reply:
    """Moto's reply; where it is not AWS's but a page of its own, an error that names the operation."""
    kind = reply.headers.get("Content-Type", "")
    if reply.status < 400 or not kind.startswith("text/html") or _is_aws_error(reply.body):
        return reply
    known = models.operation(call.service, call.operation) is not None
    asked = f"{call.service}:{call.operation or '?'}"
    reason = "is not an operation that AWS describes" if not known else "is not played here"
    if reply.status == 500:
        reason = "is not played here, or failed inside moto (see the log of the stand-in AWS)"
    return of_error(
        call.service,
        AwsError("UnsupportedOperation", f"{asked} {reason}", status=501 if known else 400),
    )


def _is_aws_error(body: bytes) -> bool:
    return b"<Error" in body[:400] or b"__type" in body[:400]
