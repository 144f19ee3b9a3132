"""What AWS answers when it will not: a code, a message, and the HTTP status that goes with it."""

from typing import Any


class AwsError(Exception):
    """An error that the client of the stand-in AWS sees, in the form its protocol has for one."""

    code: str
    """Error code of the API reference, such as "InvalidInstanceID.NotFound"."""
    message: str
    """The sentence a person reads."""
    status: int
    """HTTP status."""
    fields: dict[str, Any]
    """Members of the error beside its message, where its protocol has them (REST-JSON)."""

    retry_after_seconds: float | None
    """Value of the header Retry-After, None for none."""

    def __init__(
        self,
        code: str,
        message: str,
        *,
        status: int = 400,
        fields: dict[str, Any] | None = None,
        retry_after_seconds: float | None = None,
    ) -> None:
        super().__init__(f"{code}: {message}")
        self.code = code
        self.message = message
        self.status = status
        self.fields = fields or {}
        self.retry_after_seconds = retry_after_seconds


class NotOurs(Exception):
    """Raised by an operation that leaves this very call to moto."""
