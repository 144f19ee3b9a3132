"""What the API server can answer besides yes, named by what is done next."""

from typing import Final

from daiku.api import decode


class KubeError(Exception):
    """The API server did not do what was asked."""

    def __init__(self, message: str, *, retry_after_seconds: float | None = None) -> None:
        super().__init__(message)
        # How long to wait, when the server said so.
        self.retry_after_seconds = retry_after_seconds


class NotFound(KubeError):
    """There is no such object (any more)."""


class AlreadyExists(KubeError):
    """There is an object of that name."""


class Conflict(KubeError):
    """The object changed since it was read, or is another one: read it again and decide anew."""


class Expired(KubeError):
    """The version asked for is forgotten: list again."""


class Rejected(KubeError):
    """The object is not one that the server takes: a bug here or a CRD that differs; asking again is no use."""


class Denied(KubeError):
    """Not permitted: a person has to change a role."""


class TooMany(KubeError):
    """Too many requests, or a PodDisruptionBudget that allows no disruption: ask again later."""


class Unreachable(KubeError):
    """No answer, or one that says nothing about the request: it may or may not have been done."""


BY_CODE: Final[dict[int, type[KubeError]]] = {
    400: Rejected,
    401: Denied,
    403: Denied,
    404: NotFound,
    405: Rejected,
    409: Conflict,
    410: Expired,
    413: Rejected,
    415: Rejected,
    422: Rejected,
    429: TooMany,
}
"""HTTP status code -> what is done next; any other is Unreachable."""


def refusal(asked: str, code: int, content: bytes, retry_after: str | None) -> KubeError:
    """The error for an answer that is not 2xx; `asked` is the request in a few words."""
    found = decode.status(content)
    kind = BY_CODE.get(code, Unreachable)
    if found.reason == "AlreadyExists":
        kind = AlreadyExists
    said = found.message or content[:200].decode("utf-8", errors="replace").strip() or "no reason"
    return kind(
        f"{asked}: the API server answered {code}: {said}",
        retry_after_seconds=_seconds(retry_after),
    )


def _seconds(text: str | None) -> float | None:
    return float(text) if text is not None and text.isdecimal() else None
