"""What happens in a cluster, seen from outside: pods come, are bound and evicted, NodeClaims come and go."""

import json
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, Final

from daiku.api import decode
from daiku.kube import errors
from daiku.kube.client import Client

ALL_PODS: Final = "/api/v1/namespaces/default/pods"
CLAIMS: Final = "/apis/karpenter.sh/v1/nodeclaims"
Json = dict[str, Any]


@dataclass
class Onlooker:
    """What a watch of pods and of NodeClaims tells, at any time."""

    client: Client
    bound: dict[str, bool] = field(default_factory=dict[str, bool])
    """Whether each pod that is there has a node, by uid."""
    evicted: dict[str, None] = field(default_factory=dict[str, None])
    """uids of pods that the eviction API took away."""
    moved_at: float = 0.0
    """When a pod was evicted last, or a NodeClaim came or went."""
    first_pod_at: float = 0.0
    """When the first pod without a node was seen."""
    first_claim_at: float = 0.0
    """When the first NodeClaim was seen."""
    made: dict[str, None] = field(default_factory=dict[str, None])
    """Names of NodeClaims that came."""
    removed: dict[str, None] = field(default_factory=dict[str, None])
    """Names of NodeClaims that went, or were told to."""

    @property
    def still_seconds(self) -> float:
        """For how long nothing has moved."""
        return time.monotonic() - self.moved_at

    def follow(self) -> None:
        """Watch both kinds for as long as this process lives."""
        for path, take in ((ALL_PODS, self._pod), (CLAIMS, self._claim)):
            threading.Thread(target=self._watch, args=(path, take), daemon=True).start()

    def _watch(self, path: str, take: Callable[[str, Json], None]) -> None:
        version = ""
        while True:
            with suppress(errors.Unreachable):
                if not version:
                    for page in self.client.list(path):
                        version = page.resource_version or version
                        for raw in page.items:
                            take("ADDED", json.loads(bytes(raw)))
                for content in self.client.watch(path, version):
                    line = decode.line(content)
                    if line.type == "ERROR":
                        raise RuntimeError(f"the watch of {path} missed something; measure again")
                    seen: Json = json.loads(bytes(line.object))
                    version = seen["metadata"]["resourceVersion"]
                    if line.type != "BOOKMARK":
                        take(line.type, seen)

    def _pod(self, kind: str, pod: Json) -> None:
        uid = pod["metadata"]["uid"]
        if kind == "DELETED":
            self.bound.pop(uid, None)
        else:
            self.bound[uid] = bool(pod["spec"].get("nodeName"))
            self.first_pod_at = self.first_pod_at or time.monotonic()
        marks = pod["status"].get("conditions", ())
        if uid not in self.evicted and any(
            c["type"] == "DisruptionTarget" and c["reason"] == "EvictionByEvictionAPI"
            for c in marks
        ):
            self.evicted[uid] = None
            self.moved_at = time.monotonic()

    def _claim(self, kind: str, claim: Json) -> None:
        name, before = claim["metadata"]["name"], (len(self.made), len(self.removed))
        self.made[name] = None
        self.first_claim_at = self.first_claim_at or time.monotonic()
        if kind == "DELETED" or claim["metadata"].get("deletionTimestamp"):
            self.removed[name] = None
        if before != (len(self.made), len(self.removed)):
            self.moved_at = time.monotonic()
