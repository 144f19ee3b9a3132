"""Who asks for something by an annotation that says `true`.

A pod asks for itself (so a template for all of its pods), a namespace for its pods, a NodePool for those on its nodes.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from daiku.model import labels, memo
from daiku.model.namespace import Namespace
from daiku.model.pod import Pod
from daiku.state.snapshot import Snapshot


@dataclass(frozen=True, slots=True)
class Asking:
    """Who asks, in one snapshot."""

    key: str
    """The annotation, one of `labels.ON_MANY`."""
    namespaces: frozenset[str]
    pools: frozenset[str]
    """NodePools."""

    @classmethod
    def of(cls, snapshot: Snapshot, key: str) -> "Asking":
        """Who asks by `key` in `snapshot`."""
        pools = (pool.meta for pool in snapshot.node_pools)
        return cls(
            key,
            snapshot.asking_namespaces.get(key, frozenset()),
            frozenset(meta.name for meta in pools if meta.annotations.get(key) == "true"),
        )

    def asks(self, pod: Pod, nodepool: str) -> bool:
        """Whether it is asked for `pod`, which runs on a node of that NodePool."""
        return (
            nodepool in self.pools
            or pod.meta.namespace in self.namespaces
            or pod.meta.annotations.get(self.key) == "true"
        )


@memo.by_identity(8)
def of_namespaces(namespaces: tuple[Namespace, ...]) -> Mapping[str, frozenset[str]]:
    """For each annotation of `labels.ON_MANY` the namespaces that ask by it."""
    return {
        key: frozenset(each.meta.name for each in namespaces if each.asks(key))
        for key in labels.ON_MANY
    }
