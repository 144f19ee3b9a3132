"""What a pod asks of its place, from manifest to model.

Source: kubernetes.io/docs/concepts/scheduling-eviction/assign-pod-node and topology-spread-constraints, the fields'
descriptions in the API of Kubernetes 1.34, and kube-scheduler's nodeports.
"""

import json
from collections.abc import Mapping
from typing import Any

import pytest
from tests import build

from daiku.api import decode
from daiku.model import labels
from daiku.model.pod import Pod
from daiku.model.requirements import NO_REQUIREMENTS, Requirements
from daiku.model.topology import AffinityTerm, HostPort, Preferred, Spread

APP = {"matchLabels": {"app": "web"}}
WEB = build.needs(build.require("app", "In", "web"))
EVERY = "0.0.0.0"  # noqa: S104 - read, not bound
OWN = {"app": "web", "pod-template-hash": "h1"}


def read(own: Mapping[str, str] = OWN, **spec: Any) -> Pod:
    body = {"metadata": {"name": "web-1", "namespace": "shop", "labels": dict(own)}, "spec": spec}
    return decode.pod(json.dumps(body).encode())


def spread(**fields: Any) -> dict[str, Any]:
    given = {"maxSkew": 1, "topologyKey": labels.ZONE, "whenUnsatisfiable": "DoNotSchedule"}
    return {**given, "labelSelector": APP, **fields}


def term(**fields: Any) -> dict[str, Any]:
    return {"topologyKey": labels.HOSTNAME, "labelSelector": APP, **fields}


def hash_is(operator: str) -> Requirements:
    return WEB & build.needs(build.require("pod-template-hash", operator, "h1"))


@pytest.mark.parametrize(
    ("constraint", "expected"),
    [
        pytest.param(
            spread(), Spread(key=labels.ZONE, max_skew=1, hard=True, selector=WEB), id="defaults"
        ),
        pytest.param(
            spread(maxSkew=3, whenUnsatisfiable="ScheduleAnyway"),
            Spread(key=labels.ZONE, max_skew=3, hard=False, selector=WEB),
            id="only wished for",
        ),
        pytest.param(
            spread(minDomains=3, nodeAffinityPolicy="Ignore", nodeTaintsPolicy="Honor"),
            Spread(
                key=labels.ZONE,
                max_skew=1,
                hard=True,
                selector=WEB,
                min_domains=3,
                honors_affinity=False,
                honors_taints=True,
            ),
            id="minDomains and both node policies",
        ),
        pytest.param(
            spread(topologyKey="failure-domain.beta.kubernetes.io/zone"),
            Spread(key=labels.ZONE, max_skew=1, hard=True, selector=WEB),
            id="an old key is the key of today",
        ),
        pytest.param(
            spread(matchLabelKeys=["pod-template-hash", "missing"]),
            Spread(key=labels.ZONE, max_skew=1, hard=True, selector=hash_is("In")),
            id="matchLabelKeys take the pod's values; a key that it lacks is ignored",
        ),
        pytest.param(
            spread(labelSelector=None),
            Spread(key=labels.ZONE, max_skew=1, hard=True, selector=None),
            id="no selector counts no pod",
        ),
        pytest.param(
            spread(labelSelector={}),
            Spread(key=labels.ZONE, max_skew=1, hard=True, selector=NO_REQUIREMENTS),
            id="an empty selector is not none",
        ),
    ],
)
def test_a_spread_constraint_is_read(constraint: Any, expected: Spread) -> None:
    assert read(topologySpreadConstraints=[constraint]).spread == (expected,)


@pytest.mark.parametrize(
    ("asked", "expected"),
    [
        pytest.param(
            term(),
            AffinityTerm(key=labels.HOSTNAME, selector=WEB, namespaces=("shop",)),
            id="without namespaces it means the pod's own",
        ),
        pytest.param(
            term(namespaces=["b", "a", "b"]),
            AffinityTerm(key=labels.HOSTNAME, selector=WEB, namespaces=("a", "b")),
            id="named namespaces replace the pod's own",
        ),
        pytest.param(
            term(namespaceSelector={}),
            AffinityTerm(
                key=labels.HOSTNAME,
                selector=WEB,
                namespaces=(),
                namespace_selector=NO_REQUIREMENTS,
            ),
            id="an empty namespaceSelector means every namespace",
        ),
        pytest.param(
            term(namespaces=["a"], namespaceSelector=APP),
            AffinityTerm(
                key=labels.HOSTNAME, selector=WEB, namespaces=("a",), namespace_selector=WEB
            ),
            id="a list and a selector are joined",
        ),
        pytest.param(
            term(matchLabelKeys=["pod-template-hash"]),
            AffinityTerm(key=labels.HOSTNAME, selector=hash_is("In"), namespaces=("shop",)),
            id="matchLabelKeys ask for the pod's value",
        ),
        pytest.param(
            term(mismatchLabelKeys=["pod-template-hash", "missing"]),
            AffinityTerm(key=labels.HOSTNAME, selector=hash_is("NotIn"), namespaces=("shop",)),
            id="mismatchLabelKeys ask for another than the pod's",
        ),
        pytest.param(
            term(labelSelector=None),
            AffinityTerm(key=labels.HOSTNAME, selector=None, namespaces=("shop",)),
            id="no selector means no pod",
        ),
    ],
)
@pytest.mark.parametrize("kind", ["podAffinity", "podAntiAffinity"])
def test_a_term_of_pod_affinity_is_read(kind: str, asked: Any, expected: AffinityTerm) -> None:
    weighted = [{"weight": 7, "podAffinityTerm": asked}]
    both = {
        "requiredDuringSchedulingIgnoredDuringExecution": [asked],
        "preferredDuringSchedulingIgnoredDuringExecution": weighted,
    }

    pod = read(affinity={kind: both})

    near = kind == "podAffinity"
    assert (pod.pod_affinity if near else pod.pod_anti_affinity) == (expected,)
    assert (pod.preferred_pod_affinity if near else pod.preferred_pod_anti_affinity) == (
        Preferred(weight=7, pods=expected),
    )


def test_pods_of_one_spelling_keep_their_own_match_label_values() -> None:
    constraint = spread(matchLabelKeys=["pod-template-hash"])

    old = read(topologySpreadConstraints=[constraint])
    new = read({**OWN, "pod-template-hash": "h2"}, topologySpreadConstraints=[constraint])

    assert [p.spread[0].selector.get("pod-template-hash").values for p in (old, new)] == [
        {"h1"},
        {"h2"},
    ]


EXPRESSION = {"key": "disk", "operator": "In", "values": ["ssd"]}
SSD = build.needs(build.require("disk", "In", "ssd"))


@pytest.mark.parametrize(
    ("terms", "expected"),
    [
        pytest.param([{"matchExpressions": [EXPRESSION]}], (SSD,), id="expressions"),
        pytest.param(
            [{"matchFields": [{"key": "metadata.name", "operator": "In", "values": ["n1"]}]}],
            (build.needs(build.require("metadata.name", "In", "n1")),),
            id="the name of the node",
        ),
        pytest.param(
            [{}, {"matchExpressions": [EXPRESSION]}],
            (SSD,),
            id="a blank term is no alternative",
        ),
    ],
)
def test_required_node_affinity_is_read(terms: Any, expected: tuple[Requirements, ...]) -> None:
    required = {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": terms}}

    assert read(affinity={"nodeAffinity": required}).required_node_affinity == expected


@pytest.mark.parametrize("terms", [[], [{}], [{"matchExpressions": []}]])
def test_required_node_affinity_of_blank_terms_only_is_met_by_no_node(terms: Any) -> None:
    required = {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": terms}}

    (term_of_it,) = read(affinity={"nodeAffinity": required}).required_node_affinity

    assert term_of_it.is_empty


def test_preferred_node_affinity_keeps_weights_and_drops_what_prefers_nothing() -> None:
    preferred = [
        {"weight": 10, "preference": {"matchExpressions": [EXPRESSION]}},
        {"weight": 90, "preference": {}},
    ]

    pod = read(
        affinity={"nodeAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": preferred}}
    )

    assert pod.preferred_node_affinity == (Preferred(weight=10, node=SSD),)


def port(**fields: Any) -> dict[str, Any]:
    return {"containerPort": 80, **fields}


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        pytest.param({"containers": [{"ports": [port()]}]}, [], id="a port of the pod only"),
        pytest.param(
            {"containers": [{"ports": [port(hostPort=8080)]}]},
            [(EVERY, 8080, "TCP")],
            id="every address and TCP by default",
        ),
        pytest.param(
            {"containers": [{"ports": [port(hostPort=53, hostIP="10.0.0.1", protocol="UDP")]}]},
            [("10.0.0.1", 53, "UDP")],
            id="one address, UDP",
        ),
        pytest.param(
            {"initContainers": [{"ports": [port(hostPort=8080)]}], "containers": []},
            [],
            id="init containers do not count",
        ),
        pytest.param(
            {"initContainers": [{"ports": [port(hostPort=8080)], "restartPolicy": "Always"}]},
            [(EVERY, 8080, "TCP")],
            id="sidecars do",
        ),
        pytest.param(
            {"hostNetwork": True, "containers": [{"ports": [port()]}]},
            [(EVERY, 80, "TCP")],
            id="on the host's network every port is the host's",
        ),
        pytest.param(
            {"containers": [{"ports": [port(hostPort=2)]}, {"ports": [port(hostPort=1)] * 2}]},
            [(EVERY, 1, "TCP"), (EVERY, 2, "TCP")],
            id="of all containers, each once, in order",
        ),
    ],
)
def test_host_ports_are_read(spec: Any, expected: list[tuple[str, int, str]]) -> None:
    ports = tuple(
        HostPort(ip=ip, port=number, protocol=protocol) for ip, number, protocol in expected
    )

    assert read(**spec).host_ports == ports


@pytest.mark.parametrize(
    ("volumes", "expected"),
    [
        pytest.param([{"name": "a", "emptyDir": {}}], (), id="a volume of the pod itself"),
        pytest.param(
            [{"name": "a", "persistentVolumeClaim": {"claimName": "data"}}], ("data",), id="a claim"
        ),
        pytest.param(
            [{"name": "scratch", "ephemeral": {"volumeClaimTemplate": {"spec": {}}}}],
            ("web-1-scratch",),
            id="an ephemeral volume's claim is named after pod and volume",
        ),
        pytest.param(
            [
                {"name": "z", "persistentVolumeClaim": {"claimName": "z"}},
                {"name": "a", "persistentVolumeClaim": {"claimName": "a"}},
                {"name": "b", "persistentVolumeClaim": {"claimName": "z"}},
            ],
            ("a", "z"),
            id="in order, each once",
        ),
    ],
)
def test_claims_of_volumes_are_read(volumes: Any, expected: tuple[str, ...]) -> None:
    assert read(volumes=volumes).volume_claims == expected
