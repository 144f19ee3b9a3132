"""Do the pods that go to nodes which are there fit them, all together?

Source: kube-scheduler, noderesources, nodeaffinity and tainttoleration.
"""

from collections.abc import Iterator, Mapping, Sequence

from daiku.commands import CreateNodeClaim
from daiku.model import labels, resources
from daiku.model.pod import Pod
from daiku.model.requirements import Requirement, Requirements
from daiku.scheduling.audit import ground, suitability
from daiku.scheduling.audit.violation import Violation
from daiku.state.snapshot import Snapshot
from daiku.state.statenode import StateNode


def check(
    placements: Mapping[str, str], creations: Sequence[CreateNodeClaim], snapshot: Snapshot
) -> Iterator[Violation]:
    """What is wrong with placements on nodes that are there, or whose NodeClaims are."""
    created = frozenset(c.node_claim.meta.name for c in creations)
    pods = {pod.meta.key: pod for pod in ground.placeable(snapshot)}
    coming: dict[str, list[Pod]] = {}
    for key, target in sorted(placements.items()):
        if key in pods and target not in created:
            coming.setdefault(target, []).append(pods[key])
    for target, those in coming.items():
        state_node = snapshot.by_name.get(target)
        if state_node is None:
            for pod in those:
                yield _violation("Node", pod, target, f"there is no node {target}")
            continue
        if state_node.provider_id:
            yield from _room(state_node, those)
        if state_node.claim is None or state_node.is_registered:
            sure = Requirements.from_labels(state_node.labels)
            sure &= Requirements.of(Requirement.parse(labels.NODE_NAME, "In", (state_node.name,)))
            for pod in those:
                for rule, message in suitability.problems(pod, state_node.taints, sure):
                    yield _violation(rule, pod, target, f"node {target}: {message}")


def _room(state_node: StateNode, coming: Sequence[Pod]) -> Iterator[Violation]:
    room, asked = state_node.allocatable, state_node.used()
    for pod in coming:
        asked = resources.add(asked, pod.requests)
        short = [r for r, a in pod.requests.items() if a > 0 and asked[r] > room.get(r, 0)]
        for resource in short[:1]:
            yield Violation(
                command=None,
                rule="Resources",
                node=state_node.name,
                pod=pod.meta.key,
                found=asked[resource],
                allowed=room.get(resource, 0),
                message=f"pod {pod.meta.key} has no room on {state_node.name}: with it {asked[resource]} of "
                f"{resource} are asked for, of {room.get(resource, 0)}",
            )


def _violation(rule: str, pod: Pod, node: str, message: str) -> Violation:
    return Violation(
        command=None,
        rule=rule,
        node=node,
        pod=pod.meta.key,
        message=message if pod.meta.key in message else f"pod {pod.meta.key}: {message}",
    )
