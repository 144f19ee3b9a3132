"""The interruption queue: SQS, read by long poll.

A message that was received is hidden for a while; unless it is deleted it comes again. Not here: what messages say
(`messages`), and when one is done with (`runtime.interruptions`).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from daiku.cloud import errors as cloud_errors
from daiku.cloud.aws import errors
from daiku.cloud.aws.answers import parts
from daiku.cloud.aws.session import Session

MESSAGES_MAX: Final = 10
"""Of one answer; SQS gives no more."""
WAIT_SECONDS: Final = 20
"""The longest poll that SQS has."""
HIDDEN_SECONDS: Final = 20
"""How long nobody else gets a message that was received."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Received:
    """One message."""

    message_id: str
    receipt: str
    """By which it is deleted."""
    body: str | None
    """None: it came without one."""


@dataclass(slots=True)
class Queue:
    """One queue. One thread uses it."""

    session: Session
    name: str
    _url: str = ""

    def receive(self) -> Sequence[Received]:
        """Messages, as soon as there are any; nothing after WAIT_SECONDS.

        Raises:
            CloudError: The queue does not exist, is not for us, or does not answer.
        """
        if not self._url:
            found = self.session.call("sqs", "get_queue_url", QueueName=self.name)
            self._url = str(found["QueueUrl"])
        try:
            answer = self.session.call(
                "sqs",
                "receive_message",
                QueueUrl=self._url,
                MaxNumberOfMessages=MESSAGES_MAX,
                VisibilityTimeout=HIDDEN_SECONDS,
                WaitTimeSeconds=WAIT_SECONDS,
            )
        except errors.ResourceNotFound:
            # It may be made again, under another URL.
            self._url = ""
            raise
        return [
            Received(
                message_id=str(m.get("MessageId", "")),
                receipt=str(m["ReceiptHandle"]),
                body=m.get("Body"),
            )
            for m in parts(answer, "Messages")
        ]

    def delete(self, messages: Sequence[Received]) -> None:
        """Have messages not come again.

        Raises:
            CloudError: Some will come again.
        """
        entries = [{"Id": str(n), "ReceiptHandle": m.receipt} for n, m in enumerate(messages)]
        answer = self.session.call(
            "sqs", "delete_message_batch", QueueUrl=self._url, Entries=entries
        )
        if failed := parts(answer, "Failed"):
            raise cloud_errors.Unreachable(
                f"sqs delete_message_batch: {len(failed)} of {len(entries)} messages were not deleted, "
                f"first {failed[0].get('Code')}: {failed[0].get('Message')}; they come again"
            )
