"""The room that DaemonSets take: on new nodes by instance type, on existing ones as far as they are not there yet.

Source: karpenter-core, provisioning/suite_test.go, "Daemonsets", and scheduling/suite_test.go, "In-Flight Nodes" and
"Existing Nodes" for DaemonSets; the DaemonSet controller for its tolerations.
"""

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
from tests import build
from tests.plans import Small

from daiku import events
from daiku.model import labels
from daiku.model.daemonset import DaemonSet
from daiku.model.nodepool import NodePool
from daiku.model.pod import Pod
from daiku.model.taints import Taint, Toleration
from daiku.model.topology import HostPort, Preferred

DEDICATED = Taint("dedicated", "NoSchedule")
TYPES = build.family(sizes=(1, 2, 4), gib_per_cpu=4)
EXISTS = (Toleration(operator="Exists"),)
PORT = (HostPort(ip="0.0.0.0", port=80, protocol="TCP"),)  # noqa: S104 - compared, not bound


def team(value: str) -> Any:
    return build.needs(build.require("team", "In", value))


def agent(**fields: Any) -> DaemonSet:
    return build.daemon_set(**{"cpu": "500m", "memory": "64Mi", **fields})


@pytest.mark.parametrize(
    ("daemon", "pool", "told"),
    [
        pytest.param(agent(), {}, ["1 on new c-2x"], id="it needs room"),
        pytest.param(agent(cpu="0", memory="0"), {}, ["1 on new c-1x"], id="it asks for nothing"),
        pytest.param(agent(cpu="99"), {}, ["1 DaemonSetDoesNotFit"], id="too large for any type"),
        pytest.param(
            agent(), {"taints": [DEDICATED]}, ["1 on new c-1x"], id="it does not tolerate the taint"
        ),
        pytest.param(
            agent(tolerations=EXISTS), {"taints": [DEDICATED]}, ["1 on new c-2x"], id="it does"
        ),
        pytest.param(
            agent(), {"startup_taints": [DEDICATED]}, ["1 on new c-2x"], id="startup taints go away"
        ),
        pytest.param(
            agent(),
            {"taints": [Taint("soft", "PreferNoSchedule")]},
            ["1 on new c-2x"],
            id="a taint that only prefers does not keep it away",
        ),
        pytest.param(
            agent(node_selector={"team": "x"}), {}, ["1 on new c-1x"], id="a label of nobody"
        ),
        pytest.param(
            agent(node_selector={"team": "x"}),
            {"template_labels": {"team": "x"}},
            ["1 on new c-2x"],
            id="a label of the NodePool",
        ),
        pytest.param(
            agent(node_selector={"team": "x"}),
            {"template_labels": {"team": "y"}},
            ["1 on new c-1x"],
            id="another value of the NodePool's label",
        ),
        pytest.param(
            agent(required_node_affinity=(build.needs(build.require("team", "NotIn", "x")),)),
            {},
            ["1 on new c-2x"],
            id="NotIn of a label of nobody",
        ),
        pytest.param(
            agent(required_node_affinity=(team("x"), team("y"))),
            {"template_labels": {"team": "y"}},
            ["1 on new c-2x"],
            id="the second of its terms",
        ),
        pytest.param(
            agent(preferred_node_affinity=(Preferred(weight=1, node=team("x")),)),
            {},
            ["1 on new c-2x"],
            id="what it prefers does not matter",
        ),
        pytest.param(
            agent(node_selector={labels.INSTANCE_TYPE: "c-4x"}),
            {},
            ["1 on new c-1x"],
            id="it runs on other types only",
        ),
        pytest.param(
            agent(node_selector={labels.INSTANCE_TYPE: "c-1x"}),
            {},
            ["1 on new c-2x"],
            id="it runs on the cheapest type only, which is therefore too small",
        ),
        pytest.param(
            agent(node_selector={labels.ZONE: "zone-a"}),
            {},
            ["1 on new c-2x"],
            id="it may run where the node may be",
        ),
        pytest.param(
            agent(cpu="0", memory="0", host_ports=PORT),
            {},
            ["1 NoOffering"],
            id="it takes the port that the pod asks for",
        ),
        pytest.param(
            agent(cpu="0", memory="0", host_ports=PORT, node_selector={"team": "x"}),
            {},
            ["1 on new c-1x"],
            id="its port does not matter where it does not run",
        ),
    ],
)
def test_on_a_new_node(daemon: DaemonSet, pool: dict[str, Any], told: list[str]) -> None:
    pod = build.pod(tolerations=EXISTS, host_ports=PORT if daemon.template.host_ports else ())

    small = Small(pods=[pod], there=[daemon], pools=[build.node_pool(**pool)], types=TYPES)

    if told == ["1 NoOffering"]:
        assert not small.solve().new_nodes
    else:
        assert small.told() == told


def test_several_take_the_sum() -> None:
    daemons = [agent(name=f"agent-{n}", cpu="400m") for n in range(3)]

    assert Small(pods=[build.pod()], there=daemons, types=TYPES).told() == ["1 on new c-4x"]


def test_what_they_ask_is_part_of_the_claim_and_counted_once() -> None:
    small = Small(pods=build.pods(3), there=[agent()], types=TYPES)

    (node,) = small.solve().new_nodes

    assert node.requests["cpu"] == 3500
    assert node.requests["pods"] == 4


def test_types_on_which_other_daemons_run_are_a_group_of_their_own() -> None:
    """The NodeClaim asks for the least of what any of its types carries."""
    large = agent(node_selector={labels.INSTANCE_TYPE: "c-4x"}, cpu="1")
    small = Small(pods=build.pods(2, memory="1Gi"), there=[large], types=TYPES)

    (node,) = small.solve().new_nodes

    assert [t.name for t in node.types] == ["c-2x", "c-4x"]
    assert node.requests["cpu"] == 2000


def real(name: str, cpu: str, *, age: int = 0, owner: str = "uid-agent", **fields: Any) -> Pod:
    """A pod of the DaemonSet as admission has changed it, on a node that is full; `age` in minutes."""
    made = build.pod(name, cpu=cpu, memory="64Mi", node="full", owner="DaemonSet", **fields)
    owners = (replace(made.meta.owners[0], uid=owner),)
    created = build.NOW - timedelta(minutes=age)
    return replace(made, meta=replace(made.meta, owners=owners, created=created))


FULL_NODE = build.node("full", provider_id="full", cpu="0", memory="0")


@pytest.mark.parametrize(
    ("daemons", "told"),
    [
        pytest.param([agent()], ["1 on new c-2x"], id="no pod yet: its template"),
        pytest.param(
            [agent(), real("x", "1500m")], ["1 on new c-4x"], id="a pod that asks for more"
        ),
        pytest.param([agent(), real("x", "0")], ["1 on new c-1x"], id="a pod that asks for less"),
        pytest.param(
            [agent(), real("x", "0", age=9), real("y", "1500m"), real("z", "0", age=5)],
            ["1 on new c-4x"],
            id="of several the newest",
        ),
        pytest.param(
            [agent(), real("x", "1500m", owner="uid-other")],
            ["1 on new c-2x"],
            id="a pod of another DaemonSet",
        ),
        pytest.param([real("x", "1500m")], ["1 on new c-1x"], id="a pod whose DaemonSet is gone"),
        pytest.param(
            [agent(), real("x", "500m", node_selector={"team": "x"})],
            ["1 on new c-1x"],
            id="a selector that admission has added",
        ),
        pytest.param(
            [
                agent(),
                real(
                    "x",
                    "500m",
                    required_node_affinity=(
                        build.needs(build.require(labels.NODE_NAME, "In", "full")),
                    ),
                ),
            ],
            ["1 on new c-2x"],
            id="what ties a pod to its node says nothing of the next",
        ),
    ],
)
def test_a_real_pod_says_more_than_the_template(daemons: list[Any], told: list[str]) -> None:
    small = Small(pods=[build.pod()], there=[FULL_NODE, *daemons], types=TYPES)

    assert small.told() == told


def test_the_newest_pod_counts_as_pods_come_and_go() -> None:
    """Source: karpenter-core, state/suite_test.go, "DaemonSet Controller": absent, created, newest, deleted."""
    cluster = build.cluster(FULL_NODE, agent())

    def asked() -> int:
        (found,) = cluster.snapshot(build.NOW).daemon_sets
        return found.template.requests.get("cpu", 0)

    assert asked() == 500
    cluster.apply(events.Seen(real("old", "100m", age=5)))
    assert asked() == 100
    cluster.apply(events.Seen(real("new", "900m")))
    assert asked() == 900
    cluster.apply(events.Seen(real("new", "800m")))
    assert asked() == 800
    cluster.apply(events.Gone(Pod, "default/new"))
    assert asked() == 100
    cluster.apply(events.Gone(Pod, "default/old"))
    assert asked() == 500


def present(cpu: str, **fields: Any) -> Pod:
    return build.pod("agent-x", cpu=cpu, memory="64Mi", node="here", owner="DaemonSet", **fields)


@pytest.mark.parametrize(
    ("objects", "on_node"),
    [
        pytest.param([], 4, id="no DaemonSet"),
        pytest.param([agent()], 3, id="not there yet"),
        pytest.param([agent(), present("500m")], 3, id="there"),
        pytest.param([agent(), present("1500m")], 2, id="there, and larger than its template"),
        pytest.param([present("500m")], 3, id="there, of no DaemonSet that is known"),
        pytest.param([agent(node_selector={"team": "x"})], 4, id="its label is not there"),
        pytest.param(
            [agent(node_selector={labels.ZONE: "zone-a"})],
            4,
            id="nor is a label that everybody knows",
        ),
        pytest.param([agent(cpu="4")], 0, id="it needs all there is"),
        pytest.param([agent(cpu="9")], 0, id="it needs more than there is"),
    ],
)
def test_on_an_existing_node(objects: list[Any], on_node: int) -> None:
    here = build.node("here", provider_id="here")

    solved = Small(pods=build.pods(4), there=[here, *objects], pools=[], types=TYPES).solve()

    assert len(solved.placements) == on_node


@pytest.mark.parametrize(
    ("taint", "on_node"),
    [
        pytest.param((), 3, id="no taint"),
        pytest.param((DEDICATED,), 4, id="one that it does not tolerate"),
    ],
)
def test_on_an_existing_node_with_a_taint(taint: tuple[Taint, ...], on_node: int) -> None:
    here = build.node("here", provider_id="here", taints=taint)
    pods = build.pods(4, tolerations=EXISTS)

    solved = Small(pods=pods, there=[here, agent()], pools=[], types=TYPES).solve()

    assert len(solved.placements) == on_node


@pytest.mark.parametrize(
    ("pool", "told"),
    [
        pytest.param(build.node_pool(taints=[DEDICATED]), ["1 on new c-1x"], id="not on these"),
        pytest.param(build.node_pool(), ["1 on new c-2x"], id="on these"),
    ],
)
def test_daemon_sets_count_pool_by_pool(pool: NodePool, told: list[str]) -> None:
    small = Small(pods=[build.pod(tolerations=EXISTS)], there=[agent()], pools=[pool], types=TYPES)

    assert small.told() == told
