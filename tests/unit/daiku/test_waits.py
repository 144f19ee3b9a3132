"""What holds a drain up is said with its name, and nothing that does not answer holds it for ever."""

from dataclasses import replace
from datetime import timedelta

import pytest
from tests import build
from tests.build import NOW

from daiku.cloud.errors import Denied, InstanceNotFound
from daiku.commands import Announce, Command, PatchNode, PatchNodeClaim, TerminateInstance
from daiku.events import Failed, Object
from daiku.lifecycle import detachment, plan, waits
from daiku.model import labels, taints
from daiku.model.condition import Condition, find
from daiku.model.pod import Pod
from daiku.model.taints import Toleration
from daiku.model.volume import PersistentVolumeClaim, VolumeAttachment
from daiku.settings import Settings
from daiku.state.cluster import Cluster

NODE = "node-default-aaaaa"
MINUTE = timedelta(minutes=1)
DRAINED = Condition(type="Drained", status="True", last_transition=NOW, observed_generation=1)
_GOING = build.node_claim(deleted=NOW)
GOING = replace(_GOING, conditions=(*_GOING.conditions, DRAINED))
MARKED = build.node(
    claim=GOING,
    deleted=NOW,
    taints=[taints.DISRUPTED],
    labels_of={labels.EXCLUDE_FROM_LOAD_BALANCERS: "karpenter"},
)
WEB = {"app": "web"}


def commands(cluster: Cluster, after: timedelta = timedelta(0)) -> list[Command]:
    now = NOW + after
    return plan.plan(cluster.snapshot(now), cluster.catalogue, Settings(), now).commands


def attached(name: str = "attachment-1", *, node: str = NODE, volume: str = "pv-1") -> Object:
    return VolumeAttachment(meta=build.meta(name), node=node, volume=volume)


def claimed(name: str = "data", volume: str = "pv-1") -> Object:
    return PersistentVolumeClaim(meta=build.meta(name, namespace="default"), volume=volume)


def terminates(made: list[Command]) -> bool:
    return any(isinstance(c, TerminateInstance) for c in made)


def condition(made: list[Command], kind: str) -> Condition | None:
    (patch,) = [c for c in made if isinstance(c, PatchNodeClaim)]
    return find(patch.conditions, kind)


def events_of(made: list[Command], reason: str) -> list[Announce]:
    return [c for c in made if isinstance(c, Announce) and c.reason == reason]


@pytest.mark.parametrize(
    ("pod", "said"),
    [
        pytest.param(
            build.pod(node=NODE, labels=WEB),
            "waits for PDB web-pdb: 0 disruptions allowed (default/web-1)",
            id="a budget",
        ),
        pytest.param(
            build.pod(node=NODE, annotations={labels.DO_NOT_DISRUPT: "true"}),
            "waits for annotation karpenter.sh/do-not-disrupt (default/web-1)",
            id="its owner",
        ),
        pytest.param(
            build.pod(node=NODE, annotations={labels.DO_NOT_DISRUPT: "1h"}),
            "waits for annotation karpenter.sh/do-not-disrupt until 2026-03-02T13:00:00+00:00 (default/web-1)",
            id="its owner, for a while",
        ),
        pytest.param(
            build.pod(node=NODE, deleted=NOW), "waits for pods to end (default/web-1)", id="its end"
        ),
        pytest.param(
            build.pod(node=NODE), "waits for pods to leave (default/web-1)", id="nothing else"
        ),
    ],
)
def test_what_a_pod_waits_for_is_named(pod: Pod, said: str) -> None:
    assert waits.sentence([pod], [build.pdb("web-pdb", match=WEB)], NOW) == said


def test_two_budgets_of_one_pod_are_named_because_no_eviction_can_pass_them() -> None:
    pod = build.pod(node=NODE, labels=WEB)
    both = [build.pdb("a", match=WEB, allowed=1), build.pdb("b", match=WEB, allowed=1)]

    assert "PDBs a and b" in waits.sentence([pod], both, NOW)
    assert waits.is_blocked([pod], both, NOW)


def test_budgets_of_other_namespaces_do_not_count() -> None:
    elsewhere = build.pdb(match=WEB)
    elsewhere = replace(elsewhere, meta=replace(elsewhere.meta, namespace="shop"))

    assert not waits.is_blocked([build.pod(node=NODE, labels=WEB)], [elsewhere], NOW)


def test_a_blocked_drain_is_told_on_the_node_and_one_that_goes_on_is_not() -> None:
    pod = build.pod(node=NODE, labels=WEB)

    blocked = commands(build.cluster(GOING, MARKED, pod, build.pdb("web-pdb", match=WEB)))
    free = commands(build.cluster(GOING, MARKED, pod, build.pdb("web-pdb", match=WEB, allowed=1)))

    (told,) = events_of(blocked, "FailedDraining")
    assert "waits for PDB web-pdb: 0 disruptions allowed" in told.message
    assert events_of(free, "FailedDraining") == []


def test_volumes_are_detached_before_the_machine_ends() -> None:
    waiting = commands(build.cluster(GOING, MARKED, attached()))
    done = commands(build.cluster(GOING, MARKED))

    assert not terminates(waiting)
    found = condition(waiting, "VolumesDetached")
    assert found is not None
    assert (found.status, found.reason) == ("Unknown", "AwaitingVolumeDetachment")
    assert "attachment-1" in events_of(waiting, "AwaitingVolumeDetachment")[0].message
    assert terminates(done)
    assert condition(done, "VolumesDetached") is not None


@pytest.mark.parametrize(
    ("attachment", "pod"),
    [
        pytest.param(attached(node="another"), None, id="of another node"),
        pytest.param(attached(volume=""), None, id="without a PersistentVolume"),
        pytest.param(
            attached(),
            build.pod(
                node=NODE, volume_claims=("data",), tolerations=[Toleration(operator="Exists")]
            ),
            id="of a pod that stays to the end",
        ),
        pytest.param(
            attached(),
            build.pod(node=NODE, volume_claims=("data",), deleted=NOW - 2 * MINUTE),
            id="of a pod that does not end",
        ),
    ],
)
def test_an_attachment_that_is_not_awaited(attachment: Object, pod: Pod | None) -> None:
    """Source: karpenter-core 3, awaitVolumeDetachment."""
    objects = [attachment, claimed(), *([pod] if pod is not None else [])]

    assert terminates(commands(build.cluster(GOING, MARKED, *objects)))


def test_past_the_deadline_volumes_are_not_waited_for() -> None:
    claim = replace(GOING, termination_grace_period=5 * MINUTE)
    cluster = build.cluster(claim, MARKED, attached())

    assert not terminates(commands(cluster, 4 * MINUTE))
    made = commands(cluster, 5 * MINUTE)

    assert terminates(made)
    found = condition(made, "VolumesDetached")
    assert found is not None
    assert (found.status, found.reason) == ("False", "TerminationGracePeriodElapsed")


def test_without_a_deadline_volumes_have_their_time_too() -> None:
    cluster = build.cluster(GOING, MARKED, attached())

    made = commands(cluster, detachment.LONGEST)

    assert terminates(made)
    found = condition(made, "VolumesDetached")
    assert found is not None
    assert found.reason == "VolumeDetachmentTimedOut"


def test_a_node_whose_machine_is_gone_and_that_others_hold_does_not_keep_its_claim_for_ever() -> (
    None
):
    held = replace(MARKED, meta=replace(MARKED.meta, finalizers=("example.com/hold",)))
    cluster = build.cluster(GOING, held)
    end = TerminateInstance(provider_id=GOING.provider_id, node_claim=GOING.meta.name)
    cluster.apply(Failed(end, InstanceNotFound("gone"), NOW))

    def lets_go(made: list[Command]) -> bool:
        return any(isinstance(c, PatchNodeClaim) and c.remove_finalizer for c in made)

    assert not lets_go(commands(cluster, 4 * MINUTE))
    made = commands(cluster, 5 * MINUTE)
    assert lets_go(made)
    assert "example.com/hold" in events_of(made, "FinalizerForced")[0].message


def test_a_machine_that_the_cloud_does_not_end_is_told_and_never_let_go() -> None:
    cluster = build.cluster(GOING, MARKED)
    end = TerminateInstance(provider_id=GOING.provider_id, node_claim=GOING.meta.name)
    for _ in range(3):
        cluster.apply(Failed(end, Denied("ec2:TerminateInstances is not allowed"), NOW))

    made = commands(cluster)

    assert "is not allowed" in events_of(made, "FailedTermination")[0].message
    assert not any(isinstance(c, PatchNode | PatchNodeClaim) and c.remove_finalizer for c in made)


def test_a_deadline_is_told_on_both_halves() -> None:
    claim = replace(build.node_claim(deleted=NOW), termination_grace_period=5 * MINUTE)
    node = build.node(claim=claim, deleted=NOW)

    told = events_of(commands(build.cluster(claim, node)), "TerminationGracePeriodExpiring")

    assert {event.kind for event in told} == {"NodeClaim", "Node"}
    assert all("2026-03-02T12:05:00" in event.message for event in told)
