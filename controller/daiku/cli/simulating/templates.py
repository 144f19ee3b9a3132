"""Pods of a scenario: from a template or a few quantities to the `Pod` that the core reads.

They are decoded by the same code as pods of the API server. Equal ones are one value, so that the simulated scheduler
asks of each only once which nodes let it in.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, cast

import msgspec

from daiku.api import kinds
from daiku.cli.simulating import wire
from daiku.model import resources
from daiku.model.meta import Owner
from daiku.model.pod import Pod


class Templates:
    """Templates that were made, by what they were made from."""

    def __init__(self) -> None:
        self._known: dict[tuple[object, ...], Pod] = {}

    def plain(
        self, workload: str, cpu: str, memory: str, labels: Mapping[str, str], *, owner: str
    ) -> Pod:
        """A pod that asks for nothing but cpu and memory.

        Raises:
            ValueError: A quantity is none.
        """
        key = (workload, cpu, memory, tuple(sorted(labels.items())), owner)
        if key not in self._known:
            requests = {
                r: amount
                for r, amount in resources.parse({"cpu": cpu, "memory": memory}).items()
                if amount
            }
            base = of_template(
                wire.Template(spec=msgspec.Raw(b'{"containers":[]}')),
                workload,
                "default",
                labels,
                owner,
            )
            self._known[key] = replace(base, requests={**requests, resources.PODS: 1})
        return self._known[key]


def of_template(
    template: wire.Template,
    workload: str,
    namespace: str,
    labels: Mapping[str, str],
    owner: str,
) -> Pod:
    """The pod of a template.

    Args:
        template: The template.
        workload: Name of the workload.
        namespace: Its namespace.
        labels: More labels; without any, `app` is the workload's name.
        owner: Kind of what makes it: ReplicaSet or Job.

    Raises:
        ValueError: It cannot be read.
    """
    given = template.metadata
    own = {**((given.labels if given else None) or {}), **labels} or {"app": workload}
    content: dict[str, Any] = {
        "metadata": {
            "name": workload,
            "namespace": namespace,
            "labels": own,
            "annotations": (given.annotations if given else None) or {},
        },
        "spec": template.spec,
    }
    try:
        pod = cast("Pod", kinds.PODS.decode(msgspec.json.encode(content)))
    except (msgspec.DecodeError, ValueError, TypeError, KeyError) as error:
        raise ValueError(f"its pod template cannot be read: {error}") from None
    made_by = Owner(api_version="apps/v1", kind=owner, name=workload, uid=workload, controller=True)
    return replace(pod, meta=replace(pod.meta, owners=(made_by,)))


def sized(pod: Pod, cpus: Sequence[str], memories: Sequence[str]) -> list[Pod]:
    """One pod for each pair of the quantities; without any, the pod as it is.

    Raises:
        ValueError: A quantity is none.
    """
    found: list[Pod] = []
    for cpu in cpus or [""]:
        for memory in memories or [""]:
            asked = {"cpu": cpu} if cpu else {}
            asked |= {"memory": memory} if memory else {}
            requests = {**pod.requests, **resources.parse(asked)}
            found.append(replace(pod, requests={r: a for r, a in requests.items() if a}))
    return found
