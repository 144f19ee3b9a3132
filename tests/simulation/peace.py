"""What peace must bring, in a few questions about the world as it is."""

from typing import TYPE_CHECKING

from tests.simulation.apiserver import CLAIMS, NODES, POOLS, Json, is_leaving

from daiku.model import labels

if TYPE_CHECKING:
    from tests.simulation.world import World


def wrong_numbers(world: "World") -> list[str]:
    """Static pools that do not have as many nodes as they should."""
    api = world.api
    wrong: list[str] = []
    for name, pool in api.objects[POOLS].items():
        wanted = pool["spec"].get("replicas")
        there = sum(
            c["metadata"]["labels"].get(labels.NODEPOOL) == name and not is_leaving(c)
            for c in api.all(CLAIMS)
        )
        if wanted is not None and there != wanted:
            wrong.append(f"NodePool {name} has {there} of {wanted} nodes")
    return wrong


def may_go(world: "World", node: Json) -> bool:
    """Whether a Node that runs nothing should have gone."""
    pool = world.api.find(POOLS, node["metadata"]["labels"].get(labels.NODEPOOL, ""))
    if pool is None or "replicas" in pool["spec"]:
        return False
    name = pool["metadata"]["name"]
    pools = [
        n["metadata"]["labels"].get(labels.NODEPOOL) for n in world.api.all(NODES) if is_leaving(n)
    ]
    if name in pools:
        # Its pods may not leave, and it takes what the budget allows.
        return False
    return all(b["nodes"] not in {"0", "0%"} for b in pool["spec"]["disruption"]["budgets"])


def ghosts(world: "World") -> list[str]:
    """Nodes of machines that are gone."""
    return [
        f"node {name} is of an instance that is gone"
        for name in world.api.objects[NODES]
        if not world.kubelets.by_node[name].is_live
    ]
