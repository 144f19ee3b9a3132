"""Nodes for pods that constraints between pods concern are chosen by price, with everybody else's."""

from collections import Counter

import numpy as np
from tests import build, plans

from daiku.model import labels
from daiku.model.pod import Pod
from daiku.model.topology import AffinityTerm, Preferred, Spread
from daiku.scheduling import problem, solver
from daiku.scheduling.solution import Solution
from daiku.scheduling.topology import postponed
from daiku.scheduling.topology.bays import HostRules
from daiku.scheduling.topology.postponed import Cap
from daiku.state.snapshot import Snapshot

TYPES = [
    *build.family("c", 2, zones=("zone-a", "zone-b")),
    *build.family("m", 4),
    *build.family("r", 8),
]
CATALOGUE = build.catalogue(*TYPES)


def spread(app: str, key: str, *, hard: bool = True) -> dict[str, object]:
    own = build.needs(build.require("app", "In", app))
    return {"spread": (Spread(key=key, max_skew=1, hard=hard, selector=own),)}


def apart(app: str) -> dict[str, object]:
    own = build.needs(build.require("app", "In", app))
    term = AffinityTerm(key=labels.HOSTNAME, selector=own, namespaces=("default",))
    return {"pod_anti_affinity": (term,)}


def deployment(app: str, count: int, cpu: str, memory: str, rules: dict[str, object]) -> list[Pod]:
    return build.pods(count, app, cpu=cpu, memory=memory, labels={"app": app}, **rules)  # pyright: ignore[reportArgumentType]


def solve(pods: list[Pod], limits: dict[str, str] | None = None) -> tuple[Solution, Snapshot]:
    pools = [build.node_pool(limits=limits), build.node_class()]
    snapshot = build.cluster(*pods, *pools, catalogue_of=CATALOGUE).snapshot(build.NOW)
    return solver.solve(problem.build(pods, snapshot, CATALOGUE)), snapshot


MIXED = [
    *deployment("zonal", 41, "750m", "1500Mi", spread("zonal", labels.ZONE)),
    *deployment("hosts", 12, "500m", "3Gi", spread("hosts", labels.HOSTNAME)),
    *deployment("alone", 9, "1500m", "2Gi", apart("alone")),
    *deployment("plain", 70, "250m", "2Gi", {}),
]


def shops(*, hard: bool) -> list[Pod]:
    """Four deployments, each spread over hosts."""
    sizes = (("750m", "1500Mi"), ("500m", "3Gi"), ("1500m", "2Gi"), ("250m", "2Gi"))
    return [
        pod
        for number, (cpu, memory) in enumerate(sizes)
        for pod in deployment(
            f"app-{number}",
            25,
            cpu,
            memory,
            spread(f"app-{number}", labels.HOSTNAME, hard=hard),
        )
    ]


def test_spread_that_should_hold_costs_no_more_than_spread_that_must() -> None:
    must, should = solve(shops(hard=True))[0], solve(shops(hard=False))[0]

    assert should.usd_per_hour <= must.usd_per_hour
    for node in should.new_nodes:
        apps = Counter(pod.rpartition("-")[0] for pod in node.pods)
        assert max(apps.values()) == 1
    assert not should.unschedulable


def test_a_wish_that_cannot_be_met_leaves_the_others_as_they_were() -> None:
    """Which nodes to buy is chosen anew, with the caps of what is left of the pods' wishes."""
    nowhere = build.needs(build.require(labels.ZONE, "In", "zone-z"))
    wish = {"preferred_node_affinity": (Preferred(weight=1, node=nowhere),)}
    dreams = deployment(
        "dream", 5, "500m", "1Gi", {**spread("dream", labels.HOSTNAME, hard=False), **wish}
    )

    solved, _ = solve([*shops(hard=False), *dreams])

    assert not solved.unschedulable
    for node in solved.new_nodes:
        apps = Counter(pod.rpartition("-")[0] for pod in node.pods)
        assert max(apps.values()) == 1


def test_a_mix_of_spread_and_anti_affinity_stays_near_the_lower_bound() -> None:
    solved, _ = solve(MIXED)

    assert solved.unschedulable == ()
    assert solved.usd_per_hour <= 1.05 * solved.lower_bound_usd_per_hour


def test_every_constraint_holds_on_nodes_that_the_packer_chose() -> None:
    solved, snapshot = solve(MIXED)

    assert plans.objections(solved, snapshot, TYPES) == []
    for app in ("hosts", "alone"):
        on = Counter(i for i, n in enumerate(solved.new_nodes) for p in n.pods if app in p)
        assert max(on.values()) == 1


def test_what_a_limit_keeps_from_being_bought_leaves_no_rule_broken() -> None:
    solved, snapshot = solve(MIXED, limits={"cpu": "24"})

    assert solved.unschedulable
    assert solved.new_nodes
    assert plans.objections(solved, snapshot, TYPES) == []


def test_pods_that_only_keep_away_from_each_other_are_a_cap() -> None:
    rules = HostRules(zero=(0, 1), adds=np.array([0, 1]), most_on_new=1)

    assert postponed.of_classes([rules]) == [Cap(most=1, group=0)]


def test_pods_that_keep_away_from_others_are_not() -> None:
    keeps_away = HostRules(zero=(0,), adds=np.array([], dtype=np.intp))
    other = HostRules(adds=np.array([0]))

    assert postponed.of_classes([keeps_away, other]) is None
