"""Traps in what runs: requests, replicas, PodDisruptionBudgets, preferences."""

from collections import Counter
from collections.abc import Iterator
from typing import Final

from daiku.cli.doctoring.evidence import Evidence, Json, pods_of, section
from daiku.cli.doctoring.finding import Check, Finding, Severity, finding
from daiku.model import labels, resources, selectors, units
from daiku.model.pod import Pod
from daiku.model.requirements import Requirements

SURGE: Final = "daiku.dev/surge"
ALIKE_LEAST: Final = 5
"""Workloads with the same round requests from which on it looks like a template that nobody filled in."""
NAMED_MOST: Final = 10


def without_requests(evidence: Evidence) -> Iterator[Finding]:
    """Pods that ask for no CPU or no memory."""
    found = [
        str(each)
        for each, pods in evidence.by_workload.items()
        if any(
            not pod.requests.get(resources.CPU) or not pod.requests.get(resources.MEMORY)
            for pod in pods
        )
    ]
    if found:
        yield finding(
            "pods-without-requests",
            Severity.WARNING,
            found,
            f"{units.counted(len(found), 'workload')} with pods that request no CPU or no memory: nodes are made as if "
            "these took nothing, and get crowded",
            "set resources.requests for cpu and memory, from what they use",
        )


def identical_requests(evidence: Evidence) -> Iterator[Finding]:
    """Many workloads with the very same round requests."""
    asked = {
        each: (pods[0].requests.get(resources.CPU, 0), pods[0].requests.get(resources.MEMORY, 0))
        for each, pods in evidence.by_workload.items()
    }
    for (cpu, memory), count in sorted(Counter(asked.values()).items()):
        is_round = cpu and memory and cpu % 250 == 0 and memory % 2**27 == 0
        if is_round and count >= max(ALIKE_LEAST, len(asked) // 3):
            yield finding(
                "identical-requests",
                Severity.ADVICE,
                [str(each) for each, own in asked.items() if own == (cpu, memory)],
                f"{count} of {len(asked)} workloads request exactly {cpu}m CPU and {memory // 2**20} MiB, as "
                "templates do: what is requested and not used is paid for",
                "compare with what they use (kubectl top pods) and set requests for each",
            )


def single_replicas(evidence: Evidence) -> Iterator[Finding]:
    """Deployments of one pod that a move would stop."""
    found = [
        str(each)
        for each, pods in evidence.by_workload.items()
        if each.kind == "Deployment"
        and len(pods) == 1
        and pods[0].node_name
        and not pods[0].meta.annotations.get(labels.DO_NOT_DISRUPT)
        and pods[0].meta.annotations.get(SURGE) != "true"
    ]
    if found:
        yield finding(
            "single-replica",
            Severity.ADVICE,
            found,
            f"{len(found)} Deployments have one pod: each move of it is a short outage",
            f'annotate the pod template {SURGE}: "true" so that the replacement is ready first, or run two replicas',
        )


def budgets_that_block(evidence: Evidence) -> Iterator[Finding]:
    """PodDisruptionBudgets that no eviction can ever pass."""
    found = [
        f"PodDisruptionBudget {each['metadata'].get('namespace', '')}/{each['metadata']['name']}"
        for each in evidence.raw("PodDisruptionBudget")
        if _blocks(section(each, "spec"), section(each, "status"))
    ]
    if found:
        yield finding(
            "pdb-blocks-for-ever",
            Severity.WARNING,
            found,
            f"{len(found)} PodDisruptionBudgets allow no eviction even when every pod is healthy: their nodes are "
            "never consolidated, and drains wait for terminationGracePeriod",
            "allow at least one: maxUnavailable: 1, or fewer minAvailable than replicas",
        )


def budgets_that_overlap(evidence: Evidence) -> Iterator[Finding]:
    """Pods of more than one PodDisruptionBudget, which the eviction API refuses to evict."""
    found: dict[tuple[str, ...], list[str]] = {}
    for pod in evidence.pods:
        own = tuple(
            budget.meta.key
            for budget in evidence.budgets
            if budget.meta.namespace == pod.meta.namespace
            and selectors.selects(budget.selector, pod.meta.labels)
        )
        if len(own) > 1:
            found.setdefault(own, []).append(pod.meta.key)
    for own, pods in sorted(found.items()):
        yield finding(
            "pdb-overlap",
            Severity.ERROR,
            [f"PodDisruptionBudget {key}" for key in own],
            f"{len(pods)} pods, such as {pods[0]}, are of {len(own)} PodDisruptionBudgets: the API server refuses "
            "to evict a pod of more than one",
            "make their selectors disjoint, or keep one",
        )


def preferences(evidence: Evidence) -> Iterator[Finding]:
    """Preferences that spread pods over more nodes than they need."""
    found = [
        str(each)
        for each, pods in evidence.by_workload.items()
        if len(pods) > 1 and _prefers_own_host(pods[0])
    ]
    if found:
        yield finding(
            "preference-blocks-consolidation",
            Severity.ADVICE,
            found,
            f"{len(found)} workloads prefer a node for each pod (preferred anti-affinity, or a ScheduleAnyway "
            f"spread, over {labels.HOSTNAME}): it is respected, and keeps nodes that could go",
            "spread over zones instead, or run the controller with PREFERENCE_POLICY=Ignore",
        )


def one_per_node(evidence: Evidence) -> Iterator[Finding]:
    """Required anti-affinity to itself: a node for each replica."""
    for each, pods in evidence.by_workload.items():
        is_alone = any(
            term.key == labels.HOSTNAME
            and term.selector is not None
            and not _labels_of(pods[0]).compatible(term.selector)
            for term in pods[0].pod_anti_affinity
        )
        if is_alone and len(pods) >= ALIKE_LEAST:
            yield finding(
                "one-pod-per-node",
                Severity.ADVICE,
                [str(each)],
                f"its {len(pods)} pods must not share a node: they need {len(pods)} nodes however small they are",
                f"a topology spread over {labels.ZONE}, or over {labels.HOSTNAME} with maxSkew 2 or more, costs "
                "fewer nodes",
            )


def _labels_of(pod: Pod) -> Requirements:
    return Requirements.from_labels(pod.meta.labels)


def _prefers_own_host(pod: Pod) -> bool:
    apart = [p.pods.key for p in pod.preferred_pod_anti_affinity if p.pods is not None]
    spread = [s.key for s in pod.spread if not s.hard]
    return labels.HOSTNAME in (*apart, *spread)


def _blocks(spec: Json, status: Json) -> bool:
    """Whether no pod of a set of this size may ever go."""
    expected = int(status.get("expectedPods") or 0)
    if not expected:
        return False
    if (most := spec.get("maxUnavailable")) is not None:
        return pods_of(most, expected) == 0
    return pods_of(spec.get("minAvailable", 0), expected) >= expected


CHECKS: Final = (
    Check(name="pods-without-requests", looks_for="pods that request no CPU or memory", run=without_requests),
    Check(name="identical-requests", looks_for="the same round requests across workloads", run=identical_requests),
    Check(name="single-replica", looks_for="Deployments of one pod without surge", run=single_replicas),
    Check(name="pdb-blocks-for-ever", looks_for="PodDisruptionBudgets that allow nothing", run=budgets_that_block),
    Check(name="pdb-overlap", looks_for="pods of two PodDisruptionBudgets", run=budgets_that_overlap),
    Check(name="preference-blocks-consolidation", looks_for="preferences for a node each", run=preferences),
    Check(name="one-pod-per-node", looks_for="anti-affinity that needs a node per pod", run=one_per_node),
)  # fmt: skip
