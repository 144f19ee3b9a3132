"""Deployments, as far as a surge reads them: how many replicas, who says so, and whether a rollout is under way."""

from dataclasses import dataclass
from datetime import timedelta

from daiku.model.meta import Meta


@dataclass(frozen=True, slots=True, kw_only=True)
class Deployment:
    """A Deployment. Of its annotations only Daiku's own are kept."""

    meta: Meta
    replicas: int = 1
    """`spec.replicas`."""
    min_ready: timedelta = timedelta(0)
    """`spec.minReadySeconds`: how long a pod must be ready to count as available."""
    is_settled: bool = True
    """Its controller has seen the newest template, and every pod is of it."""
    scaled_by: tuple[str, ...] = ()
    """Field managers that own `spec.replicas`, in order."""
