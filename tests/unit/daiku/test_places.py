"""Places that are kept for pods which move: each successor gets one, and no other pod gets it."""

from datetime import timedelta

from tests import build

from daiku.commands import CreateNodeClaim
from daiku.events import Gone, Seen
from daiku.model import labels, taints
from daiku.model.pod import Pod

NEW = ("default-new-1", "default-new-2")


def test_a_pod_that_has_a_place_gets_no_second_one_when_more_become_free() -> None:
    """Successors come one after the other, and those that came first wait until all are there."""
    old = [build.pod(f"old-{n}", cpu="1", node="node-default-aaaaa") for n in (1, 2)]
    claim = build.node_claim()
    cluster = build.cluster(claim, build.node(claim=claim), *old, build.node_pool())
    for name, pod in zip(NEW, old, strict=True):
        new = build.node_claim(name, annotations={labels.AWAITING_PODS: "true"})
        cluster.begin(CreateNodeClaim(node_claim=new, pods=(pod.meta.key,)), build.NOW)
        for each in (new, build.node(f"node-{name}", claim=new, taints=[taints.AWAITING_PODS])):
            cluster.apply(Seen(each))

    targets: list[dict[str, str]] = []
    for number, pod in enumerate(old, start=1):
        cluster.apply(Gone(Pod, pod.meta.key))
        cluster.apply(Seen(build.pod(f"successor-{number}", cpu="1")))
        nominations = cluster.snapshot(build.NOW).nominations
        targets.append({key: each.target for key, each in nominations.items()})

    first, second = targets
    assert set(second.values()) == set(NEW)
    assert first.items() <= second.items()


def test_the_room_of_a_pod_that_has_gone_is_kept_for_its_successor_for_some_seconds() -> None:
    """A ReplicaSet needs a second or two to make hundreds."""
    old = build.pod("old", node="node-default-aaaaa")
    claim = build.node_claim()
    new = build.node_claim(NEW[0], annotations={labels.AWAITING_PODS: "true"})
    cluster = build.cluster(claim, build.node(claim=claim), old, build.node_pool())
    cluster.begin(CreateNodeClaim(node_claim=new, pods=(old.meta.key,)), build.NOW)
    cluster.apply(Seen(new))
    cluster.apply(Seen(build.node("node-new", claim=new, taints=[taints.AWAITING_PODS])))
    cluster.apply(Gone(Pod, old.meta.key))

    kept = {
        seconds: len(cluster.snapshot(build.NOW + timedelta(seconds=seconds)).places[NEW[0]])
        for seconds in (0, 4, 5)
    }

    assert kept == {0: 1, 4: 1, 5: 0}
