"""Evictions: asking a pod to leave, which its PodDisruptionBudgets may refuse."""

from typing import Final

from daiku import commands
from daiku.api import encode, kinds
from daiku.kube import errors
from daiku.kube.client import Client
from daiku.telemetry import metrics

RETRY_SECONDS: Final = 5.0
"""When to ask again after a refusal that names no time."""


def evict(client: Client, command: commands.Evict) -> bool:
    """Ask for a pod's eviction; whether it was accepted, and not the pod gone or another one by now.

    Raises:
        TooMany: A PodDisruptionBudget allows no disruption now.
        KubeError: Anything else.
    """
    path = f"{kinds.PODS.object_path(command.name, command.namespace)}/eviction"
    code = "200"
    try:
        client.create(path, encode.eviction(command))
    except errors.NotFound:
        code = "404"
    except errors.Conflict:
        code = "409"
    except errors.TooMany as error:
        code = "429"
        error.retry_after_seconds = error.retry_after_seconds or RETRY_SECONDS
        raise
    except errors.KubeError:
        code = "500"
        raise
    finally:
        metrics.PODS_EVICTION_REQUESTS.labels(code).inc()
    return code == "200"


def delete(client: Client, command: commands.DeletePod) -> None:
    """Delete a pod whatever its PodDisruptionBudgets say. Returns too when it is gone or another one by now."""
    path = kinds.PODS.object_path(command.name, command.namespace)
    try:
        client.delete(path, encode.deletion(command.uid, command.grace_seconds))
    except (errors.NotFound, errors.Conflict):
        return
