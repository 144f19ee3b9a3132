"""Does every pod get the ports of its node that it asks for?

Source: kube-scheduler, nodeports: a port is taken for one address and protocol; 0.0.0.0 stands for every address.
"""

from collections.abc import Iterator, Sequence
from typing import Final

from daiku.model.pod import Pod
from daiku.scheduling.audit import suitability
from daiku.scheduling.audit.ground import Ground, Place
from daiku.scheduling.audit.violation import Violation
from daiku.state.snapshot import Snapshot

_EVERY: Final = "0.0.0.0"  # noqa: S104 - compared, not bound


def check(ground: Ground, snapshot: Snapshot) -> Iterator[Violation]:
    """Pods of which two ask for one port of a node; DaemonSets that will run on a new one are reckoned with."""
    daemons = [d.template for d in snapshot.daemon_sets if d.template.host_ports]
    for place in ground.places:
        if any(pod.host_ports for pod in place.coming):
            resident = [pod for pod in place.there if pod.host_ports]
            if place.command is not None:
                resident += [d for d in daemons if _runs(d, place)]
            yield from _check_place(place, resident)


def _runs(daemon: Pod, place: Place) -> bool:
    return not any(suitability.problems(daemon, place.taints, place.becomes))


def _check_place(place: Place, resident: Sequence[Pod]) -> Iterator[Violation]:
    taken: dict[tuple[int, str], list[tuple[str, Pod]]] = {}
    for order, pod in enumerate((*resident, *place.coming)):
        for port in pod.host_ports:
            others = taken.setdefault((port.port, port.protocol), [])
            clash = next((o for ip, o in others if o is not pod and _overlap(ip, port.ip)), None)
            others.append((port.ip, pod))
            if clash is not None and order >= len(resident):
                yield Violation(
                    command=place.command,
                    rule="HostPort",
                    node=place.name,
                    pod=pod.meta.key,
                    found=port.port,
                    message=f"pod {pod.meta.key} asks for port {port.ip}:{port.port}/{port.protocol} of "
                    f"{place.name}, which {clash.meta.key} takes",
                )


def _overlap(one: str, other: str) -> bool:
    return one == other or _EVERY in {one, other}
