"""When to stop waiting for more pods.

Pods of a rollout arrive over seconds. Planning the first alone would make nodes that the rest does not need, so a
batch stays open while pods keep coming, but not for longer than its first pod may be asked to wait.
"""

from collections.abc import Sequence
from datetime import datetime

from daiku.settings import Settings


def closes_at(arrivals: Sequence[datetime], settings: Settings) -> datetime | None:
    """When the batch of pods that arrived at these times is to be planned; None when there is none."""
    if not arrivals:
        return None
    return min(max(arrivals) + settings.batch_idle, min(arrivals) + settings.batch_max)
