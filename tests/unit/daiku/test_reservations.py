"""Capacity that is paid for already is used first, and no more of it is planned than is left."""

from collections import Counter
from datetime import timedelta

from tests import build
from tests.build import NOW, needs, require

from daiku.commands import CreateNodeClaim
from daiku.events import Object
from daiku.model import labels
from daiku.model.instance_type import Catalogue, InstanceType, Offering
from daiku.model.nodeclaim import NodeClaim
from daiku.model.requirements import Requirements
from daiku.model.topology import Spread
from daiku.provisioning import plan
from daiku.provisioning.plan import Provisioning
from daiku.scheduling import problem, solver
from daiku.scheduling.audit import reserved as reserved_audit
from daiku.scheduling.solution import Solution
from daiku.settings import Settings
from daiku.state.snapshot import Snapshot

ID = "karpenter.k8s.aws/capacity-reservation-id"
LATER = NOW + timedelta(seconds=2)
RESERVED_ONLY = needs(require(labels.CAPACITY_TYPE, "In", labels.RESERVED))


def reserved(left: int, zone: str = "zone-a", id_: str = "cr-1") -> Offering:
    return Offering(
        requirements=Requirements.from_labels(
            {labels.ZONE: zone, labels.CAPACITY_TYPE: labels.RESERVED, ID: id_}
        ),
        zone=zone,
        capacity_type=labels.RESERVED,
        price_usd_per_hour=1e-7,
        available=left > 0,
        reservation=id_,
        left=left,
    )


def types(*of_large: Offering) -> list[InstanceType]:
    """A type of 4 cpu for sale, and one of 32 cpu that is dear, with what is reserved of it."""
    small = build.instance_type("small", cpu="4", memory="16Gi", price=0.2)
    sold = (build.offering(3.0), *of_large)
    return [small, build.instance_type("large", cpu="32", memory="128Gi", offerings=sold)]


def solve(
    count: int, offered: list[InstanceType], *more: Object, cpu: str = "4", **fields: object
) -> Solution:
    pods = build.pods(count, cpu=cpu, memory="1Gi", **fields)
    pools = () if any(hasattr(o, "budgets") for o in more) else (build.node_pool(),)
    cluster = build.cluster(*pods, *more, *pools, build.node_class())
    return solver.solve(problem.build(pods, cluster.snapshot(NOW), build.catalogue(*offered)))


def kinds(solved: Solution) -> Counter[tuple[str, tuple[str, ...]]]:
    return Counter((n.types[0].name, n.capacity_types) for n in solved.new_nodes)


def test_what_is_left_is_used_and_the_rest_is_of_types_chosen_for_their_price() -> None:
    solved = solve(20, types(reserved(1)))

    assert kinds(solved) == {("large", ("reserved",)): 1, ("small", ("on-demand",)): 12}
    assert not solved.unschedulable


def test_the_bound_is_that_of_what_has_to_be_paid() -> None:
    solved = solve(20, types(reserved(1)))

    assert solved.usd_per_hour * 0.9 < solved.lower_bound_usd_per_hour <= solved.usd_per_hour


def test_every_reservation_counts_for_itself() -> None:
    solved = solve(40, types(reserved(1), reserved(2, zone="zone-b", id_="cr-2")))

    on = Counter(n.requirements.single_values().get(ID) for n in solved.new_nodes)
    assert on == {"cr-1": 1, "cr-2": 2, None: 16}


def test_without_anything_left_it_is_as_if_there_were_no_reservation() -> None:
    assert kinds(solve(8, types(reserved(0)))) == kinds(solve(8, types()))


def test_nodes_on_their_way_are_counted() -> None:
    known = reserved(2).requirements.single_values()
    claim = build.node_claim(
        "default-coming",
        launched=False,
        registered=False,
        initialized=False,
        requirements=Requirements.from_labels(
            {**known, labels.INSTANCE_TYPE: "large", labels.NODEPOOL: "default"}
        ),
        requests={"cpu": 32000},
    )

    solved = solve(20, types(reserved(2)), claim)

    assert kinds(solved)["large", ("reserved",)] == 1


def test_pods_that_are_spread_count_too() -> None:
    own = needs(require("app", "In", "web"))
    over_hosts = Spread(key=labels.HOSTNAME, max_skew=1, hard=True, selector=own)

    solved = solve(5, types(reserved(2)), labels={"app": "web"}, spread=(over_hosts,))

    assert kinds(solved) == {("large", ("reserved",)): 2, ("small", ("on-demand",)): 3}


def test_a_pool_of_nothing_but_reservations_says_when_they_are_used_up() -> None:
    pool = build.node_pool(requirements=RESERVED_ONLY)

    some = solve(20, types(reserved(1)), pool)
    none = solve(1, types(reserved(0)), pool)

    assert kinds(some) == {("large", ("reserved",)): 1}
    (left,) = some.unschedulable
    assert len(left.pods) == 12
    assert "capacity-reservation/cr-1 1" in str(left.blockers[0])
    assert none.unschedulable[0].blockers[0].reason == "NoOffering"


def provision(*pools: Object, offered: list[InstanceType]) -> Provisioning:
    pods = [
        *build.pods(8, "a", cpu="4", node_selector={labels.NODEPOOL: "one"}),
        *build.pods(8, "b", cpu="4", node_selector={labels.NODEPOOL: "two"}),
    ]
    catalogue = build.catalogue(*offered)
    cluster = build.cluster(*pods, *pools, build.node_class(), catalogue_of=catalogue)
    cluster.snapshot(NOW)
    return plan.plan(cluster.snapshot(LATER), catalogue, Settings(), LATER)


def claims_of(made: Provisioning) -> list[NodeClaim]:
    return [c.node_claim for c in made.commands if isinstance(c, CreateNodeClaim)]


def test_pools_that_share_a_reservation_do_not_make_more_nodes_than_it_has() -> None:
    made = provision(build.node_pool("one"), build.node_pool("two"), offered=types(reserved(1)))

    of_one = [c for c in claims_of(made) if c.requirements.get(ID).values == {"cr-1"}]
    assert len(of_one) == 1
    # The pods of the other one are planned again, without a pause, once this one is counted.
    assert made.unschedulable == ()
    assert len(made.placements) == 8
    assert made.wake_at is not None
    assert made.new_usd_per_hour == reserved(1).price_usd_per_hour


def test_the_audit_counts_on_its_own_and_with_what_is_on_its_way() -> None:
    catalogue = build.catalogue(*types(reserved(2)))
    cluster = build.cluster(
        *build.pods(16, cpu="4"), build.node_pool(), build.node_class(), catalogue_of=catalogue
    )
    cluster.snapshot(NOW)
    before = cluster.snapshot(LATER)
    made = plan.plan(before, catalogue, Settings(), LATER)
    creations = [c for c in made.commands if isinstance(c, CreateNodeClaim)]
    assert len(creations) == 2
    cluster.begin(creations[0], LATER)
    less = build.catalogue(*types(reserved(1)))

    def found(coming: list[CreateNodeClaim], snapshot: Snapshot, of: Catalogue) -> list[str]:
        return [v.message for v in reserved_audit.check(coming, snapshot, of)]

    assert found(creations, before, catalogue) == []
    name = creations[1].node_claim.meta.name
    said = f"NodeClaim {name}: it is number 2 on capacity reservation cr-1, which has 1 left"
    assert found(creations, before, less) == [said]
    assert found(creations[1:], cluster.snapshot(LATER), less) == [said]


def test_the_node_claim_can_be_launched_in_its_reservation_only() -> None:
    made = provision(build.node_pool("one"), offered=types(reserved(1)))

    (claim,) = claims_of(made)
    assert claim.requirements.get(labels.CAPACITY_TYPE).sorted_values() == ("reserved",)
    assert claim.requirements.get(ID).sorted_values() == ("cr-1",)
