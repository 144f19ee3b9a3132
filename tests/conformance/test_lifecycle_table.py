"""What becomes of a NodeClaim and its Node in cases that few clusters see and every one may.

Source of each row: Karpenter's suites of nodeclaim.lifecycle, node.termination, nodeclaim.expiration and
nodeclaim.disruption, in our words (test_checklist.py names the rest of them).
"""

from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime, timedelta

import pytest
from tests import build
from tests.build import NOW

from daiku.commands import Command, DeleteNodeClaim, DeletePod, Evict, PatchNode, PatchNodeClaim
from daiku.events import Object
from daiku.lifecycle import plan
from daiku.model import labels, taints
from daiku.model.condition import Condition, find
from daiku.model.nodeclaim import NodeClaim
from daiku.model.pod import Pod
from daiku.model.taints import Taint, Toleration
from daiku.settings import Settings

MINUTE = timedelta(minutes=1)
CNI, GPU = Taint("cni", "NoSchedule"), Taint("dedicated", "NoSchedule", "gpu")
LAUNCHED = build.node_claim(
    registered=False, initialized=False, taints=(GPU,), startup_taints=(CNI,)
)
GOING = build.node_claim(deleted=NOW)
NODE = "node-default-aaaaa"
UNSCHEDULABLE = "node.kubernetes.io/unschedulable"


def decide(
    *objects: Object, after: timedelta = timedelta(0), settings: Settings | None = None
) -> list[Command]:
    cluster = build.cluster(*objects, build.node_pool(), build.node_class(), settings=settings)
    at = NOW + after
    return plan.plan(cluster.snapshot(at), cluster.catalogue, settings or Settings(), at).commands


def patched(made: list[Command], kind: str) -> Condition | None:
    patches = [c for c in made if isinstance(c, PatchNodeClaim)]
    return next((found for p in patches if (found := find(p.conditions, kind))), None)


@pytest.mark.parametrize(
    ("said", "synced"),
    [
        pytest.param({}, True, id="the label is absent"),
        pytest.param({labels.DO_NOT_SYNC_TAINTS: "false"}, True, id="it is not true"),
        pytest.param({labels.DO_NOT_SYNC_TAINTS: "true"}, False, id="it is true"),
    ],
)
def test_taints_and_startup_taints_reach_a_node_unless_it_forbids_it(
    said: Mapping[str, str], *, synced: bool
) -> None:
    node = build.node(
        claim=LAUNCHED, registered=False, initialized=False, taints=[taints.UNREGISTERED],
        labels_of=said,
    )  # fmt: skip

    (patch,) = [c for c in decide(LAUNCHED, node) if isinstance(c, PatchNode)]

    assert set(patch.taints or ()) == ({CNI, GPU} if synced else set())


def test_a_startup_taint_that_was_taken_off_is_never_put_back() -> None:
    claim = build.node_claim(initialized=False, startup_taints=(CNI,), taints=(GPU,))
    node = build.node(claim=claim, initialized=False, taints=[GPU])

    patches = [c for c in decide(claim, node) if isinstance(c, PatchNode)]

    assert [p.taints for p in patches if p.taints] == []


@pytest.mark.parametrize(
    ("there", "waits_for"),
    [
        pytest.param([Taint("readiness.k8s.io/network", "NoSchedule")], "KnownEphemeralTaintsExist",
                     id="a taint of readiness"),
        pytest.param([Taint("node.kubernetes.io/unreachable", "NoSchedule")], "KnownEphemeralTaintsExist",
                     id="a taint of the node controller"),
        pytest.param([Taint("somebody.io/own", "NoSchedule")], "", id="somebody's own"),
        pytest.param([], "", id="none"),
    ],
)  # fmt: skip
def test_an_initialized_node_has_no_taints_that_go_away_by_themselves(
    there: list[Taint], waits_for: str
) -> None:
    claim = build.node_claim(initialized=False)
    node = build.node(claim=claim, initialized=False, taints=there)
    made = decide(claim, node, after=timedelta(seconds=10))

    found = patched(made, "Initialized")

    assert (found.reason if found is not None and found.status != "True" else "") == waits_for


def test_a_resource_that_a_claim_asks_for_and_its_node_shows_later_is_waited_for() -> None:
    claim = build.node_claim(initialized=False)
    late = build.node(claim=claim, initialized=False, allocatable={"cpu": 0, "pods": 110})
    there = build.node(claim=claim, initialized=False)

    def is_labelled(made: list[Command]) -> bool:
        return any(
            isinstance(c, PatchNode) and (c.labels or {}).get(labels.INITIALIZED) for c in made
        )

    assert not is_labelled(decide(claim, late))
    assert is_labelled(decide(claim, there))


def _since(claim: NodeClaim, kind: str, moment: timedelta) -> NodeClaim:
    said = Condition(
        type=kind, status="Unknown", reason="x", last_transition=NOW + moment,
        observed_generation=claim.meta.generation,
    )  # fmt: skip
    others = tuple(c for c in claim.conditions if c.type != kind)
    return replace(claim, conditions=(*others, said))


@pytest.mark.parametrize(
    ("claim", "after", "reason"),
    [
        pytest.param(_since(LAUNCHED, "Registered", 5 * MINUTE), 16, "", id="since it was launched, not born"),
        pytest.param(_since(LAUNCHED, "Registered", 5 * MINUTE), 21, "registration_timeout", id="its node is late"),
        pytest.param(build.node_claim(), 10_000, "", id="a registered one lives on"),
        pytest.param(build.node_claim(expire_after=None), 100_000, "", id="expireAfter is Never"),
        pytest.param(build.node_claim(expire_after=60 * MINUTE), 59, "", id="not yet"),
        pytest.param(build.node_claim(expire_after=60 * MINUTE), 60, "expired", id="its time is over"),
        pytest.param(build.node_claim(expire_after=60 * MINUTE, deleted=NOW), 60, "", id="it is going, not twice"),
    ],
)  # fmt: skip
def test_how_long_a_claim_may_live(claim: NodeClaim, after: int, reason: str) -> None:
    registered = build.node(claim=claim) if claim.is_true("Registered") else None
    made = decide(claim, *([registered] if registered else []), after=after * MINUTE)

    assert [c.reason for c in made if isinstance(c, DeleteNodeClaim)] == (
        [reason] if reason else []
    )


def test_a_claim_that_is_going_keeps_its_conditions_at_its_generation() -> None:
    older = replace(GOING, meta=replace(GOING.meta, generation=GOING.meta.generation + 1))
    made = decide(older, build.node(claim=older, deleted=NOW))

    (patch,) = [c for c in made if isinstance(c, PatchNodeClaim)]

    assert patch.conditions
    assert {c.observed_generation for c in patch.conditions} == {older.meta.generation}


@pytest.mark.parametrize(
    ("pod", "leaves"),
    [
        pytest.param(build.pod(node=NODE), True, id="an ordinary one"),
        pytest.param(build.pod(node=NODE, owner=""), True, id="one without an owner"),
        pytest.param(build.pod(node=NODE, tolerations=[Toleration(operator="Exists", key=UNSCHEDULABLE)]),
                     True, id="one that tolerates only unschedulable"),
        pytest.param(build.pod(node=NODE, tolerations=[Toleration(operator="Exists", key=labels.DISRUPTED_TAINT)]),
                     False, id="one that tolerates the disrupted taint"),
        pytest.param(build.pod(node=NODE, tolerations=[
            Toleration(operator="Equal", key=labels.DISRUPTED_TAINT, value="", effect="NoSchedule")]),
            False, id="one that tolerates it by value"),
        pytest.param(build.pod(node=NODE, phase="Succeeded"), False, id="one that has ended"),
        pytest.param(build.pod(node=NODE, owner="Node"), False, id="a static one"),
    ],
)  # fmt: skip
def test_who_is_asked_to_leave(pod: Pod, *, leaves: bool) -> None:
    mark = {labels.EXCLUDE_FROM_LOAD_BALANCERS: "karpenter"}
    node = build.node(claim=GOING, deleted=NOW, taints=[taints.DISRUPTED], labels_of=mark)

    made = decide(GOING, node, pod)

    asked = [c.uid for c in made if isinstance(c, Evict | DeletePod)]
    # By its uid: a new pod of the same name is another one.
    assert asked == ([pod.meta.uid] if leaves else [])


@pytest.mark.parametrize(
    ("claim", "there"),
    [
        pytest.param(build.node_claim(initialized=False), True, id="it is not initialized"),
        pytest.param(build.node_claim(pool="gone"), True, id="its pool is gone"),
    ],
)
def test_a_claim_that_is_not_consolidatable(claim: NodeClaim, *, there: bool) -> None:
    nodes = [build.node(claim=claim, initialized=claim.is_true("Initialized"))] if there else []

    assert patched(decide(claim, *nodes, after=60 * MINUTE), "Consolidatable") is None


@pytest.mark.parametrize("deleted", [None, NOW], ids=["that lives", "that is going"])
def test_what_belongs_to_another_controller_is_left_alone_in_every_state(
    deleted: datetime | None,
) -> None:
    ours = Settings(node_class_kind=("karpenter.k8s.aws", "EC2NodeClass"))
    claim = replace(LAUNCHED, meta=replace(LAUNCHED.meta, deleted=deleted))
    node = build.node(claim=claim, registered=False, initialized=False, deleted=deleted)

    made = decide(claim, node, after=60 * MINUTE, settings=ours)

    assert made == []


def test_a_node_that_went_back_to_its_birth_is_registered_again() -> None:
    """A backup of etcd was restored, and the claim was written on what had been true before."""
    claim = build.node_claim(initialized=False)
    node = build.node(
        claim=claim, registered=False, initialized=False, taints=[taints.UNREGISTERED]
    )

    (patch,) = [c for c in decide(claim, node) if isinstance(c, PatchNode)]

    assert patch.labels is not None
    assert patch.labels[labels.REGISTERED] == "true"
    assert taints.UNREGISTERED not in (patch.taints or ())
