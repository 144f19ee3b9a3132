"""A surge under way, as it is written on its Deployment.

The problem: between one replica more and one replica less minutes pass, in which the controller may die. The idea: what
is being done is written on the Deployment before it is done, with a label by which it is found again; whoever leads
next reads it and goes on, or takes it back.

    begun → one replica more → scaled → the new pod is ready → returning → one replica less → nothing is left of it
"""

import json
from dataclasses import asdict, dataclass
from datetime import datetime, timedelta
from typing import Any, Final, Literal, cast, get_args

from daiku.model import labels
from daiku.model.deployment import Deployment

Phase = Literal["begun", "scaled", "returning"]
STOPPED_FOR: Final = timedelta(hours=1)
"""How long a Deployment whose surge did not work is left alone."""


@dataclass(frozen=True, slots=True, kw_only=True)
class State:
    """What is written in the annotation."""

    pod: str
    """Name of the pod that is to go."""
    uid: str
    node: str
    cost: str
    """What its `pod-deletion-cost` was; empty when it had none."""
    before: int
    """Replicas without the surge."""
    phase: Phase
    since: str
    """When the phase began, in ISO format."""

    @property
    def during(self) -> int:
        """Replicas with the surge."""
        return self.before + 1

    @property
    def began(self) -> datetime:
        """`since` as a time."""
        return datetime.fromisoformat(self.since)


def write(state: State) -> str:
    """The annotation's value."""
    return json.dumps(asdict(state), sort_keys=True, separators=(",", ":"))


def read(deployment: Deployment) -> State | None:
    """What is written on `deployment`; None when that is nothing, or cannot be read."""
    try:
        found: object = json.loads(deployment.meta.annotations.get(labels.SURGE_STATE, ""))
        known = cast("dict[str, Any]", found) if isinstance(found, dict) else {}
        texts = [known.get(key) for key in ("pod", "uid", "node", "cost", "phase", "since")]
        if not all(isinstance(text, str) for text in texts):
            return None
        if type(known.get("before")) is not int or known["phase"] not in get_args(Phase):
            return None
        state = State(**known)
        is_whole = state.began.tzinfo is not None
    except (ValueError, TypeError):
        return None
    return state if is_whole else None


def stopped(why: str, now: datetime) -> str:
    """What is written on a Deployment whose surge did not work."""
    return f"{now.isoformat(timespec='seconds')} {why}"


def why_stopped(deployment: Deployment, now: datetime) -> str:
    """Why its last surge did not work, if that was lately; empty when there is nothing to say."""
    at, _, why = deployment.meta.annotations.get(labels.SURGE_STOPPED, "").partition(" ")
    try:
        until = datetime.fromisoformat(at) + STOPPED_FOR
    except ValueError:
        return ""
    return why if until.tzinfo is not None and until > now else ""
