"""Places that are kept for pods which move: each successor gets one, and no other pod gets it."""

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
