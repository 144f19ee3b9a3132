"""What is believed after which events."""

from dataclasses import replace
from datetime import timedelta

import pytest
from tests import build
from tests.build import NOW

from daiku import events
from daiku.commands import (
    Announce,
    CreateNodeClaim,
    DeleteNodeClaim,
    Evict,
    PatchNode,
    PodRef,
)
from daiku.events import (
    Done,
    Failed,
    Gone,
    Listed,
    Outdated,
    Seen,
)
from daiku.model import labels
from daiku.model.meta import Meta
from daiku.model.namespace import Namespace
from daiku.model.node import Node
from daiku.model.pod import Pod
from daiku.report import Report, Unschedulable
from daiku.settings import Settings
from daiku.state.cluster import KINDS, Cluster

SECOND = timedelta(seconds=1)
DELETE = DeleteNodeClaim(name="default-aaaaa", uid="uid", reason="Empty")


def test_nothing_is_synced_before_every_kind_was_listed() -> None:
    cluster = Cluster(Settings())
    for kind in KINDS[:-1]:
        cluster.apply(Listed(kind, frozenset()))

    assert not cluster.synced
    cluster.apply(Listed(KINDS[-1], frozenset()))
    assert cluster.synced


def test_nothing_is_synced_while_a_kind_has_to_be_listed_again() -> None:
    """As after a restored backup: a Node may have lost its taint while its pods are still asked to leave."""
    cluster = build.cluster(build.node("a"))
    for kind in KINDS:
        cluster.apply(Listed(kind, frozenset({"a"}) if kind is Node else frozenset()))

    cluster.apply(Outdated(Node))

    assert not cluster.synced
    assert [s.name for s in cluster.snapshot(NOW).state_nodes] == ["a"]
    cluster.apply(Listed(Node, frozenset({"a"})))
    assert cluster.synced


def test_a_list_takes_away_what_it_does_not_name() -> None:
    cluster = build.cluster(build.node("a"), build.node("b"))

    cluster.apply(Listed(Node, frozenset({"b"})))

    assert [s.name for s in cluster.snapshot(NOW).state_nodes] == ["b"]


def test_an_event_that_comes_twice_changes_nothing() -> None:
    pod = build.pod()
    cluster = build.cluster(pod)
    before = cluster.snapshot(NOW)

    cluster.apply(Seen(pod))

    assert cluster.snapshot(NOW) == before


def test_a_node_and_its_claim_are_one_by_provider_id() -> None:
    claim = build.node_claim()

    (state_node,) = build.cluster(claim, build.node(claim=claim)).snapshot(NOW).state_nodes

    assert state_node.claim == claim
    assert state_node.name == "node-default-aaaaa"


def test_a_pod_moves_from_waiting_to_its_node() -> None:
    pod = build.pod()
    cluster = build.cluster(pod, build.node("a"))

    cluster.apply(Seen(replace(pod, node_name="a")))

    snapshot = cluster.snapshot(NOW)
    assert snapshot.waiting == ()
    assert [p.meta.name for p in snapshot.state_nodes[0].pods] == ["web-1"]


def test_a_command_holds_its_key_until_it_comes_back() -> None:
    cluster = build.cluster()

    cluster.begin(DELETE, NOW)

    assert cluster.snapshot(NOW + timedelta(hours=1)).is_held(DELETE.key)


def test_what_was_done_is_not_asked_again_until_it_is_seen_or_a_while_has_passed() -> None:
    claim = build.node_claim()
    cluster = build.cluster(claim)
    cluster.begin(DELETE, NOW)
    cluster.apply(Done(DELETE, NOW))

    assert cluster.snapshot(NOW + SECOND).is_held(DELETE.key)
    assert not cluster.snapshot(NOW + 10 * SECOND).is_held(DELETE.key)
    cluster.apply(Seen(replace(claim, meta=replace(claim.meta, resource_version="999999"))))
    assert not cluster.snapshot(NOW + SECOND).is_held(DELETE.key)


def test_an_effect_that_is_seen_before_the_answer_counts_too() -> None:
    claim = build.node_claim()
    cluster = build.cluster(claim)
    cluster.begin(DELETE, NOW)
    cluster.apply(Seen(replace(claim, meta=replace(claim.meta, resource_version="999999"))))

    cluster.apply(Done(DELETE, NOW))

    assert not cluster.snapshot(NOW).is_held(DELETE.key)


def test_failures_are_paused_for_longer_each_time() -> None:
    evict = Evict(namespace="default", name="web-1", uid="uid")
    cluster = build.cluster()

    pauses = []
    for _ in range(9):
        cluster.begin(evict, NOW)
        cluster.apply(Failed(evict, RuntimeError("refused"), NOW))
        until = cluster.snapshot(NOW).holds[evict.key].until
        assert until is not None
        pauses.append((until - NOW).total_seconds())

    assert pauses == [1, 2, 4, 8, 16, 32, 60, 60, 60]


def test_a_pause_that_the_other_side_asked_for_is_kept() -> None:
    evict = Evict(namespace="default", name="web-1", uid="uid")
    cluster = build.cluster()

    cluster.apply(Failed(evict, RuntimeError("budget"), NOW, retry_after_seconds=10))

    assert cluster.snapshot(NOW).holds[evict.key].until == NOW + 10 * SECOND


def test_an_announcement_is_not_repeated_for_two_minutes() -> None:
    told = Announce(
        kind="Pod", namespace="default", name="a", uid="u", type="Warning", reason="R", message="m"
    )
    cluster = build.cluster()
    cluster.begin(told, NOW)
    cluster.apply(Done(told, NOW))

    assert cluster.snapshot(NOW + 119 * SECOND).is_held(told.key)
    assert not cluster.snapshot(NOW + 121 * SECOND).is_held(told.key)


def test_a_claim_that_was_asked_for_counts_before_it_is_seen() -> None:
    claim = build.node_claim(launched=False, registered=False, initialized=False)
    create = CreateNodeClaim(node_claim=claim, pods=("default/web-1",))
    cluster = build.cluster(build.pod())

    cluster.begin(create, NOW)

    snapshot = cluster.snapshot(NOW)
    assert [(s.name, s.expected) for s in snapshot.state_nodes] == [("default-aaaaa", True)]
    assert snapshot.nominations["default/web-1"].target == "default-aaaaa"
    cluster.apply(Seen(claim))
    assert [s.expected for s in cluster.snapshot(NOW).state_nodes] == [False]


def test_a_claim_that_was_refused_is_forgotten_and_its_pool_paused() -> None:
    create = CreateNodeClaim(node_claim=build.node_claim())
    cluster = build.cluster()
    cluster.begin(create, NOW)

    cluster.apply(Failed(create, RuntimeError("webhook says no"), NOW))

    snapshot = cluster.snapshot(NOW)
    assert snapshot.state_nodes == ()
    assert snapshot.is_held("Create/default")


def test_a_claim_that_never_turns_up_is_forgotten() -> None:
    create = CreateNodeClaim(node_claim=build.node_claim())
    cluster = build.cluster()
    cluster.begin(create, NOW)
    cluster.apply(Done(create, NOW))

    assert cluster.snapshot(NOW + 61 * SECOND).state_nodes == ()


def test_nominations_end_with_their_pod() -> None:
    cluster = build.cluster(build.pod(), build.node("a"))
    cluster.planned(Report(placements={"default/web-1": "a"}, planned_pods=True), NOW)

    cluster.apply(Gone(Pod, "default/web-1"))

    assert cluster.snapshot(NOW).nominations == {}


def test_what_had_no_place_is_kept_until_a_pool_changes() -> None:
    pool = build.node_pool()
    cluster = build.cluster(build.pod(), pool)
    stuck = Unschedulable(pods=("default/web-1", "default/gone"), blockers=())
    cluster.planned(Report(unschedulable=(stuck,), planned_pods=True), NOW)

    assert cluster.snapshot(NOW).unschedulable[0].pods == ("default/web-1",)
    changed = replace(pool.meta, generation=2, resource_version="999999")
    cluster.apply(Seen(replace(pool, meta=changed)))
    assert cluster.snapshot(NOW).unschedulable == ()


@pytest.mark.parametrize("owner", ["ReplicaSet", "DaemonSet"])
def test_the_time_of_the_last_pod_is_kept_per_node_and_daemons_do_not_count(owner: str) -> None:
    pod = build.pod(node="a", owner=owner)
    cluster = build.cluster(build.node("a"), pod)

    cluster.apply(Gone(Pod, pod.meta.key))

    event = cluster.snapshot(NOW + SECOND).state_nodes[0].pod_event
    assert event == (NOW + SECOND if owner == "ReplicaSet" else None)


def test_a_pod_that_ends_counts_as_leaving() -> None:
    pod = build.pod(node="a")
    cluster = build.cluster(build.node("a"), pod)

    cluster.apply(Seen(replace(pod, phase="Succeeded")))

    assert cluster.snapshot(NOW + SECOND).state_nodes[0].pod_event == NOW + SECOND


def test_pods_of_the_first_list_came_when_they_were_bound() -> None:
    pod = build.pod(node="a", scheduled=NOW - timedelta(hours=1))

    snapshot = build.cluster(build.node("a"), pod).snapshot(NOW)

    assert snapshot.state_nodes[0].pod_event == NOW - timedelta(hours=1)


def test_a_new_catalogue_replaces_the_old_one() -> None:
    cluster = build.cluster()

    cluster.apply(events.CatalogueRefreshed(build.catalogue(version=7)))

    assert cluster.catalogue.version == 7


def test_what_cannot_change_a_decision_says_so() -> None:
    node = build.node("a")
    cluster = build.cluster(node)
    beat = replace(node, meta=replace(node.meta, resource_version="2"))

    assert not cluster.apply(Seen(node)), "listed again"
    assert not cluster.apply(Seen(beat)), "a heartbeat"
    assert not cluster.apply(Gone(Node, "never-seen"))
    assert not cluster.apply(Listed(Node, frozenset({"a"})))
    assert cluster.apply(Seen(replace(node, unschedulable=True))), "cordoned"
    assert cluster.apply(Gone(Node, "a"))


def test_an_answer_counts_when_its_effect_is_seen_or_its_time_is_over() -> None:
    patch = PatchNode(name="a", resource_version="1", labels={"x": "y"})
    node = build.node("a")
    cluster = build.cluster(node)
    cluster.begin(patch, NOW)

    assert not cluster.apply(Done(patch, NOW))
    assert cluster.again_at == NOW + 3 * SECOND
    assert cluster.apply(Seen(replace(node, meta=replace(node.meta, resource_version="2"))))
    assert cluster.again_at is None


def test_a_write_that_failed_is_decided_anew_when_its_pause_is_over() -> None:
    patch = PatchNode(name="a", resource_version="1", labels={"x": "y"})
    cluster = build.cluster(build.node("a"))
    cluster.begin(patch, NOW)

    assert not cluster.apply(Failed(patch, RuntimeError("conflict"), NOW, None))
    assert cluster.again_at == NOW + SECOND
    assert patch.key in cluster.snapshot(NOW).holds
    assert cluster.again_at is None, "who decides now knows of the pause, and says when to go on"


def test_with_as_many_commands_under_way_as_may_be_every_answer_counts() -> None:
    patch = PatchNode(name="a", resource_version="1", labels={"x": "y"})
    cluster = Cluster(Settings(commands_in_flight_max=1))
    cluster.begin(patch, NOW)

    assert cluster.apply(Done(patch, NOW))


def test_a_node_to_which_pods_were_only_nominated_is_left_alone_for_a_second() -> None:
    guest = PodRef(namespace="default", name="guest", uid="1")
    only = PatchNode(name="a", resource_version="1", nominates=(guest,))
    cluster = build.cluster(build.node("a"))
    cluster.begin(only, NOW)
    cluster.apply(Done(only, NOW))

    assert cluster.snapshot(NOW).holds[only.key].until == NOW + SECOND


def test_a_namespace_that_begins_to_ask_for_surges_could_change_a_disruption() -> None:
    silent = Namespace(meta=Meta(name="default", resource_version="1"))
    asks = {labels.SURGE: "true"}
    asking = Namespace(meta=Meta(name="default", resource_version="2", annotations=asks))
    cluster = build.cluster(silent)
    before = cluster.snapshot(NOW).changes

    assert cluster.apply(Seen(asking))
    assert cluster.snapshot(NOW).changes == before + 1
