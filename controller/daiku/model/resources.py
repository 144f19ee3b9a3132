"""Amounts of resources by name, and what a pod asks for.

cpu is in millicores, everything else in base units. A resource that is absent is zero.

Source: k8s.io/component-helpers resource.PodRequests: containers together, sidecars with them, init containers at their
highest, pod overhead on top; requests of the whole pod replace the sum.
"""

from collections.abc import Iterable, Mapping
from typing import Any, Final

from daiku.model import units

CPU: Final = "cpu"
MEMORY: Final = "memory"
PODS: Final = "pods"
EPHEMERAL_STORAGE: Final = "ephemeral-storage"
NODES: Final = "nodes"
"""Not a resource of Kubernetes: NodePool limits count nodes by it."""

SIZES: Final = {CPU: 1000, MEMORY: 2**32}
"""What counts as much as one cpu: a pod is as large as the larger of its shares, and large ones leave first."""

Amounts = Mapping[str, int]
"""Resource name -> amount."""


def parse(quantities: Mapping[str, str | float] | None) -> dict[str, int]:
    """Amounts from the wire.

    Raises:
        ValueError: One of them is not a quantity; the message names the resource.
    """
    amounts: dict[str, int] = {}
    for resource, quantity in (quantities or {}).items():
        try:
            cpu = resource == CPU
            amounts[resource] = (
                units.parse_cpu_millis(quantity) if cpu else units.parse_bytes_or_count(quantity)
            )
        except ValueError as problem:
            raise ValueError(f"{resource}: {problem}") from None
    return amounts


def add(*amounts: Amounts) -> dict[str, int]:
    """The sum, resource by resource."""
    total: dict[str, int] = {}
    for each in amounts:
        for resource, amount in each.items():
            total[resource] = total.get(resource, 0) + amount
    return total


def subtract(amounts: Amounts, less: Amounts) -> dict[str, int]:
    """What is left of `amounts`; negative where more was taken than there was."""
    left = dict(amounts)
    for resource, amount in less.items():
        left[resource] = left.get(resource, 0) - amount
    return left


def highest(*amounts: Amounts) -> dict[str, int]:
    """The larger amount, resource by resource."""
    most: dict[str, int] = {}
    for each in amounts:
        for resource, amount in each.items():
            most[resource] = max(most.get(resource, amount), amount)
    return most


def fits(requests: Amounts, room: Amounts) -> bool:
    """Whether `room` covers `requests`; a resource that nobody asks for never blocks."""
    return all(
        amount <= room.get(resource, 0) for resource, amount in requests.items() if amount > 0
    )


def exceeded(usage: Amounts, limits: Amounts) -> tuple[str, ...]:
    """Resources of which more is used than `limits` allows; equal is allowed."""
    return tuple(r for r in sorted(limits) if usage.get(r, 0) > limits[r])


def pod_requests(spec: Mapping[str, Any]) -> dict[str, int]:
    """What kube-scheduler counts for a pod with this `spec` (as on the wire), `pods`=1 included.

    A missing request is taken from its limit, as the API server does when it admits a pod; templates have not
    been through that.

    Raises:
        ValueError: A quantity cannot be read.
    """
    running = add(*(_container_requests(c) for c in _list(spec, "containers")))
    starting: dict[str, int] = {}
    sidecars: dict[str, int] = {}
    for container in _list(spec, "initContainers"):
        requests = _container_requests(container)
        if container.get("restartPolicy") == "Always":
            sidecars = add(sidecars, requests)
            starting = highest(starting, sidecars)
        else:
            starting = highest(starting, add(sidecars, requests))
    total = highest(add(running, sidecars), starting)
    total |= _whole_pod_requests(spec.get("resources") or {}, total)
    total = add(total, parse(spec.get("overhead")))
    return {r: amount for r, amount in total.items() if amount > 0} | {PODS: 1}


def _container_requests(container: Mapping[str, Any]) -> dict[str, int]:
    wanted: Mapping[str, Any] = container.get("resources") or {}
    return parse(wanted.get("limits")) | parse(wanted.get("requests"))


def _whole_pod_requests(wanted: Mapping[str, Any], containers: Amounts) -> dict[str, int]:
    """Requests at the level of the pod; only these resources may be asked for there."""
    limits = {r: a for r, a in parse(wanted.get("limits")).items() if r not in containers}
    asked = limits | parse(wanted.get("requests"))
    return {r: a for r, a in asked.items() if r in {CPU, MEMORY} or r.startswith("hugepages-")}


def _list(spec: Mapping[str, Any], field: str) -> Iterable[Mapping[str, Any]]:
    return spec.get(field) or ()
