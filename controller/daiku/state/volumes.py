"""Where the volumes of a pod let it run, and which of them a node has to attach.

Each claim is bound to a volume, which says by which nodes it can be reached, or waits for the pod to be put
somewhere; then its class says where a volume can be made. What cannot be known yet is a reason to wait.

Source: kube-scheduler, volumebinding, volumezone and nodevolumelimits.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from daiku.model.pod import Pod
from daiku.model.requirements import NO_REQUIREMENTS, Requirements
from daiku.model.volume import (
    NO_PROVISIONER,
    CsiNode,
    PersistentVolume,
    PersistentVolumeClaim,
    StorageClass,
    VolumeAttachment,
)

OF_VOLUMES = (PersistentVolume, PersistentVolumeClaim, StorageClass, CsiNode, VolumeAttachment)
"""Kinds of which `Volumes` is made."""
Terms = tuple[Requirements, ...]
"""Alternatives; one of them must hold."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Reach:
    """Where the volumes of a pod let it run."""

    alternatives: Terms = (NO_REQUIREMENTS,)
    """Labels of its node must meet one of these; empty: no node can do."""
    problem: str = ""
    """Why that cannot be told, or is nowhere; empty when all is well."""


@dataclass(frozen=True, slots=True, kw_only=True)
class OverLimit:
    """More volumes of one driver than a node takes."""

    driver: str
    wanted: int
    """Volumes with those of the pod."""
    limit: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Volumes:
    """Every claim, volume, class and attachment."""

    claims: Mapping[str, PersistentVolumeClaim] = field(
        default_factory=dict[str, PersistentVolumeClaim]
    )
    """By namespace/name."""
    volumes: Mapping[str, PersistentVolume] = field(default_factory=dict[str, PersistentVolume])
    classes: Mapping[str, StorageClass] = field(default_factory=dict[str, StorageClass])
    csi_nodes: Mapping[str, CsiNode] = field(default_factory=dict[str, CsiNode])
    """By the name of the Node."""
    attachments: tuple[VolumeAttachment, ...] = ()
    """What is attached to nodes, or is to be, in the order of names."""

    def held_by(self, node: str, staying: Iterable[Pod]) -> tuple[VolumeAttachment, ...]:
        """What is still attached to a Node and will be detached: not the volumes of pods that stay on it."""
        kept = {
            claim.volume: True
            for pod in staying
            for name in pod.volume_claims
            if (claim := self.claims.get(f"{pod.meta.namespace}/{name}")) is not None
        }
        return tuple(
            a for a in self.attachments if a.node == node and a.volume and a.volume not in kept
        )

    def reach(self, pod: Pod) -> Reach:
        """Where the volumes of `pod` let it run, all together."""
        combined: Terms = (NO_REQUIREMENTS,)
        for name in pod.volume_claims:
            key = f"{pod.meta.namespace}/{name}"
            terms = self._terms(key)
            if isinstance(terms, str):
                return Reach(alternatives=(), problem=terms)
            both = dict.fromkeys(one & other for one in combined for other in terms)
            combined = tuple(terms for terms in both if not terms.is_empty)
            if not combined:
                problem = f"claim {key} and the claims before it are nowhere reachable together"
                return Reach(alternatives=(), problem=problem)
        return Reach(alternatives=combined)

    def attached(self, pod: Pod) -> dict[str, dict[str, bool]]:
        """What a node attaches for `pod`: CSI driver -> volumes, or claims that have none yet."""
        found: dict[str, dict[str, bool]] = {}
        for name in pod.volume_claims:
            key = f"{pod.meta.namespace}/{name}"
            claim = self.claims.get(key)
            volume = self.volumes.get(claim.volume) if claim is not None else None
            if volume is not None:
                driver, what = volume.driver, volume.handle or volume.meta.name
            else:
                made_by = self.classes.get(claim.storage_class) if claim is not None else None
                driver, what = (made_by.provisioner if made_by is not None else ""), key
            if driver and driver != NO_PROVISIONER:
                found.setdefault(driver, {})[what] = True
        return found

    def over_limits(self, node: str, there: Iterable[Pod], pod: Pod) -> tuple[OverLimit, ...]:
        """Limits of a Node that `pod` would break beside the pods that are there; a volume counts once."""
        csi_node = self.csi_nodes.get(node)
        wanted = self.attached(pod) if pod.volume_claims else {}
        if csi_node is None or not wanted:
            return ()
        known: dict[str, dict[str, bool]] = {}
        for other in there:
            for driver, volumes in self.attached(other).items():
                known.setdefault(driver, {}).update(volumes)
        found: list[OverLimit] = []
        for driver, volumes in sorted(wanted.items()):
            there_already = known.get(driver, {})
            together = len({**there_already, **volumes})
            limit = csi_node.limits.get(driver)
            if limit is not None and together > limit and together > len(there_already):
                found.append(OverLimit(driver=driver, wanted=together, limit=limit))
        return tuple(found)

    def _terms(self, key: str) -> Terms | str:
        """Where one claim lets a pod run, or why that cannot be told."""
        claim = self.claims.get(key)
        if claim is None:
            return f"claim {key} does not exist"
        if claim.meta.deleted is not None or claim.is_lost:
            return f"claim {key} is {'lost' if claim.is_lost else 'being deleted'}"
        if claim.volume:
            volume = self.volumes.get(claim.volume)
            if volume is None:
                return f"claim {key} is bound to volume {claim.volume}, which does not exist"
            if claim.is_being_bound:
                return f"claim {key} is still being bound to volume {claim.volume}"
            return volume.alternatives or (NO_REQUIREMENTS,)
        made_by = self.classes.get(claim.storage_class)
        if made_by is None:
            return f"claim {key} has no volume and its storage class {claim.storage_class!r} does not exist"
        if not made_by.waits_for_pod:
            return f"claim {key} has no volume yet, and its class {claim.storage_class} does not wait for a pod"
        if made_by.provisioner != NO_PROVISIONER:
            return made_by.alternatives or (NO_REQUIREMENTS,)
        left = [
            v
            for _, v in sorted(self.volumes.items())
            if v.is_available and v.storage_class == claim.storage_class
        ]
        if not left:
            return (
                f"claim {key} waits for a volume of class {claim.storage_class}, and none is left"
            )
        return tuple(
            dict.fromkeys(term for v in left for term in v.alternatives or (NO_REQUIREMENTS,))
        )
