"""MIME messages, in which cloud-init takes several documents at once: the user's taken apart, ours put together."""

import email
import email.message
import email.policy
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Final, cast

from daiku.cloud.aws.user_data.boot import Malformed

BOUNDARY: Final = "//"
SHELL: Final = 'text/x-shellscript; charset="us-ascii"'


@dataclass(frozen=True, slots=True)
class Part:
    """One document."""

    kind: str
    """Its Content-Type with parameters."""
    content: str


def is_mime(text: str) -> bool:
    """Whether the text begins as a MIME message does."""
    return text.lstrip().lower().startswith(("mime-version:", "content-type:"))


def parse(text: str) -> list[Part]:
    """The documents of a message, in order.

    Raises:
        Malformed: It is no message that a machine could read.
    """
    message = email.message_from_string(text.lstrip(), policy=email.policy.default)
    for each in message.walk():
        if each.defects:
            defect = each.defects[0]
            raise Malformed(
                f"its MIME message cannot be read ({type(defect).__name__}: {defect}): begin each part with the "
                "boundary that its Content-Type names, and end the message with it"
            )
    leaves = [each for each in message.walk() if not each.is_multipart()]
    return [Part(str(each.get("Content-Type", "text/plain")), _payload(each)) for each in leaves]


def compose(parts: Iterable[Part]) -> str:
    """One message of these documents."""
    lines = ["MIME-Version: 1.0", f'Content-Type: multipart/mixed; boundary="{BOUNDARY}"', ""]
    for each in parts:
        content = each.content.rstrip("\n")
        lines += [f"--{BOUNDARY}", f"Content-Type: {each.kind}", "", content, ""]
    return "\n".join([*lines, f"--{BOUNDARY}--", ""])


def _payload(leaf: email.message.Message) -> str:
    content = cast("Any", leaf.get_payload(decode=True))
    return content.decode("utf-8", errors="replace") if isinstance(content, bytes) else ""
