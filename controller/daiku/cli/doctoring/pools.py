"""Traps in NodePools, node classes, nodes, and in what else manages nodes."""

from collections import Counter
from collections.abc import Iterator
from typing import Final

from daiku import reasons
from daiku.cli.doctoring.evidence import Evidence, Json, pods_of, section
from daiku.cli.doctoring.finding import Check, Finding, Severity, finding
from daiku.model import condition, labels, resources, taints, units
from daiku.model.pod import Pod
from daiku.scheduling import price_guard

HUGE_SHARE: Final = 0.3
HUGE_CORES: Final = 32
"""Cores up to which a node is not huge, however small its cluster is."""
HUGE_NODES_LEAST: Final = 4
"""With fewer nodes than this, each is a large share of the cluster."""
HEADROOM: Final = 0.9
"""Share of a limit from which on a NodePool is nearly at its end."""
FOREIGN: Final = ("cluster-autoscaler", "karpenter")
"""Names of Deployments that manage nodes too."""


def not_ready(evidence: Evidence) -> Iterator[Finding]:
    """NodePools and node classes that nothing can be launched from."""
    for pool in evidence.node_pools:
        ready = condition.find(pool.conditions, "Ready")
        if pool.invalid or (ready is not None and ready.status == "False"):
            why = pool.invalid or (ready.message if ready is not None else "")
            yield finding(
                "not-ready",
                Severity.ERROR,
                [f"NodePool {pool.meta.name}"],
                f"no node is launched for it: {why or 'it says no reason'}",
                f"{reasons.remedy(reasons.NODE_POOL_NOT_READY)}; see `kubectl describe nodepool`",
            )
    for each in evidence.node_classes:
        if not each.ready:
            yield finding(
                "not-ready",
                Severity.ERROR,
                [f"{each.ref.kind} {each.meta.name}"],
                f"no node is launched with it: {each.why_not_ready or 'nobody has looked at it yet'}",
                f"{reasons.remedy(reasons.NODE_CLASS_NOT_READY)}; see `kubectl describe`",
            )


def limits(evidence: Evidence) -> Iterator[Finding]:
    """NodePools that are nearly at their limits."""
    for pool in evidence.node_pools:
        used = pool.status_resources or {}
        for resource, limit in sorted((pool.limits or {}).items()):
            have = used.get(resource, 0)
            if limit and have >= HEADROOM * limit:
                yield finding(
                    "limit-without-headroom",
                    Severity.WARNING,
                    [f"NodePool {pool.meta.name}"],
                    f"{100 * have / limit:.0f} % of its limit of {units.format_quantity(resource, limit)} "
                    f"{resource} is used: the next pods, and replacements of nodes, may wait",
                    f"raise spec.limits.{resource}, or add a NodePool",
                )


def price_guards(evidence: Evidence) -> Iterator[Finding]:
    """What waits because every node that can be had is too dear, and annotations that say no factor."""
    last: dict[str, Json] = {}
    for event in sorted(evidence.raw("Event"), key=lambda e: str(e.get("lastTimestamp"))):
        about = section(event, "involvedObject")
        space = f"{about['namespace']}/" if about.get("namespace") else ""
        last[f"{about.get('kind')} {space}{about.get('name')}"] = event
    claims = Counter(claim.nodepool for claim in evidence.node_claims)
    waiting = [f"Pod {pod.meta.key}" for pod in evidence.pods if not pod.node_name]
    waiting += [
        f"NodePool {pool.meta.name}"
        for pool in evidence.node_pools
        if claims[pool.meta.name] < (pool.replicas or 0)
    ]
    held = [
        name
        for name in waiting
        if reasons.CAPACITY_UNAVAILABLE
        in f"{last.get(name, {}).get('reason')} {last.get(name, {}).get('message')}"
    ]
    if held:
        yield finding(
            "price-guard",
            Severity.WARNING,
            held,
            "all instance types that would do are sold out, and what can be had costs more than the price guard "
            "allows: no node is made until one is back; events say how much, and from when on more is paid",
            f"allow more instance types or zones, or raise {labels.PRICE_GUARD} of the NodePool",
        )
    for pool in evidence.node_pools:
        said = pool.meta.annotations.get(labels.PRICE_GUARD)
        if said is not None and price_guard.parse(said) is None:
            yield finding(
                "price-guard",
                Severity.WARNING,
                [f"NodePool {pool.meta.name}"],
                f"its annotation {labels.PRICE_GUARD} is {said!r}, which is no number of 1 or more: the setting "
                "PRICE_GUARD counts",
                "say a number of 1 or more, or take the annotation off",
            )


def rolling_updates(evidence: Evidence) -> Iterator[Finding]:
    """Limits that a rolling update would hit: its new pods come before the old ones go."""
    room = [
        (pool.limits[resources.CPU] - (pool.status_resources or {}).get(resources.CPU, 0))
        for pool in evidence.node_pools
        if pool.limits and resources.CPU in pool.limits
    ]
    if not room or any(not (pool.limits or {}).get(resources.CPU) for pool in evidence.node_pools):
        return
    free = max(room)
    running = {str(each): pods for each, pods in evidence.by_workload.items()}
    for each in evidence.raw("Deployment"):
        more = _surge(section(each, "spec"))
        key = f"{each['metadata'].get('namespace', '')}/{each['metadata']['name']}"
        own = running.get(f"Deployment {key}", [])
        needs = more * (own[0].requests.get(resources.CPU, 0) if own else 0)
        if needs > free:
            yield finding(
                "limit-without-headroom",
                Severity.WARNING,
                [f"Deployment {key}"],
                f"a rolling update brings {more} pods more at once, {needs / 1000:g} CPU; NodePools may grow by "
                f"{max(0, free) / 1000:g}",
                "lower maxSurge, or raise spec.limits.cpu",
            )


def huge_nodes(evidence: Evidence) -> Iterator[Finding]:
    """Nodes whose loss would be felt."""
    total = sum(node.allocatable.get(resources.CPU, 0) for node in evidence.nodes)
    if len(evidence.nodes) < HUGE_NODES_LEAST or not total:
        return
    for node in evidence.nodes:
        own = node.allocatable.get(resources.CPU, 0)
        share = own / total
        if share > HUGE_SHARE and own > HUGE_CORES * 1000:
            yield finding(
                "huge-node",
                Severity.WARNING,
                [f"Node {node.meta.name}"],
                f"it has {100 * share:.0f} % of all CPU: if it fails, so much of the cluster starts anew",
                f"limit sizes with a requirement, such as karpenter.k8s.aws/instance-cpu Lt {HUGE_CORES + 1}",
            )


def stateful_expiry(evidence: Evidence) -> Iterator[Finding]:
    """NodePools whose age limit ends stateful pods."""
    pool_of = {node.meta.name: node.meta.labels.get(labels.NODEPOOL, "") for node in evidence.nodes}
    held = Counter(
        pool_of.get(pod.node_name, "") for pod in evidence.pods if _owner(pod) == "StatefulSet"
    )
    for pool in evidence.node_pools:
        count = held.get(pool.meta.name, 0)
        if count and pool.template.expire_after is not None:
            days = pool.template.expire_after.total_seconds() / 86400
            yield finding(
                "expiry-of-stateful-pods",
                Severity.ADVICE,
                [f"NodePool {pool.meta.name}"],
                f"its nodes end after {days:g} days at whatever hour that is, and {count} pods of StatefulSets run "
                "on them",
                "expireAfter: Never for a pool of their own, and let drift replace nodes within budgets",
            )


def mixed_versions(evidence: Evidence) -> Iterator[Finding]:
    """Nodes of different Kubernetes versions."""
    versions = Counter(
        str(section(node, "status", "nodeInfo").get("kubeletVersion", ""))
        for node in evidence.raw("Node")
    )
    minors = {".".join(version.split(".")[:2]) for version in versions if version}
    if len(minors) > 1:
        said = ", ".join(f"{count} of {version}" for version, count in sorted(versions.items()))
        yield finding(
            "mixed-node-versions",
            Severity.WARNING,
            ["Nodes"],
            f"kubelets are of {len(minors)} versions: {said}",
            "finish the upgrade: pods that no node can leave keep the old ones; see `daiku explain node`",
        )


def other_owners(evidence: Evidence) -> Iterator[Finding]:
    """Whatever else makes and ends nodes in this cluster, or is left of it."""
    for each in evidence.raw("Deployment"):
        name, replicas = each["metadata"]["name"], section(each, "spec").get("replicas", 1)
        if replicas and any(name.startswith(prefix) for prefix in FOREIGN):
            yield finding(
                "second-autoscaler",
                Severity.ERROR,
                [f"Deployment {each['metadata'].get('namespace', '')}/{name}"],
                f"it runs {replicas} replicas and manages nodes too: one makes what the other removes",
                "scale it to 0 before Daiku runs; only one may own the nodes",
            )
    for kind in ("ValidatingWebhookConfiguration", "MutatingWebhookConfiguration"):
        for each in evidence.raw(kind):
            if "karpenter" in each["metadata"]["name"]:
                yield finding(
                    "webhook-left-behind",
                    Severity.ERROR,
                    [f"{kind} {each['metadata']['name']}"],
                    "it belongs to a controller that is gone: writes of NodePools fail or hang until it times out",
                    f"kubectl delete {kind.lower()} {each['metadata']['name']}",
                )


def undisruptable(evidence: Evidence) -> Iterator[Finding]:
    """do-not-disrupt on so many nodes that nothing can be consolidated or upgraded."""
    marked = {
        pod.node_name
        for pod in evidence.pods
        if pod.node_name and pod.meta.annotations.get(labels.DO_NOT_DISRUPT) == "true"
    }
    ours = [node for node in evidence.nodes if node.meta.labels.get(labels.NODEPOOL)]
    held = [node.meta.name for node in ours if node.meta.name in marked]
    if len(ours) >= HUGE_NODES_LEAST and len(held) * 2 > len(ours):
        yield finding(
            "do-not-disrupt-everywhere",
            Severity.WARNING,
            [f"Node {name}" for name in held],
            f"{len(held)} of {len(ours)} nodes carry a pod with {labels.DO_NOT_DISRUPT}: none of them is "
            "consolidated or replaced when it drifts",
            "give the annotation a duration instead of true, or set terminationGracePeriod on the NodePool",
        )


def cordoned(evidence: Evidence) -> Iterator[Finding]:
    """Nodes that were cordoned and forgotten."""
    found = [
        f"Node {node.meta.name}"
        for node in evidence.nodes
        if node.unschedulable
        and node.meta.deleted is None
        and not any(taint.key == labels.DISRUPTED_TAINT for taint in node.taints)
    ]
    if found:
        yield finding(
            "cordoned",
            Severity.WARNING,
            found,
            f"{len(found)} nodes are cordoned and nobody drains them: they are paid for and take no pods",
            "kubectl uncordon them, or delete their NodeClaims",
        )


def closed(evidence: Evidence) -> Iterator[Finding]:
    """Nodes that were made for pods which move: where no controller runs, nobody opens them."""
    found = [
        f"Node {node.meta.name}"
        for node in evidence.nodes
        if node.meta.deleted is None and taints.includes(node.taints, taints.AWAITING_PODS)
    ]
    if found:
        yield finding(
            "closed-for-moved-pods",
            Severity.ADVICE,
            found,
            f"{units.counted(len(found), 'node')} wait for the pods of a repack: minutes at most while a controller "
            "leads, and for ever while none does",
            f"start the controller, or kubectl taint node NAME {labels.AWAITING_PODS}-",
        )


def _surge(spec: Json) -> int:
    """Pods that a rolling update has beyond its replicas."""
    replicas = int(spec.get("replicas", 1) or 0)
    rolling = section(spec, "strategy", "rollingUpdate")
    return pods_of(rolling.get("maxSurge", "25%"), replicas)


def _owner(pod: Pod) -> str:
    return next((owner.kind for owner in pod.meta.owners if owner.controller), "")


CHECKS: Final = (
    Check(name="not-ready", looks_for="NodePools and node classes that are not ready", run=not_ready),
    Check(name="limit-without-headroom", looks_for="NodePools near their limits", run=limits),
    Check(name="limit-without-headroom", looks_for="rolling updates that would hit a limit", run=rolling_updates),
    Check(name="price-guard", looks_for="pods that no node is cheap enough for", run=price_guards),
    Check(name="huge-node", looks_for="nodes that are a large share of the cluster", run=huge_nodes),
    Check(name="expiry-of-stateful-pods", looks_for="age limits on nodes of StatefulSets", run=stateful_expiry),
    Check(name="mixed-node-versions", looks_for="nodes of different Kubernetes versions", run=mixed_versions),
    Check(name="second-autoscaler", looks_for="another controller of nodes, and webhooks it left", run=other_owners),
    Check(name="do-not-disrupt-everywhere", looks_for="annotations that keep most nodes", run=undisruptable),
    Check(name="cordoned", looks_for="nodes that were cordoned and forgotten", run=cordoned),
    Check(name="closed-for-moved-pods", looks_for="nodes that nobody opens", run=closed),
)  # fmt: skip
