"""Each trap of a cluster: what shows it, and what nearly looks like it and is none."""

import json
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from daiku.cli.doctoring import evidence, examination
from daiku.cli.doctoring.finding import Finding
from daiku.cli.main import app

Json = dict[str, Any]


def named(kind: str, name: str, *, version: str = "v1", **fields: Any) -> Json:
    metadata = {"name": name, "uid": name, **fields.pop("metadata", {})}
    if kind in {"Pod", "Deployment", "PodDisruptionBudget"}:
        metadata = {"namespace": "default", **metadata}
    return {"apiVersion": version, "kind": kind, "metadata": metadata, **fields}


def pod(name: str, *, app: str = "web", owner: str = "Deployment", **fields: Any) -> Json:
    requests = fields.pop("requests", {"cpu": "300m", "memory": "200Mi"})
    above = "ReplicaSet" if owner == "Deployment" else owner
    owners = [{"apiVersion": "apps/v1", "kind": above, "name": f"{app}-77" if owner == "Deployment" else app, "uid": app, "controller": True}]  # fmt: skip # noqa: E501
    known = {"app": app, "pod-template-hash": "77", **fields.pop("labels", {})}
    spec = {
        "nodeName": fields.pop("node", "n0"),
        "containers": [{"name": "c", "resources": {"requests": requests}}],
        **fields.pop("spec", {}),
    }
    metadata = {
        "labels": known,
        "ownerReferences": owners,
        "annotations": fields.pop("annotations", {}),
    }
    return named("Pod", name, metadata=metadata, spec=spec, **fields)


def pods(count: int, **fields: Any) -> list[Json]:
    return [pod(f"{fields.get('app', 'web')}-{n}", **fields) for n in range(count)]


def node(
    name: str, *, cpu: str = "4", version: str = "v1.34.1", pool: str = "", **spec: Any
) -> Json:
    return named(
        "Node",
        name,
        metadata={"labels": {"karpenter.sh/nodepool": pool} if pool else {}},
        spec=spec,
        status={
            "allocatable": {"cpu": cpu, "memory": "8Gi", "pods": "10"},
            "nodeInfo": {"kubeletVersion": version},
        },
    )


def nodes(count: int, **fields: Any) -> list[Json]:
    return [node(f"n{n}", **fields) for n in range(count)]


def budget(name: str = "web", *, app: str = "web", expected: int = 3, **spec: Any) -> Json:
    return named(
        "PodDisruptionBudget",
        name,
        version="policy/v1",
        spec={"selector": {"matchLabels": {"app": app}}, **spec},
        status={"expectedPods": expected},
    )


def pool(
    *, ready: str = "True", limits: Any = None, used: Any = None, replicas: int = 0, **spec: Any
) -> Json:
    ref = {"group": "karpenter.kwok.sh", "kind": "KWOKNodeClass", "name": "default"}
    condition = {"type": "Ready", "status": ready, "reason": "X", "message": "because of this"}
    return named(
        "NodePool",
        "default",
        version="karpenter.sh/v1",
        spec={
            "template": {"spec": {"nodeClassRef": ref, "requirements": [], **spec}},
            **({"replicas": replicas} if replicas else {}),
            **({"limits": limits} if limits else {}),
        },
        status={"conditions": [condition], "resources": used or {}},
    )


def deployment(name: str = "web", *, replicas: int = 3, surge: Any = "25%") -> Json:
    rolling = {"rollingUpdate": {"maxSurge": surge}}
    return named("Deployment", name, version="apps/v1", spec={"replicas": replicas, "strategy": rolling})  # fmt: skip


def examined(*objects: Json) -> list[Finding]:
    text = json.dumps({"apiVersion": "v1", "kind": "List", "items": objects}).encode()
    problems: list[str] = []
    found = evidence.read([("test", text)], problems)
    assert not problems
    return examination.examine(found)


def nearly(*, used: str) -> Json:
    return pool(limits={"cpu": "10"}, used={"cpu": used})


def webhook(name: str) -> Json:
    return named("ValidatingWebhookConfiguration", name)


def told(
    kind: str, name: str, message: str, *, at: str = "12:00:00", reason: str = "FailedScheduling"
) -> Json:
    """An Event of the controller."""
    return named(
        "Event",
        f"{name}.{at}",
        involvedObject={
            "kind": kind,
            "name": name,
            "namespace": "default" if kind == "Pod" else "",
        },
        reason=reason,
        message=message,
        lastTimestamp=f"2026-03-02T{at}Z",
    )


def guarded(text: str) -> Json:
    made = pool()
    made["metadata"]["annotations"] = {"daiku.dev/price-guard": text}
    return made


DEAR = told(
    "Pod", "web-0", "NodePool default: CapacityUnavailable: asks for a node of at most $1/h"
)
LATER = told("Pod", "web-0", "NodePool default: LimitExceeded: cpu", at="12:05:00")
DEAR_POOL = told("NodePool", "default", "the cheapest node", reason="CapacityUnavailable")
KEPT = {"karpenter.sh/do-not-disrupt": "true"}
SURGE = {"daiku.dev/surge": "true"}
APART = {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [{"topologyKey": "kubernetes.io/hostname", "labelSelector": {"matchLabels": {"app": "web"}}}]}}  # fmt: skip # noqa: E501
RATHER_APART = {"podAntiAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": [{"weight": 1, "podAffinityTerm": APART["podAntiAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"][0]}]}}  # fmt: skip # noqa: E501
ROUND = {"cpu": "1", "memory": "1Gi"}
DISRUPTED = [{"key": "karpenter.sh/disrupted", "effect": "NoSchedule"}]
AWAITING = [{"key": "daiku.dev/awaiting-pods", "effect": "NoSchedule"}]

TRAPS: list[tuple[str, list[Json], list[Json]]] = [
    ("pods-without-requests", pods(2, requests={"cpu": "1"}), pods(2)),
    (
        "identical-requests",
        [p for a in "abcde" for p in pods(2, app=a, requests=ROUND)],
        [p for n, a in enumerate("abcde") for p in pods(2, app=a, requests={"cpu": f"{n + 1}", "memory": "1Gi"})],
    ),
    ("single-replica", pods(1), pods(1, annotations=SURGE)),
    ("single-replica", pods(1), pods(2)),
    ("single-replica", pods(1), pods(1, owner="StatefulSet")),
    ("pdb-blocks-for-ever", [budget(maxUnavailable=0)], [budget(maxUnavailable=1)]),
    ("pdb-blocks-for-ever", [budget(maxUnavailable="0%")], [budget(maxUnavailable="1%")]),
    ("pdb-blocks-for-ever", [budget(minAvailable=3)], [budget(minAvailable=2)]),
    ("pdb-blocks-for-ever", [budget(minAvailable="67%")], [budget(minAvailable="66%")]),
    ("pdb-blocks-for-ever", [budget(minAvailable=3)], [budget(minAvailable=3, expected=0)]),
    ("pdb-overlap", [*pods(2), budget("a"), budget("b")], [*pods(2), budget("a"), budget("b", app="x")]),
    ("preference-blocks-consolidation", pods(3, spec={"affinity": RATHER_APART}), pods(3)),
    ("one-pod-per-node", pods(5, spec={"affinity": APART}), pods(4, spec={"affinity": APART})),
    ("not-ready", [pool(ready="False")], [pool()]),
    ("limit-without-headroom", [nearly(used="9")], [nearly(used="8")]),
    (
        "limit-without-headroom",
        [nearly(used="8"), deployment(replicas=20, surge="100%"), *pods(20)],
        [nearly(used="8"), deployment(replicas=20, surge=1), *pods(20)],
    ),
    ("price-guard", [*pods(1, node=""), DEAR], [*pods(1, node=""), DEAR, LATER]),
    ("price-guard", [*pods(1, node=""), DEAR], [*pods(1), DEAR]),
    ("price-guard", [pool(replicas=1), DEAR_POOL], [pool(), DEAR_POOL]),
    ("price-guard", [guarded("much")], [guarded("3")]),
    ("huge-node", [*nodes(5), node("big", cpu="64")], nodes(6)),
    ("huge-node", [*nodes(5), node("big", cpu="64")], [node("n"), node("big", cpu="64")]),
    ("huge-node", [*nodes(5), node("big", cpu="33")], [*nodes(5), node("big", cpu="32")]),
    (
        "expiry-of-stateful-pods",
        [pool(expireAfter="720h"), node("n0", pool="default"), pod("db", owner="StatefulSet")],
        [pool(expireAfter="Never"), node("n0", pool="default"), pod("db", owner="StatefulSet")],
    ),
    ("mixed-node-versions", [node("a", version="v1.33.4"), node("b")], [node("a", version="v1.34.4"), node("b")]),
    ("second-autoscaler", [deployment("cluster-autoscaler")], [deployment("cluster-autoscaler", replicas=0)]),
    ("webhook-left-behind", [webhook("validation.webhook.karpenter.sh")], [webhook("other")]),
    (
        "do-not-disrupt-everywhere",
        [*nodes(4, pool="default"), *[pod(f"p{n}", node=f"n{n}", annotations=KEPT) for n in range(3)]],
        [*nodes(4, pool="default"), *[pod(f"p{n}", node=f"n{n}", annotations=KEPT) for n in range(2)]],
    ),
    ("closed-for-moved-pods", [node("a", taints=AWAITING)], [node("a", taints=DISRUPTED)]),
    ("cordoned", [node("a", unschedulable=True)], [node("a", unschedulable=True, taints=DISRUPTED)]),
]  # fmt: skip


@pytest.mark.parametrize(("check", "trap", "harmless"), TRAPS)
def test_a_trap_is_found_and_what_is_none_is_not(
    check: str, trap: list[Json], harmless: list[Json]
) -> None:
    assert check in [each.check for each in examined(*trap)]
    assert check not in [each.check for each in examined(*harmless)]


def test_every_check_has_a_trap_that_proves_it() -> None:
    assert {name for name, _, _ in TRAPS} >= {check.name for check in examination.CHECKS}


def test_every_finding_says_about_what_why_and_what_to_do() -> None:
    for _, trap, _ in TRAPS:
        for each in examined(*trap):
            assert each.about
            assert len(each.cause) > 30
            assert len(each.remedy) > 10
            assert not each.cause.endswith(".")


def test_the_worst_comes_first() -> None:
    found = examined(*pods(1), pool(ready="False"), budget(maxUnavailable=0))

    assert [each.check for each in found] == ["not-ready", "pdb-blocks-for-ever", "single-replica"]


def doctor(*arguments: str, given: str = "", **environ: str) -> Result:
    return CliRunner().invoke(app, ["doctor", *arguments], input=given, env=environ)


def test_json_has_exactly_the_keys_that_programs_rely_on() -> None:
    result = doctor("--from", "-", "--format", "json", given=json.dumps(pool(ready="False")))

    found = json.loads(result.stdout)
    assert list(found) == ["findings", "notChecked", "ageSeconds"]
    assert list(found["findings"][0]) == ["check", "severity", "about", "cause", "remedy", "source"]


@pytest.mark.parametrize(("ready", "code"), [("True", 0), ("False", 3)])
def test_strict_fails_on_errors_only(ready: str, code: int) -> None:
    result = doctor("--from", "-", "--strict", given=json.dumps(pool(ready=ready)))

    assert result.exit_code == code


def test_a_healthy_cluster_is_said_to_be_one() -> None:
    result = doctor("--from", "-", given=json.dumps(node("a")))

    assert result.stdout == "Nothing found.\n"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--from", "/nowhere.json"], "/nowhere.json: No such file or directory"),
        ([], "KUBECONFIG=/nowhere does not lead to an API server"),
    ],
)
def test_what_cannot_be_examined_is_one_message(arguments: list[str], message: str) -> None:
    result = doctor(*arguments, KUBECONFIG="/nowhere")

    assert result.exit_code == 2
    assert message in result.stderr
    assert "Traceback" not in result.output
