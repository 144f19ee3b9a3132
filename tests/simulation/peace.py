"""What peace must bring, in a few questions about the world as it is."""

from typing import TYPE_CHECKING

from tests.simulation import rules
from tests.simulation.apiserver import CLAIMS, NODES, POOLS, Json, is_leaving, is_ready

from daiku.disruption import telling
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


def held_by_budgets_with_room(world: "World") -> list[str]:
    """Nodes that the leader says a disruption budget keeps, of NodePools whose budgets let another node go."""
    leaders = (p for p in world.processes if p.leads())
    looks = [p.cluster.snapshot(p.now()).looks.get(telling.LOOK) for p in leaders]
    kept = [k for look in looks if look for k in look.kept if k.reason == "Budget"]
    wrong: list[str] = []
    for each in kept:
        claim = world.api.find(CLAIMS, each.node_claim)
        name = claim["metadata"]["labels"][labels.NODEPOOL] if claim is not None else ""
        pool = world.api.find(POOLS, name)
        if pool is None:
            continue
        of = [
            n for n in world.api.all(NODES) if n["metadata"]["labels"].get(labels.NODEPOOL) == name
        ]
        ending = [c for c in world.api.all(CLAIMS) if is_leaving(c)]
        going = len([n for n in of if is_leaving(n) or not is_ready(n) or _is_tainted(n)])
        most = rules.allowed(pool["spec"]["disruption"]["budgets"], len(of))
        if going + len(ending) < most:
            wrong.append(f"{each.node_claim}: {each.message}, and {most} may, {going} go")
    return wrong


def _is_tainted(node: Json) -> bool:
    return any(t["key"] == labels.DISRUPTED_TAINT for t in node["spec"].get("taints") or ())
