"""Where the simulated kube-scheduler puts pods: by room, wishes to be spread, soft taints and nominations."""

from dataclasses import replace

from tests import build

from daiku.model.pod import Pod
from daiku.model.requirements import Requirements
from daiku.model.taints import Taint
from daiku.model.topology import Spread
from daiku.simulation.scheduler import Scheduler

SOFT = Spread(
    key="topology.kubernetes.io/zone",
    max_skew=1,
    hard=False,
    selector=Requirements.from_labels({"app": "web"}),
)
ZONES = {"a-1": "zone-a", "a-2": "zone-a", "b-1": "zone-b"}
"""Name of a node -> its zone; they are alike in all else."""


def _template(*spread: Spread) -> Pod:
    return build.pod("web", labels={"app": "web"}, spread=spread)


def _put(scheduler: Scheduler, template: Pod, count: int) -> list[str]:
    """The zones of pods that come one after the other."""
    zones: list[str] = []
    for number in range(count):
        pod = replace(template, meta=replace(template.meta, name=f"web-{number}"))
        node = scheduler.best(pod, template)
        assert node is not None
        scheduler.take(node, pod)
        zones.append(ZONES[node])
    return zones


def _with_nodes(*templates: Pod) -> Scheduler:
    scheduler = Scheduler(templates)
    for name, zone in ZONES.items():
        scheduler.see(build.node(name, labels_of={SOFT.key: zone}))
    return scheduler


def test_pods_go_where_the_fewest_like_them_are_before_where_most_room_is() -> None:
    template = _template(SOFT)

    assert _put(_with_nodes(template), template, 4) == ["zone-a", "zone-b", "zone-a", "zone-b"]


def test_pods_of_nobody_go_where_most_room_is() -> None:
    template = replace(_template(), meta=replace(_template().meta, owners=()))

    assert _put(_with_nodes(template), template, 3) == ["zone-a", "zone-a", "zone-b"]


def test_pods_of_a_replica_set_are_spread_over_zones_and_nodes_unasked() -> None:
    template = _template()
    scheduler = _with_nodes(template)
    scheduler.take("b-1", build.pod("other", cpu="1", node="b-1", owner="Job"))

    assert _put(scheduler, template, 3) == ["zone-a", "zone-b", "zone-a"], "although b-1 is fuller"


def test_room_counts_for_more_than_one_pod_like_it_in_a_large_crowd() -> None:
    """For the smaller crowd on b-1 and in its zone it has 56 of 200 points more, for its room 75 of 100 less."""
    template = _template()
    scheduler = _with_nodes(template)
    for number in range(20):
        name = "a-1" if number < 10 else "a-2"
        pod = replace(template, meta=replace(template.meta, name=f"old-{number}"), requests={})
        scheduler.take(name, pod)
    for number in range(10):
        pod = replace(template, meta=replace(template.meta, name=f"b-{number}"), requests={})
        scheduler.take("b-1", pod)
    scheduler.take("b-1", build.pod("other", cpu="3", node="b-1", owner="Job"))

    assert _put(scheduler, template, 1) == ["zone-a"]


def test_who_has_left_does_not_count_even_when_its_node_is_gone() -> None:
    template = _template(SOFT)
    scheduler = _with_nodes(template)
    leaving = replace(template, meta=replace(template.meta, name="web-9"))
    scheduler.take("b-1", leaving)
    scheduler.lose("b-1")

    scheduler.take("b-1", leaving, 1)
    scheduler.see(build.node("b-1", labels_of={SOFT.key: "zone-b"}))

    assert _put(scheduler, template, 2) == ["zone-a", "zone-b"]


def test_pods_that_must_be_spread_are_left_to_the_engine() -> None:
    soft, hard = _template(SOFT), _template(replace(SOFT, hard=True))
    scheduler = _with_nodes(soft, hard)

    assert scheduler.is_plain(soft)
    assert not scheduler.is_plain(hard)


def test_a_nominated_pod_goes_there_and_its_room_is_kept_from_equals_but_not_from_its_betters() -> (
    None
):
    guest = build.pod("guest", cpu="3", nominated_node_name="a-2")
    other, better = build.pod("other", cpu="3"), build.pod("better", cpu="3", priority=1)
    scheduler = _with_nodes(guest, other, better)
    for name in ("a-1", "b-1"):
        scheduler.take(name, build.pod("full", cpu="4", node=name))
    scheduler.nominate([guest])

    assert scheduler.best(other, other) is None
    assert scheduler.best(better, better) == "a-2"
    assert scheduler.nominated(guest, guest) == "a-2"
    scheduler.take("a-2", build.pod("better", cpu="3", node="a-2"))
    assert scheduler.nominated(guest, guest) is None, "its room is gone"


def test_a_node_that_pods_would_rather_not_go_to_is_the_last_one() -> None:
    template = build.pod()
    scheduler = Scheduler([template])
    scheduler.see(build.node("avoided", cpu="64", taints=[Taint("soft", "PreferNoSchedule")]))
    scheduler.see(build.node("small", cpu="1"))

    assert scheduler.best(template, template) == "small"
    scheduler.take("small", build.pod(node="small"))
    assert scheduler.best(template, template) == "avoided"
