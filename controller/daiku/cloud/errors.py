"""What a cloud can answer besides yes, named by what is done next.

Source: Karpenter's cloudprovider error types; each provider maps its own codes onto these in one table.
"""

from daiku import reasons
from daiku.reason import NO_REASON, Reason


class CloudError(Exception):
    """The cloud did not do what was asked."""

    code: str = ""
    """The provider's own code, such as InsufficientInstanceCapacity; for people, never for decisions."""
    reason: Reason = reasons.LAUNCH_FAILED
    """What conditions and metrics call it, when it is the end of a launch."""
    retry_after_seconds: float | None = None
    """How long to wait, when the cloud said so."""

    def __init__(
        self,
        message: str,
        *,
        code: str = "",
        reason: Reason = NO_REASON,
        retry_after_seconds: float | None = None,
    ) -> None:
        super().__init__(message)
        self.code = code
        self.reason = reason or self.reason
        self.retry_after_seconds = retry_after_seconds


class InsufficientCapacity(CloudError):
    """None of the offerings asked for can be had now: give the NodeClaim up, and plan again without them."""

    def __init__(
        self,
        message: str,
        *,
        code: str = "",
        reason: Reason = NO_REASON,
        sold_out: tuple[tuple[str, str, str], ...] = (),
    ) -> None:
        super().__init__(message, code=code, reason=reason)
        self.sold_out = sold_out
        """(instance type, zone, capacity type) of each pool that said no, and of each that would say so too."""


class NodeClassNotReady(CloudError):
    """The node class cannot launch anything: give the NodeClaim up until that is mended."""


class InstanceNotFound(CloudError):
    """The instance does not exist (any more): what was to be done to it is done."""


class InstanceUnknown(InstanceNotFound):
    """The cloud does not know the instance: gone for long, or so young that not all of the cloud has heard of it."""


class Throttled(CloudError):
    """Too many calls: ask again later, not sooner."""


class Denied(CloudError):
    """Not permitted: a person has to change a policy; asking again soon is no use."""


class LaunchRefused(CloudError):
    """The request itself is wrong for a reason that another offering may not share; retried with back-off."""


class Unreachable(CloudError):
    """No answer: it may or may not have been done; ask again with the same token."""
