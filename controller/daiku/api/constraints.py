"""What a pod asks of its place, from the wire: affinity, spread, tolerations, host ports, volumes.

Pods of one owner spell all of this alike, so each spelling is read once and the value shared. `matchLabelKeys` and
`mismatchLabelKeys` stand for labels of the pod itself: they are looked up here and become part of the selector, which
is why a spelling is remembered together with the labels that it names.

Source: kubernetes.io/docs/concepts/scheduling-eviction (assign-pod-node, topology-spread-constraints); where
expressions and fields are empty, component-helpers nodeaffinity.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

import msgspec

from daiku.api import wire
from daiku.model import labels
from daiku.model.requirements import NO_REQUIREMENTS, Requirement, Requirements
from daiku.model.taints import Toleration
from daiku.model.topology import AffinityTerm, HostPort, Preferred, Spread

DISTINCT_SPECS_MAX: Final = 8192
"""How many spellings of each part of a pod are remembered; one per workload is used."""

_affinity_decoder = msgspec.json.Decoder(wire.Affinity)
_spread_decoder = msgspec.json.Decoder(list[wire.SpreadConstraint])
_tolerations_decoder = msgspec.json.Decoder(list[wire.Toleration])

_NOWHERE: Final = Requirements.of(
    Requirement.parse(labels.HOSTNAME, "Exists"), Requirement.parse(labels.HOSTNAME, "DoesNotExist")
)
"""What no node meets."""

Chosen = tuple[tuple[str, str], ...]
"""The labels of a pod that its constraints name, as pairs."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Affinity:
    """spec.affinity of a pod."""

    required_nodes: tuple[Requirements, ...] = ()
    preferred_nodes: tuple[Preferred, ...] = ()
    required_pods: tuple[AffinityTerm, ...] = ()
    preferred_pods: tuple[Preferred, ...] = ()
    required_anti: tuple[AffinityTerm, ...] = ()
    preferred_anti: tuple[Preferred, ...] = ()


_NO_AFFINITY: Final = Affinity()


def requirements(found: Sequence[wire.SelectorRequirement] | None) -> Requirements:
    """Requirements that hold together.

    Raises:
        ValueError: One of them has an operator or values that mean nothing.
    """
    return _together(
        tuple((r.key, r.operator, tuple(r.values or ()), r.min_values) for r in found or ())
    )


@lru_cache(maxsize=DISTINCT_SPECS_MAX)
def _together(asked: tuple[tuple[str, str, tuple[str, ...], int | None], ...]) -> Requirements:
    return Requirements.of(*(Requirement.parse(*each) for each in asked))


@lru_cache(maxsize=DISTINCT_SPECS_MAX)
def tolerations(raw: bytes) -> tuple[Toleration, ...]:
    """The tolerations of a pod, in their order."""
    return tuple(
        Toleration(
            key=t.key or "",
            operator=t.operator or "Equal",
            value=t.value or "",
            effect=t.effect or "",
        )
        for t in (_tolerations_decoder.decode(raw) if _is_there(raw) else ())
    )


def affinity(raw: bytes, namespace: str, pod_labels: Mapping[str, str]) -> Affinity:
    """What a pod of `namespace` with `pod_labels` asks of nodes and of pods near it."""
    if not _is_there(raw):
        return _NO_AFFINITY
    return _affinity(raw, namespace, _chosen(_affinity_keys(raw), pod_labels))


def spread(raw: bytes, pod_labels: Mapping[str, str]) -> tuple[Spread, ...]:
    """The topology spread constraints of a pod with `pod_labels`, in their order."""
    return _spread(raw, _chosen(_spread_keys(raw), pod_labels)) if _is_there(raw) else ()


def host_ports(spec: wire.PodSpec) -> tuple[HostPort, ...]:
    """The ports of its node that a pod takes, each once; of init containers those of sidecars count.

    On the host's network every port of a container is one, as the API server fills in.
    """
    sidecars = (c for c in spec.init_containers or () if c.restart_policy == "Always")
    taken = [
        HostPort(ip=p.host_ip or "0.0.0.0", port=port, protocol=p.protocol or "TCP")  # noqa: S104 - read, not bound
        for c in (*(spec.containers or ()), *sidecars)
        for p in c.ports or ()
        if (port := p.host_port or (p.container_port if spec.host_network else None))
    ]
    return tuple(sorted(dict.fromkeys(taken))) if taken else ()


def volume_claims(spec: wire.PodSpec, pod: str) -> tuple[str, ...]:
    """The claims that a pod called `pod` mounts; that of an ephemeral volume is named after both."""
    if not spec.volumes:
        return ()
    named = [
        v.persistent_volume_claim.claim_name
        if v.persistent_volume_claim is not None
        else f"{pod}-{v.name}"
        for v in spec.volumes
        if v.persistent_volume_claim is not None or _is_there(v.ephemeral)
    ]
    return tuple(sorted(dict.fromkeys(named))) if named else ()


def alternatives(found: wire.NodeSelector) -> tuple[Requirements, ...]:
    """Terms of which one must hold; a blank one holds nowhere, and neither does having none."""
    terms = [_node_term(t) for t in found.node_selector_terms or () if not _is_blank(t)]
    return tuple(terms) or (_NOWHERE,)


def _is_there(raw: bytes | msgspec.Raw) -> bool:
    return bool(raw) and bytes(raw) != b"null"


def _chosen(keys: tuple[str, ...], pod_labels: Mapping[str, str]) -> Chosen:
    return tuple((k, pod_labels[k]) for k in keys if k in pod_labels) if keys else ()


@lru_cache(maxsize=DISTINCT_SPECS_MAX)
def _spread_keys(raw: bytes) -> tuple[str, ...]:
    """The labels of the pod that its spread constraints name."""
    keys = (key for c in _spread_decoder.decode(raw) for key in c.match_label_keys or ())
    return tuple(dict.fromkeys(keys))


@lru_cache(maxsize=DISTINCT_SPECS_MAX)
def _affinity_keys(raw: bytes) -> tuple[str, ...]:
    """The labels of the pod that its affinities to pods name."""
    found = _affinity_decoder.decode(raw)
    terms = [
        term
        for each in (found.pod_affinity, found.pod_anti_affinity)
        if each is not None
        for term in (
            *(each.required_during_scheduling_ignored_during_execution or ()),
            *(
                w.pod_affinity_term
                for w in each.preferred_during_scheduling_ignored_during_execution or ()
            ),
        )
    ]
    keys = (k for t in terms for k in (*(t.match_label_keys or ()), *(t.mismatch_label_keys or ())))
    return tuple(dict.fromkeys(keys))


@lru_cache(maxsize=DISTINCT_SPECS_MAX)
def _spread(raw: bytes, chosen: Chosen) -> tuple[Spread, ...]:
    return tuple(
        Spread(
            key=_topology_key(c.topology_key),
            max_skew=c.max_skew,
            hard=c.when_unsatisfiable == "DoNotSchedule",
            selector=_selector(c.label_selector, chosen, same=c.match_label_keys),
            min_domains=1 if c.min_domains is None else c.min_domains,
            honors_affinity=c.node_affinity_policy != "Ignore",
            honors_taints=c.node_taints_policy == "Honor",
        )
        for c in _spread_decoder.decode(raw)
    )


@lru_cache(maxsize=DISTINCT_SPECS_MAX)
def _affinity(raw: bytes, namespace: str, chosen: Chosen) -> Affinity:
    found = _affinity_decoder.decode(raw)
    nodes = found.node_affinity or wire.NodeAffinity()
    near = found.pod_affinity or wire.PodAffinity()
    far = found.pod_anti_affinity or wire.PodAffinity()
    required = nodes.required_during_scheduling_ignored_during_execution
    return Affinity(
        required_nodes=() if required is None else alternatives(required),
        preferred_nodes=tuple(
            Preferred(weight=w.weight, node=_node_term(w.preference))
            for w in nodes.preferred_during_scheduling_ignored_during_execution or ()
            if not _is_blank(w.preference)
        ),
        required_pods=_terms(near, namespace, chosen),
        preferred_pods=_weighted(near, namespace, chosen),
        required_anti=_terms(far, namespace, chosen),
        preferred_anti=_weighted(far, namespace, chosen),
    )


def _is_blank(term: wire.NodeSelectorTerm) -> bool:
    return not term.match_expressions and not term.match_fields


def _node_term(term: wire.NodeSelectorTerm) -> Requirements:
    """Expressions and fields together. The one field there is, `labels.NODE_NAME`, reads like a label of that name."""
    return requirements([*(term.match_expressions or ()), *(term.match_fields or ())])


def _terms(found: wire.PodAffinity, namespace: str, chosen: Chosen) -> tuple[AffinityTerm, ...]:
    return tuple(
        _term(t, namespace, chosen)
        for t in found.required_during_scheduling_ignored_during_execution or ()
    )


def _weighted(found: wire.PodAffinity, namespace: str, chosen: Chosen) -> tuple[Preferred, ...]:
    return tuple(
        Preferred(weight=w.weight, pods=_term(w.pod_affinity_term, namespace, chosen))
        for w in found.preferred_during_scheduling_ignored_during_execution or ()
    )


def _term(term: wire.PodAffinityTerm, namespace: str, chosen: Chosen) -> AffinityTerm:
    named = tuple(sorted(dict.fromkeys(term.namespaces or ())))
    own = () if named or term.namespace_selector is not None else (namespace,)
    return AffinityTerm(
        key=_topology_key(term.topology_key),
        selector=_selector(
            term.label_selector, chosen, same=term.match_label_keys, other=term.mismatch_label_keys
        ),
        namespaces=named or own,
        namespace_selector=_selector(term.namespace_selector),
    )


def _selector(
    found: wire.LabelSelector | None,
    chosen: Chosen = (),
    *,
    same: Sequence[str] | None = None,
    other: Sequence[str] | None = None,
) -> Requirements | None:
    """A label selector, together with the pod's own values of the labels `same`, and without those of `other`."""
    if found is None:
        return None
    own = dict(chosen)
    parts = [Requirement.parse(k, "In", (v,)) for k, v in (found.match_labels or {}).items()]
    parts += [Requirement.parse(k, "In", (own[k],)) for k in same or () if k in own]
    parts += [Requirement.parse(k, "NotIn", (own[k],)) for k in other or () if k in own]
    expressions = requirements(found.match_expressions)
    return Requirements.of(*parts) & expressions if parts or expressions else NO_REQUIREMENTS


def _topology_key(key: str) -> str:
    return labels.ALIASES.get(key, key)
