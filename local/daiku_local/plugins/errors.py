"""What a stand-in plugin says when it cannot do what the engine asks."""

from dataclasses import dataclass
from typing import Any


class ProviderError(Exception):
    """A request cannot be served; the message is for the person who ran `pulumi`."""


class NotInitializedError(ProviderError):
    """The resource exists now, but is not what was asked for yet.

    The engine keeps such a resource in its state, so that the next `up` continues with it and
    `destroy` removes it.
    """

    def __init__(self, reason: str, *, identifier: str, outputs: dict[str, Any]) -> None:
        """Say why, and what exists.

        Args:
            reason: One sentence for the person.
            identifier: The id of the resource that exists.
            outputs: Its properties as far as they are known.
        """
        super().__init__(reason)
        self.identifier = identifier
        self.outputs = outputs


@dataclass(frozen=True, slots=True, kw_only=True)
class Failure:
    """One input that cannot be accepted."""

    path: str
    """The property, such as `vpcConfig.subnetIds`."""
    reason: str
    """What is wrong with it and what would be right."""
