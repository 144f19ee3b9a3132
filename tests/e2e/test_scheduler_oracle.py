"""kube-scheduler judges the audit, and the plans: random small clusters on a real control plane.

`DAIKU_ORACLE_CASES=200` tries more of them.
"""

import datetime as dt
import json
import os
import random
from collections.abc import Generator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import pytest
from tests import build
from tests.build import NOW
from tests.e2e import oracle, oracle_storage
from tests.e2e.oracle import Judge
from tests.e2e.oracle_storage import Storage

from daiku.api import decode
from daiku.events import Object
from daiku.model import labels
from daiku.model.instance_type import InstanceType
from daiku.model.node import Node
from daiku.model.pod import Pod
from daiku.scheduling import audit, claims, problem, solver
from daiku.scheduling.solution import NewNode
from daiku.settings import Settings
from daiku_local import down, toolchain, up
from daiku_local.agent.kubernetes_api import KubernetesApi

pytestmark = [pytest.mark.e2e, pytest.mark.world]

CASES = int(os.environ.get("DAIKU_ORACLE_CASES", "20"))
"""Random clusters per test."""
PODS = 10
"""Pods per cluster."""
TYPES = build.family(sizes=(1, 2, 4), gib_per_cpu=4, zones=oracle.ZONES)


@pytest.fixture(autouse=True)
def stages() -> None:
    """These tests are no stages of a journey: each stands alone."""


@pytest.fixture(scope="module")
def api(tmp_path_factory: pytest.TempPathFactory) -> Generator[KubernetesApi]:
    folder = tmp_path_factory.mktemp("oracle") / "world"
    now = dt.datetime.now(dt.UTC)  # noqa: TID251 - certificates must be valid in real time
    there = up.up(folder, toolchain.ensure(), now, print)
    api = KubernetesApi(there.kubeconfig)
    try:
        api.create("/api/v1/namespaces", {"metadata": {"name": oracle.NAMESPACES[1]}})
        for namespace in oracle.NAMESPACES:
            accounts = f"/api/v1/namespaces/{namespace}/serviceaccounts"
            oracle.until(lambda a=accounts: api.get(a), lambda found: bool(found["items"]))
        yield api
    finally:
        down.down(folder, print)


@pytest.fixture
def judge(api: KubernetesApi) -> Generator[Judge]:
    made = Judge(api=api)
    yield made
    made.clear()


def read(manifest: dict[str, Any]) -> Pod:
    """A pod that waits, from its manifest."""
    return replace(decode.pod(json.dumps(manifest).encode()), unschedulable=True)


def objections(
    pod: Pod, name: str, nodes: Sequence[Node], bound: Sequence[Pod], volumes: Sequence[Object]
) -> list[str]:
    """What the audit has against `pod` on the node `name`."""
    world = build.cluster(*nodes, *bound, *volumes, pod)
    found = audit.audit([], {pod.meta.key: name}, world.snapshot(NOW), world.catalogue)
    return [violation.message for violation in found]


def with_volumes(manifest: dict[str, Any], storage: Storage, rng: random.Random) -> dict[str, Any]:
    """The pod, at times with a volume or two."""
    count = rng.choice([0, 0, 0, 1, 1, 2])
    return oracle_storage.mounted(manifest, [storage.claim(rng) for _ in range(count)])


@pytest.mark.parametrize("seed", range(CASES))
def test_the_audit_agrees_with_kube_scheduler(seed: int, judge: Judge) -> None:
    rng = random.Random(seed)
    nodes = judge.make_nodes(oracle.random_nodes(rng, f"there-{seed}"))
    storage = oracle_storage.begin(judge, rng, f"audit-{seed}", nodes)
    bound: list[Pod] = []
    for index in range(PODS):
        manifest = with_volumes(oracle.random_pod(rng, f"pod-{index}"), storage, rng)
        target = rng.choice(nodes).meta.name
        pod = read(manifest)
        found = objections(pod, target, nodes, bound, storage.objects())

        judged = judge.place(manifest, target, storage.serve, expected=not found)

        assert (not found) is (judged.node_name == target), (
            f"seed {seed}: on {target}, {json.dumps(manifest)}; the audit says {found}, "
            f"kube-scheduler {judge.refusals[-1:]}; bound: "
            f"{[(p.meta.name, dict(p.meta.labels), p.node_name, p.volume_claims) for p in bound]}"
        )
        if judged.node_name:
            bound.append(judged)


@dataclass(frozen=True, kw_only=True)
class Planned:
    """A new node, as something launches it."""

    manifest: dict[str, Any]
    pods: tuple[str, ...]


def launch(new: NewNode, ordinal: int, seed: int, rng: random.Random) -> Planned:
    """One of the ways in which a new node may turn out."""
    given = claims.given_labels(TYPES)
    made = claims.create(new, TYPES, Settings(), NOW, given=given, taken={}, purpose=str(ordinal))
    claim = made.node_claim
    allowed = claim.requirements & build.needs()
    named = {t.name for t in new.types}
    choices = [
        (t, o)
        for t in TYPES
        if t.name in named
        for o in t.offerings
        if not o.requirements.intersects(allowed)
    ]
    chosen, offering = rng.choice(choices)
    own = {
        **chosen.requirements.single_values(),
        **offering.requirements.single_values(),
        **claim.meta.labels,
    }
    taints = [{"key": t.key, "effect": t.effect, "value": t.value} for t in claim.taints]
    return Planned(
        manifest=oracle.node(f"new-{seed}-{ordinal}", own, _amounts(chosen), taints), pods=new.pods
    )


def _amounts(chosen: InstanceType) -> dict[str, str]:
    return {r: f"{a}m" if r == "cpu" else str(a) for r, a in chosen.allocatable.items()}


def in_order(
    placed: dict[str, str], pods: dict[str, Pod], nodes: Sequence[Node], volumes: Sequence[Object]
) -> list[str]:
    """Pods in an order in which the audit agrees to each of them; mostly that of the plan."""
    left, done = list(placed), list[str]()
    while left:
        bound = [replace(pods[k], node_name=placed[k], unschedulable=False) for k in done]
        agreed = (k for k in left if not objections(pods[k], placed[k], nodes, bound, volumes))
        following = next(agreed, None)
        assert following is not None, f"no order after {done}; {placed}"
        done.append(following)
        left.remove(following)
    return done


@pytest.mark.parametrize("seed", range(CASES))
def test_kube_scheduler_places_every_pod_where_the_plan_does(seed: int, judge: Judge) -> None:
    rng = random.Random(seed)
    nodes = judge.make_nodes(oracle.random_nodes(rng, f"there-{seed}"))
    storage = oracle_storage.begin(judge, rng, f"plan-{seed}", nodes)
    drawn = [
        with_volumes(oracle.random_pod(rng, f"pod-{index}"), storage, rng) for index in range(PODS)
    ]
    volumes = storage.objects()
    manifests = {read(m).meta.key: m for m in drawn}
    pods = {key: read(manifest) for key, manifest in manifests.items()}
    limits = rng.choice([None, {"cpu": "3"}, {"cpu": "6", "nodes": "2"}])
    pool = build.node_pool(template_labels={"disk": "ssd"}, limits=limits)
    catalogue = build.catalogue(*TYPES)
    objects = [*nodes, *pods.values(), *volumes, pool, build.node_class()]
    world = build.cluster(*objects, catalogue_of=catalogue)

    solved = solver.solve(problem.build(list(pods.values()), world.snapshot(NOW), catalogue))

    planned = [launch(new, i, seed, rng) for i, new in enumerate(solved.new_nodes)]
    nodes += judge.make_nodes(p.manifest for p in planned)
    made = {pod: p.manifest["metadata"]["name"] for p in planned for pod in p.pods}
    placed = solved.homes(made)
    storage.zone_of.update({n.meta.name: n.meta.labels.get(labels.ZONE, "") for n in nodes})
    for key in in_order(placed, pods, nodes, volumes):
        judged = judge.place(manifests[key], placed[key], storage.serve, expected=True)
        assert judged.node_name == placed[key], (
            f"seed {seed}: {key} on {placed[key]} of {placed}; {json.dumps(manifests[key])}; "
            f"kube-scheduler: {judge.refusals[-1:]}"
        )


@pytest.mark.parametrize(("always", "clash"), [(True, True), (False, False)])
def test_ports_of_sidecars_are_taken_and_those_of_init_containers_are_not(
    always: bool, clash: bool, judge: Judge
) -> None:
    judge.make_nodes([oracle.node("plain", {}, {"cpu": "1", "pods": "9"})])
    port = {"ports": [{"containerPort": 80, "hostPort": 8080}]}
    main = {"name": "main", "image": "oracle"}
    first = {**main, **port, "name": "first"} | ({"restartPolicy": "Always"} if always else {})

    def pod(name: str, **spec: Any) -> dict[str, Any]:
        return {"metadata": {"name": name, "namespace": "default"}, "spec": spec}

    there = judge.place(pod("there", containers=[main], initContainers=[first]), "plain")
    comes = judge.place(pod("comes", containers=[{**main, **port}]), "plain")

    assert bool(there.host_ports) is clash
    assert bool(comes.node_name) is not clash
