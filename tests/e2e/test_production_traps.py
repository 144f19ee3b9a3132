"""What makes people turn a node autoscaler off, on a real control plane: the right thing happens, and is said.

The controller runs as its own process with the kwok cloud. Each test leaves the cluster empty for the next.
"""

from collections import Counter
from collections.abc import Iterator
from typing import Any

import pytest
from tests import manifests
from tests.e2e import kwok
from tests.e2e.conftest import Journey, wait
from tests.e2e.kwok import Api
from tests.running import Controller

from daiku.model import labels

pytestmark = pytest.mark.e2e
POOL = "/apis/karpenter.sh/v1/nodepools/default"
PODS = "/api/v1/namespaces/default/pods"
QUIET = 12.0
"""Seconds in which a move that is possible would have begun: quiet for 5 s, 5 s between looks."""


@pytest.fixture(scope="module")
def controller(journey: Journey, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Controller]:
    yield from kwok.run(journey, tmp_path_factory, manifests.node_pool())


@pytest.fixture
def api(journey: Journey, controller: Controller) -> Iterator[Api]:
    assert controller.process.poll() is None
    made = Api(journey)
    yield made
    journey.run("kubectl", "delete", "deployments,statefulsets,jobs,pdb", "--all")
    wait("every node goes when nothing runs", lambda: not made.claims(), 90)


def test_a_batch_stateful_set_is_left_to_finish_and_then_moves_one_pod_at_a_time(
    journey: Journey, api: Api
) -> None:
    """A drifted node waits for as long as its pods must not be disrupted."""
    batch: dict[str, Any] = manifests.deployment(
        "batch", 2, cpu="3", annotations={labels.DO_NOT_DISRUPT: "true"}
    )
    batch["kind"] = "StatefulSet"
    batch["spec"] |= {"serviceName": "batch", "podManagementPolicy": "Parallel"}
    kwok.apply(journey, batch)
    kwok.apply(journey, budget("batch", {"maxUnavailable": 1}))
    wait("the batch runs", lambda: len(api.node_of("batch")) == 2, 60)
    before = {p["metadata"]["uid"] for p in api.pods("batch")}

    api.patch(POOL, {"spec": {"template": {"metadata": {"labels": {"team": "blue"}}}}})
    wait("its nodes drift", lambda: len(drifted(api)) >= 1, 30)
    wait("its nodes say why they stay", lambda: says(api, "DisruptionBlocked", "batch-"), 30)
    assert {p["metadata"]["uid"] for p in api.pods("batch")} == before

    for pod in api.pods("batch"):
        note = {"metadata": {"annotations": {labels.DO_NOT_DISRUPT: None}}}
        api.patch(f"{PODS}/{pod['metadata']['name']}", note)
    fewest = 2

    def is_moved() -> bool:
        nonlocal fewest
        pods = api.pods("batch")
        fewest = min(fewest, len(api.node_of("batch")))
        return len(api.node_of("batch")) == 2 and not before & {p["metadata"]["uid"] for p in pods}

    wait("both have moved", is_moved, 150, every=0.1)
    assert fewest >= 1
    assert sorted(p["metadata"]["name"] for p in api.pods("batch")) == ["batch-0", "batch-1"]


def test_a_single_replica_with_a_budget_keeps_its_node_says_so_and_moves_when_it_may_surge(
    journey: Journey, api: Api
) -> None:
    kwok.apply(journey, manifests.deployment("single", 1))
    kwok.apply(journey, budget("single", {"minAvailable": 1}))
    wait("it runs", lambda: len(api.node_of("single")) == 1, 60)
    before = api.node_of("single")
    kwok.apply(journey, manifests.deployment("big", 1, cpu="6"))
    wait("the big one runs", lambda: len(api.node_of("big")) == 1, 60)
    wait("its node says why it stays", lambda: says(api, "DisruptionBlocked", "default/single"), 45)
    assert api.node_of("single") == before

    asks = {"metadata": {"annotations": {labels.SURGE: "true"}}}
    api.patch("/api/v1/namespaces/default", asks)
    fewest = 1

    def is_moved() -> bool:
        nonlocal fewest
        now = api.node_of("single")
        fewest = min(fewest, len(now))
        return len(now) == 1 and before[0] not in api.nodes()

    wait("it has moved", is_moved, 120, every=0.05)
    api.patch("/api/v1/namespaces/default", {"metadata": {"annotations": {labels.SURGE: None}}})
    assert fewest == 1


def test_spread_that_blocks_consolidation_keeps_the_nodes_and_is_named(
    journey: Journey, api: Api
) -> None:
    spread = {
        "maxSkew": 1,
        "topologyKey": labels.HOSTNAME,
        "whenUnsatisfiable": "DoNotSchedule",
        "labelSelector": {"matchLabels": {"app": "wide"}},
    }
    kwok.apply(
        journey, manifests.deployment("wide", 3, cpu="300m", topologySpreadConstraints=[spread])
    )
    wait("each runs on a node of its own", lambda: len(set(api.node_of("wide"))) == 3, 60)
    uids = {p["metadata"]["uid"] for p in api.pods("wide")}
    kwok.still("nothing moves", api.nodes, seconds=QUIET, most=60)
    assert {p["metadata"]["uid"] for p in api.pods("wide")} == uids
    named = f"which must spread over {labels.HOSTNAME} (maxSkew 1)"
    wait("it is said what is in the way", lambda: says(api, "Unconsolidatable", named), 30)


def test_a_rolling_update_that_doubles_a_deployment_leaves_no_nodes_behind_and_evicts_hardly_anybody(
    journey: Journey, api: Api, controller: Controller
) -> None:
    roller = manifests.deployment("roller", 6)
    roller["spec"]["strategy"] = {"rollingUpdate": {"maxSurge": "100%", "maxUnavailable": 0}}
    kwok.apply(journey, roller)
    wait("all run", lambda: len(api.node_of("roller")) == 6, 60)
    kwok.still("the cluster is at rest", api.nodes, seconds=2 * QUIET, most=90)
    before, evicted = kwok.price(controller), len(api.said("Evicted"))

    roller["spec"]["template"]["metadata"]["annotations"] = {"version": "2"}
    kwok.apply(journey, roller)
    fewest = 6

    def is_rolled() -> bool:
        nonlocal fewest
        fewest = min(fewest, len(api.node_of("roller")))
        notes = [p["metadata"].get("annotations", {}).get("version") for p in api.pods("roller")]
        return notes == ["2"] * 6 and len(api.node_of("roller")) == 6

    wait("the new ones run alone", is_rolled, 90, every=0.2)
    assert fewest == 6
    kwok.still("the cluster is at rest again", api.nodes, seconds=3 * QUIET, most=120)
    assert kwok.price(controller) <= before * 1.001
    assert len(api.said("Evicted")) - evicted <= 6


def test_workflow_pods_that_are_done_leave_nothing_to_pay_for(journey: Journey, api: Api) -> None:
    job: dict[str, Any] = {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": "workflow"},
        "spec": {"completions": 6, "parallelism": 6, "template": template()},
    }
    kwok.apply(journey, job)
    wait("all steps are done", lambda: len(done(api)) == 6, 90)
    wait("the nodes go although the pods are still listed", lambda: not api.claims(), 60)
    assert all(p["status"]["phase"] == "Succeeded" for p in api.pods("workflow"))


def template() -> dict[str, Any]:
    """Pods of the workflow, which must not be moved while they run."""
    made = manifests.deployment("workflow", 0, cpu="1", annotations={labels.DO_NOT_DISRUPT: "true"})
    pod: dict[str, Any] = made["spec"]["template"]
    pod["spec"]["restartPolicy"] = "Never"
    return pod


def budget(app: str, spec: dict[str, Any]) -> dict[str, Any]:
    return {
        "apiVersion": "policy/v1",
        "kind": "PodDisruptionBudget",
        "metadata": {"name": app},
        "spec": {"selector": {"matchLabels": {"app": app}}, **spec},
    }


def drifted(api: Api) -> list[str]:
    return [
        c["metadata"]["name"]
        for c in api.claims()
        if any(k["type"] == "Drifted" and k["status"] == "True" for k in c["status"]["conditions"])
    ]


def says(api: Api, reason: str, words: str) -> bool:
    return any(words in message for message in api.said(reason))


def done(api: Api) -> list[str]:
    """Steps that have ended well, or whose pods went with their nodes."""
    jobs = api.all("/apis/batch/v1/namespaces/default/jobs")
    return ["x"] * max((j["status"].get("succeeded", 0) for j in jobs), default=0)


def test_a_scale_in_by_node_empties_nodes_and_nobody_moves(journey: Journey, api: Api) -> None:
    """kube-controller-manager gives up pods by their deletion costs; left to itself it levels nodes."""
    body = manifests.deployment(
        "wide",
        12,
        annotations={labels.SCALE_IN_BY_NODE: "true"},
        nodeSelector={"karpenter.kwok.sh/instance-cpu": "4"},
    )
    kwok.apply(journey, body)
    wait(
        "it runs on three nodes",
        lambda: Counter(Counter(api.node_of("wide")).values()) == {4: 3},
        90,
    )
    wait("its pods cost something", lambda: None not in costs(api).values(), 120)
    assert len(set(costs(api).values())) == len({node for _, node in costs(api)}) == 3
    before = {uid for uid, _ in costs(api)}

    journey.run("kubectl", "scale", "deployment/wide", "--replicas=4")
    wait("one node is left", lambda: len(api.claims()) == 1 and len(costs(api)) == 4, 90)

    assert {uid for uid, _ in costs(api)} < before, "nobody has moved"


def costs(api: Api) -> dict[tuple[str, str], str | None]:
    """Pods of wide, and the nodes they run on -> their deletion costs."""
    return {
        (p["metadata"]["uid"], p["spec"]["nodeName"]): p["metadata"]["annotations"].get(
            labels.POD_DELETION_COST
        )
        for p in api.pods("wide")
        if not kwok.is_leaving(p)
    }
