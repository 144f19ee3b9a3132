"""A DaemonSet: pods that every matching node will carry, so that a new node is planned with room for them."""

from dataclasses import dataclass

from daiku.model.meta import Meta
from daiku.model.pod import Pod


@dataclass(frozen=True, slots=True, kw_only=True)
class DaemonSet:
    """A DaemonSet and the pod it would make."""

    meta: Meta
    template: Pod
    """The pod of its template; unbound, without a name of its own."""
