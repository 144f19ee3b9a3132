"""What a new machine is told at its first boot, so that it joins the cluster as the right node.

Each family has a language of its own, and its own way to merge what the user says with what must be said. Custom: the
user's text alone. Pure: text in, text out; golden files in the tests.
"""

import base64
from collections.abc import Callable, Mapping
from typing import Final

from daiku import reasons
from daiku.cloud import errors
from daiku.cloud.aws.user_data import al2, al2023, bottlerocket, windows
from daiku.cloud.aws.user_data.boot import Boot, Malformed, node_labels
from daiku.reason import Reason

__all__ = ["BYTES_MAX", "Boot", "Malformed", "node_labels", "problem", "render", "text"]

BYTES_MAX: Final = 16384
"""EC2 takes no more, decoded."""

RENDERERS: Final[Mapping[str, Callable[[Boot], str]]] = {
    "AL2": al2.render,
    "AL2023": al2023.render,
    "Bottlerocket": bottlerocket.render,
    "Custom": lambda boot: boot.user_data,
    "Windows2019": windows.render,
    "Windows2022": windows.render,
    "Windows2025": windows.render,
}
CHECKS: Final[Mapping[str, Callable[[str], object]]] = {
    "AL2": al2.parse,
    "AL2023": al2023.parse,
    "Bottlerocket": bottlerocket.parse,
    "Windows2019": windows.parse,
    "Windows2022": windows.parse,
    "Windows2025": windows.parse,
}
"""Reads the user's text, and raises Malformed where it cannot be merged."""


def render(boot: Boot) -> str:
    """User data in base64, as EC2 takes it.

    Raises:
        LaunchRefused: It is too long, or the user's part of it cannot be merged.
    """
    try:
        raw = text(boot).encode()
    except Malformed as error:
        raise errors.LaunchRefused(
            f"spec.userData: {error}", code="InvalidUserData.Malformed"
        ) from None
    if len(raw) > BYTES_MAX:
        raise errors.LaunchRefused(
            f"user data has {len(raw)} bytes; EC2 takes {BYTES_MAX}: shorten spec.userData",
            code="InvalidUserData.Malformed",
        )
    return base64.b64encode(raw).decode()


def text(boot: Boot) -> str:
    """User data as the machine reads it.

    Raises:
        Malformed: The user's part cannot be merged.
    """
    return RENDERERS[boot.family](boot)


def problem(family: str, users: str) -> tuple[Reason, str] | None:
    """(reason, sentence) when no machine of this family can be told `users`."""
    if len(users.encode()) > BYTES_MAX:
        return (
            reasons.USER_DATA_TOO_LONG,
            f"spec.userData has {len(users.encode())} bytes; EC2 takes {BYTES_MAX} with ours: shorten it",
        )
    try:
        CHECKS.get(family, str)(users)
    except Malformed as error:
        return reasons.INVALID_USER_DATA, f"spec.userData: {error}"
    return None
