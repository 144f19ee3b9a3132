"""From a recognised call to its reply: weather first, then our own operation, else moto."""

import time
from collections.abc import Callable
from dataclasses import dataclass

from daiku_local.aws import operations
from daiku_local.aws.cloud import Asked, Cloud
from daiku_local.aws.errors import AwsError, NotOurs
from daiku_local.aws.moto_door import ServiceException
from daiku_local.aws.weather import Forecast, Refusal
from daiku_local.aws.wire import reply as replies
from daiku_local.aws.wire.call import Call
from daiku_local.aws.wire.reply import Reply

THROTTLED = {
    "ec2": ("RequestLimitExceeded", "Request limit exceeded.", 503),
    "eks": ("ThrottlingException", "Rate exceeded", 429),
}
"""Code, message and status of a refused call, by service."""

Forward = Callable[[bytes], Reply]
"""Has moto answer the request, with this body."""


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
            if refusal := cloud.weather.refusal(call.operation):
                raise _refused(refusal)
            if not cloud.weather.admits(call.operation, call.service):
                raise _throttled(call.service, cloud.weather.forecast)
            return self._perform(call, forward)
        except AwsError as error:
            return replies.of_error(call.service, error)
        except ServiceException as error:
            return replies.of_error(call.service, AwsError(error.code, error.message))

    def _perform(self, call: Call, forward: Forward) -> Reply:
        cloud = self.cloud
        key = (call.service, call.operation)
        elsewhere = call.service in operations.REGIONAL and call.region != cloud.world.region
        handler = operations.OWN.get(key)
        if handler is None or elsewhere:
            if call.service in operations.ONLY_OURS:
                raise _unsupported(call)
            return self._forward(call, forward, checked=not elsewhere)
        asked = _asked(call)
        try:
            if key in operations.LOCK_FREE:
                result = handler(cloud, asked)
            else:
                with cloud.lock:
                    cloud.timeline.settle()
                    result = handler(cloud, asked)
                    return replies.of_result(call.service, call.operation, result)
        except NotOurs:
            return self._forward(call, forward, checked=False)
        return replies.of_result(call.service, call.operation, result)

    def _forward(self, call: Call, forward: Forward, *, checked: bool) -> Reply:
        """Have moto answer; `checked`: with our own checks before it and repairs after it."""
        cloud = self.cloud
        key = (call.service, call.operation)
        before = operations.BEFORE.get(key) if checked else None
        after = operations.AFTER.get(key) if checked else None
        wait = operations.WAITS.get(key)
        asked = _asked(call) if before or after or wait else Asked({})
        body = call.body if wait is None else wait(cloud, asked)
        with cloud.lock:
            cloud.timeline.settle()
            if before is not None:
                before(cloud, asked)
            try:
                reply = forward(body)
            except NotImplementedError as error:
                raise _unsupported(call) from error
            if after is not None and reply.status < 400:
                after(cloud, asked)
            return reply


def _asked(call: Call) -> Asked:
    return Asked(call.parameters(), region=call.region, access_key=call.access_key)


def _refused(refusal: Refusal) -> AwsError:
    wait = refusal.retry_after_seconds
    return AwsError(refusal.code, refusal.message, status=refusal.status, retry_after_seconds=wait)


def _throttled(service: str, forecast: Forecast) -> AwsError:
    code, message, status = THROTTLED.get(service, ("ThrottlingException", "Rate exceeded", 400))
    wait = forecast.throttle_retry_after_seconds
    return AwsError(code, message, status=status, retry_after_seconds=wait)


def _unsupported(call: Call) -> AwsError:
    return AwsError(
        "UnsupportedOperation",
        f"{call.service}:{call.operation or 'unknown operation'} is not played by the stand-in AWS",
        status=501,
    )
