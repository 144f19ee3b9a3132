"""When pods are planned, and the NodeClaims that come of it."""

from collections.abc import Iterable
from datetime import datetime, timedelta

import pytest
from tests import answers, build
from tests.build import NOW

from daiku import events
from daiku.commands import Announce, CreateNodeClaim
from daiku.events import Object
from daiku.model import labels, nodepool_hash
from daiku.model.instance_type import InstanceType
from daiku.model.nodeclaim import NodeClaim
from daiku.model.nodepool import NodePool
from daiku.model.taints import Taint
from daiku.provisioning import batching, plan
from daiku.provisioning.plan import Provisioning
from daiku.report import Report, Unschedulable
from daiku.settings import Settings
from daiku.state.cluster import Cluster

SECOND = timedelta(seconds=1)
LATER = NOW + 2 * SECOND
GPU = Taint("dedicated", "NoSchedule", "gpu")


def provision(
    cluster: Cluster, now: datetime = LATER, settings: Settings | None = None
) -> Provisioning:
    cluster.snapshot(NOW)
    return plan.plan(cluster.snapshot(now), cluster.catalogue, settings or Settings(), now)


def created(provisioning: Provisioning) -> list[NodeClaim]:
    return [c.node_claim for c in provisioning.commands if isinstance(c, CreateNodeClaim)]


def world(*objects: Object, types: Iterable[InstanceType] = ()) -> Cluster:
    return build.cluster(*objects, build.node_class(), catalogue_of=build.catalogue(*types))


def claim_of(pool: NodePool, *pods: Object, types: Iterable[InstanceType] = ()) -> NodeClaim:
    (claim,) = created(provision(world(*(pods or (build.pod(),)), pool, types=types)))
    return claim


@pytest.mark.parametrize(
    ("arrivals", "closes"),
    [
        pytest.param([0], 0.5, id="half a second after a lone pod"),
        pytest.param([0, 0.3], 0.8, id="half a second after the last pod"),
        pytest.param([0, 0.3, 0.6, 0.9], 1, id="a second after the first at the latest"),
    ],
)
def test_a_batch_closes(arrivals: list[float], closes: float) -> None:
    times = [NOW + each * SECOND for each in arrivals]

    assert batching.closes_at(times, Settings()) == NOW + closes * SECOND


def test_without_pods_nothing_is_planned() -> None:
    assert provision(world(build.node_pool())) == Provisioning()


def test_an_open_batch_is_waited_for() -> None:
    made = provision(world(build.pod(), build.node_pool()), NOW)

    assert made.commands == ()
    assert made.wake_at == NOW + SECOND / 2


@pytest.mark.parametrize(
    "pod",
    [
        build.pod(unschedulable=False),
        build.pod(owner="DaemonSet"),
        build.pod(owner="Node"),
        build.pod(deleted=NOW),
    ],
    ids=["not tried yet", "daemon", "static", "going"],
)
def test_pods_that_no_new_node_would_help_are_left_alone(pod: Object) -> None:
    assert provision(world(pod, build.node_pool())).commands == ()


def test_a_pod_for_which_kube_scheduler_makes_room_is_left_alone_until_that_has_come_to_nothing() -> (
    None
):
    guest = build.pod("guest", nominated_node_name="full", priority=10)
    node = build.node("full")
    victim = build.pod("victim", node="full", cpu="4", priority=1)

    def made(*there: Object) -> int:
        return len(provision(world(guest, node, *there, build.node_pool())).commands)

    assert made(build.pod("victim", node="full", cpu="4", priority=1, deleted=NOW)) == 0
    assert made(victim) == 1, "a hint that came to nothing"
    equal = build.pod("victim", node="full", cpu="4", priority=10, deleted=NOW)
    assert made(equal) == 1, "nobody is evicted for an equal"


def test_before_the_first_catalogue_nothing_is_planned() -> None:
    cluster = world(build.pod(), build.node_pool())
    snapshot = cluster.snapshot(NOW)

    made = plan.plan(snapshot, Cluster(Settings()).catalogue, Settings(), LATER)

    assert made.commands == ()
    assert not made.planned


def test_pods_that_are_expected_somewhere_are_not_planned_again() -> None:
    cluster = world(*build.pods(3), build.node_pool())
    first = provision(cluster)
    for command in first.commands:
        cluster.begin(command, LATER)

    second = provision(cluster, LATER + SECOND)

    assert second.commands == ()
    assert second.placements == first.placements


def test_after_a_restart_the_claims_on_their_way_are_counted_instead() -> None:
    claim = build.node_claim(launched=False, registered=False, initialized=False)

    made = provision(world(*build.pods(4), claim, build.node_pool()))

    assert created(made) == []
    assert set(made.placements.values()) == {claim.meta.name}


def test_a_pod_whose_node_is_going_is_planned_anew() -> None:
    cluster = world(build.pod(), build.node_pool(), build.node_claim(deleted=NOW))
    cluster.planned(Report(placements={"default/web-1": "default-aaaaa"}), NOW)

    assert len(created(provision(cluster))) == 1


def test_a_pod_that_an_initialized_node_did_not_get_is_planned_anew() -> None:
    claim = build.node_claim()
    cluster = world(
        build.pod(cpu="1"), build.node_pool(), claim, build.node(claim=claim, taints=[GPU])
    )
    cluster.planned(Report(placements={"default/web-1": "node-default-aaaaa"}), NOW)

    assert created(provision(cluster, NOW + 19 * SECOND)) == []
    assert len(created(provision(cluster, NOW + 21 * SECOND))) == 1


def test_pods_without_a_place_are_tried_again_after_ten_seconds() -> None:
    cluster = world(build.pod(cpu="99"), build.node_pool())
    first = provision(cluster)
    cluster.planned(Report(unschedulable=first.unschedulable, planned_pods=True), LATER)

    second = provision(cluster, LATER + SECOND)

    assert first.wake_at == second.wake_at == LATER + 10 * SECOND
    assert not second.planned
    assert provision(cluster, LATER + 10 * SECOND).planned


def test_pods_without_a_place_do_not_keep_a_batch_from_waiting() -> None:
    stuck = build.pod("stuck", cpu="99")
    cluster = world(stuck, build.pod("fresh"), build.node_pool())
    cluster.planned(
        Report(
            unschedulable=(Unschedulable(pods=(stuck.meta.key,), blockers=()),), planned_pods=True
        ),
        NOW,
    )

    assert provision(cluster, NOW).wake_at == NOW + SECOND / 2


def test_a_pod_without_a_place_is_told_why() -> None:
    (told,) = provision(world(build.pod(cpu="99"), build.node_pool())).commands

    assert isinstance(told, Announce)
    assert told.reason == "FailedScheduling"
    assert "asks for cpu 99; the most on one node is 32" in told.message


def test_the_claim_carries_its_pool_s_template() -> None:
    pool = build.node_pool(
        template_labels={"team": "x"},
        startup_taints=[GPU],
        termination_grace_period=timedelta(minutes=5),
    )

    claim = claim_of(pool)

    assert claim.meta.labels == {
        "team": "x",
        labels.NODEPOOL: "default",
        "karpenter.kwok.sh/kwoknodeclass": "default",
    }
    assert claim.meta.annotations == {
        labels.NODEPOOL_HASH: nodepool_hash.of(pool.template),
        labels.NODEPOOL_HASH_VERSION: "v3",
    }
    assert claim.startup_taints == (GPU,)
    assert claim.expire_after == timedelta(hours=720)
    assert claim.termination_grace_period == timedelta(minutes=5)


def test_the_claim_is_born_with_its_finalizer_and_owner() -> None:
    claim = claim_of(build.node_pool())

    assert claim.meta.finalizers == ("karpenter.sh/termination",)
    (owner,) = claim.meta.owners
    assert (owner.kind, owner.name, owner.uid, owner.block_owner_deletion) == (
        "NodePool",
        "default",
        "uid-default",
        True,
    )


def test_the_claim_asks_for_what_its_pods_and_daemon_sets_ask_for() -> None:
    claim = claim_of(
        build.node_pool(), build.pod(cpu="1"), build.daemon_set(cpu="100m", memory="10Mi")
    )

    assert claim.requests == {"cpu": 1100, "memory": 2**30 + 10 * 2**20, "pods": 2}


def test_the_claim_names_the_cheapest_types_that_one_launch_can_offer() -> None:
    cluster = world(build.pod(), build.node_pool())

    (claim,) = created(provision(cluster, settings=Settings(instance_types_per_launch_max=2)))

    assert claim.requirements.get(labels.INSTANCE_TYPE).sorted_values() == ("c-1x", "c-2x")


def test_min_values_lengthen_the_list_of_types() -> None:
    flexible = build.needs(build.require(labels.INSTANCE_TYPE, "Exists", min_values=3))
    cluster = world(build.pod(), build.node_pool(requirements=flexible))

    (claim,) = created(provision(cluster, settings=Settings(instance_types_per_launch_max=1)))

    assert len(claim.requirements.get(labels.INSTANCE_TYPE).values) == 3


def test_the_claim_says_in_which_capacity_types_it_can_be_had() -> None:
    claim = claim_of(build.node_pool(), types=build.family(capacity_types=("on-demand", "spot")))

    assert claim.requirements.get(labels.CAPACITY_TYPE).sorted_values() == ("on-demand", "spot")


@pytest.mark.parametrize(
    ("requirement", "value"),
    [
        pytest.param(build.require("team", "In", "y", "x"), "x", id="the first of a list"),
        pytest.param(build.require("team", "Gt", "4"), "5", id="the least of a range"),
        pytest.param(build.require("team", "Exists"), "0", id="anything"),
        pytest.param(
            build.require("team", "NotIn", "x"), None, id="nothing, where absence will do"
        ),
    ],
)
def test_a_custom_requirement_becomes_a_label(requirement: object, value: str | None) -> None:
    claim = claim_of(build.node_pool(requirements=build.needs(requirement)))  # type: ignore[arg-type]

    assert claim.meta.labels.get("team") == value


def test_names_follow_from_what_is_decided_and_when() -> None:
    def names(now: datetime) -> list[str]:
        cluster = world(*build.pods(70), build.node_pool())
        return [c.meta.name for c in created(provision(cluster, now))]

    assert names(LATER) == names(LATER)
    assert names(LATER) != names(LATER + SECOND)
    assert len(set(names(LATER))) == len(names(LATER)) > 1


def test_a_name_that_is_taken_is_not_given_again() -> None:
    pool = build.node_pool()
    (first,) = created(provision(world(build.pod(), pool)))

    (second,) = created(
        provision(world(build.pod(), pool, build.node_claim(first.meta.name, deleted=NOW)))
    )

    assert second.meta.name != first.meta.name


def test_a_pool_whose_last_claim_was_refused_is_left_alone_for_a_while() -> None:
    cluster = world(build.pod(), build.node_pool())
    (command,) = provision(cluster).commands
    cluster.begin(command, LATER)
    cluster.apply(answers.failed(command, LATER))

    made = provision(cluster, LATER)

    assert created(made) == []
    assert "could not be created" in str(made.unschedulable[0].blockers[0])


def test_pods_whose_room_others_have_taken_are_planned_together_once_no_more_lose_theirs() -> None:
    claim = build.node_claim(cpu="4")
    node = build.node(claim=claim)
    waiting = build.pods(3, cpu="1")
    cluster = world(*waiting, build.node_pool(), claim, node)
    places = {pod.meta.key: "node-default-aaaaa" for pod in waiting}
    cluster.planned(Report(placements=places), LATER)
    made: list[int] = []
    # kube-scheduler gives the node to others, one after the other.
    for number in range(3):
        now = LATER + number * SECOND / 2
        cluster.apply(events.Seen(build.pod(f"other-{number}", cpu="1200m", node=node.meta.name)))
        found = provision(cluster, now)
        made.append(len(created(found)))
        cluster.planned(Report(placements=found.placements), now)

    assert created(provision(cluster, LATER + 1.9 * SECOND)) == []
    last = provision(cluster, LATER + 2 * SECOND)

    assert made == [0, 0, 0]
    assert sum(len(c.pods) for c in last.commands if isinstance(c, CreateNodeClaim)) == 3
