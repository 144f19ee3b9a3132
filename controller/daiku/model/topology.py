"""Constraints between pods: topology spread, pod affinity and anti-affinity, host ports.

`matchLabelKeys` and `mismatchLabelKeys` are folded into the selector when a pod is read, because the pod's own
labels are known then.

Source: kubernetes.io/docs/concepts/scheduling-eviction/topology-spread-constraints and assign-pod-node.
"""

from dataclasses import dataclass

from daiku.model.requirements import Requirements


@dataclass(frozen=True, slots=True, kw_only=True)
class Spread:
    """One topology spread constraint."""

    key: str
    """Label of nodes whose values are the domains, alias already resolved."""
    max_skew: int
    """Most that a domain may have more than the emptiest one, at least 1."""
    hard: bool
    """DoNotSchedule; otherwise ScheduleAnyway."""
    selector: Requirements | None
    """Which pods of the namespace count; None counts none."""
    min_domains: int = 1
    """With fewer eligible domains than this, the emptiest counts as 0."""
    honors_affinity: bool = True
    """nodeAffinityPolicy Honor: only nodes that the pod's selector and affinity admit are domains."""
    honors_taints: bool = False
    """nodeTaintsPolicy Honor: only nodes whose taints the pod tolerates are domains."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AffinityTerm:
    """One term of pod affinity or anti-affinity."""

    key: str
    """Label of nodes whose values are the domains, alias already resolved."""
    selector: Requirements | None
    """Which pods are meant; None means none."""
    namespaces: tuple[str, ...]
    """Namespaces whose pods are meant, sorted; the pod's own when the term names none and has no selector."""
    namespace_selector: Requirements | None = None
    """Further namespaces by their labels; an empty one means every namespace; None adds none."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Preferred:
    """A preferred node affinity term, or pod (anti-)affinity term, and its weight."""

    weight: int
    """1 to 100; `scheduling.preferences` says in which order preferences are given up."""
    node: Requirements | None = None
    """Set for node affinity."""
    pods: AffinityTerm | None = None
    """Set for pod affinity and anti-affinity."""


@dataclass(frozen=True, slots=True, order=True, kw_only=True)
class HostPort:
    """A port of the node itself that a pod takes."""

    ip: str
    """0.0.0.0 takes the port of every address."""
    port: int
    protocol: str
    """TCP, UDP or SCTP."""
