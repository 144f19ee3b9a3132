"""Can every pod reach its volumes where the plan puts it, and does the node attach that many?

Source: kube-scheduler, volumebinding, volumezone and nodevolumelimits.
"""

from collections.abc import Iterator

from daiku.model.pod import Pod
from daiku.scheduling.audit import suitability
from daiku.scheduling.audit.ground import Ground, Place
from daiku.scheduling.audit.violation import Violation
from daiku.state.snapshot import Snapshot


def check(ground: Ground, snapshot: Snapshot) -> Iterator[Violation]:
    """Pods away from their volumes, and nodes with more volumes than they take."""
    for place in ground.places:
        there = list(place.there)
        for pod in place.coming:
            if pod.volume_claims:
                reach = snapshot.volumes.reach(pod)
                if reach.problem:
                    yield _violation(place, pod, reach.problem)
                elif not any(
                    suitability.is_sure(asked, place.becomes) for asked in reach.alternatives
                ):
                    yield _violation(place, pod, "it is not sure to reach the pod's volumes")
                for over in snapshot.volumes.over_limits(place.name, there, pod):
                    message = f"{over.wanted} volumes of {over.driver}, and it takes {over.limit}"
                    yield _violation(place, pod, message, found=over.wanted, allowed=over.limit)
            there.append(pod)


def _violation(
    place: Place, pod: Pod, message: str, *, found: int | None = None, allowed: int | None = None
) -> Violation:
    return Violation(
        command=place.command,
        rule="Volumes",
        node=place.name,
        pod=pod.meta.key,
        found=found,
        allowed=allowed,
        message=f"pod {pod.meta.key} on {place.name}: {message}",
    )
