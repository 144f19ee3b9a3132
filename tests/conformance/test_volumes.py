"""Where volumes let a pod run, and how many a node attaches.

Source: kubernetes.io/docs/concepts/storage/storage-classes (volume binding mode, allowed topologies) and
storage-limits; kube-scheduler's volumebinding, volumezone and nodevolumelimits.
"""

import json
from typing import Any

import pytest
from tests import build

from daiku.api import decode_volumes
from daiku.model import labels
from daiku.model.requirements import NO_REQUIREMENTS, Requirements
from daiku.scheduling import audit
from daiku.state.volumes import OverLimit, Volumes

EBS = "ebs.csi.aws.com"
EBS_ZONE = "topology.ebs.csi.aws.com/zone"


BOUND = {"phase": "Bound"}
SINCE = "2026-03-02T12:00:00Z"


def encoded(name: str, namespace: str | None = None, **body: Any) -> bytes:
    return json.dumps({"metadata": {"name": name, "namespace": namespace}, **body}).encode()


def selector(*terms: Any) -> dict[str, Any]:
    return {"required": {"nodeSelectorTerms": list(terms)}}


def in_zone(*zones: str, key: str = EBS_ZONE) -> dict[str, Any]:
    return {"matchExpressions": [{"key": key, "operator": "In", "values": list(zones)}]}


def zone(*zones: str) -> Requirements:
    return build.needs(build.require(labels.ZONE, "In", *zones))


VOLUMES = [
    encoded(
        "in-a",
        spec={
            "csi": {"driver": EBS, "volumeHandle": "vol-a"},
            "nodeAffinity": selector(in_zone("a")),
        },
    ),
    encoded("in-b", spec={"nodeAffinity": selector(in_zone("b"))}),
    encoded("in-a-or-b", spec={"nodeAffinity": selector(in_zone("a"), in_zone("b"))}),
    encoded("anywhere", spec={"csi": {"driver": "efs.csi.aws.com", "volumeHandle": "fs-1"}}),
    encoded("by-hand", spec={"storageClassName": "local", "nodeAffinity": selector(in_zone("c"))}),
    json.dumps(
        {
            "metadata": {"name": "old", "labels": {labels.ZONE: "a__b"}},
            "spec": {"awsElasticBlockStore": {"volumeID": "vol-old"}, "claimRef": {"name": "old"}},
        }
    ).encode(),
]
CLASSES = [
    encoded("waits", provisioner="kubernetes.io/aws-ebs", volumeBindingMode="WaitForFirstConsumer"),
    encoded(
        "two-zones",
        provisioner=EBS,
        volumeBindingMode="WaitForFirstConsumer",
        allowedTopologies=[
            {"matchLabelExpressions": [{"key": EBS_ZONE, "values": ["a", "b"]}]},
            {"matchLabelExpressions": [{"key": EBS_ZONE, "values": ["c"]}]},
        ],
    ),
    encoded("at-once", provisioner=EBS, volumeBindingMode="Immediate"),
    encoded(
        "local",
        provisioner="kubernetes.io/no-provisioner",
        volumeBindingMode="WaitForFirstConsumer",
    ),
    encoded(
        "none-left",
        provisioner="kubernetes.io/no-provisioner",
        volumeBindingMode="WaitForFirstConsumer",
    ),
]


def claim(name: str, **body: Any) -> bytes:
    return encoded(name, "default", **body)


CLAIMS = [
    *(
        claim(name, spec={"volumeName": name})
        for name in ("in-a", "in-b", "in-a-or-b", "anywhere", "old", "no-volume")
    ),
    *(
        claim(f"new-{name}", spec={"storageClassName": name})
        for name in ("waits", "two-zones", "at-once", "local", "none-left", "unknown", "")
    ),
    claim("lost", spec={"volumeName": "in-a"}, status={"phase": "Lost"}),
    claim("binding", spec={"volumeName": "in-a"}, status={"phase": "Pending"}),
    claim("bound", spec={"volumeName": "in-a", "storageClassName": "unknown"}, status=BOUND),
    json.dumps(
        {
            "metadata": {"name": "going", "namespace": "default", "deletionTimestamp": SINCE},
            "spec": {"volumeName": "in-a"},
        }
    ).encode(),
]
LIMITS = encoded(
    "node",
    spec={"drivers": [{"name": EBS, "allocatable": {"count": 2}}, {"name": "efs.csi.aws.com"}]},
)


def book() -> Volumes:
    claims = [decode_volumes.persistent_volume_claim(c) for c in CLAIMS]
    volumes = [decode_volumes.persistent_volume(v) for v in VOLUMES]
    classes = [decode_volumes.storage_class(c) for c in CLASSES]
    return Volumes(
        claims={c.meta.key: c for c in claims},
        volumes={v.meta.name: v for v in volumes},
        classes={c.meta.name: c for c in classes},
        csi_nodes={"node": decode_volumes.csi_node(LIMITS)},
    )


@pytest.mark.parametrize(
    ("claims", "expected"),
    [
        pytest.param((), (NO_REQUIREMENTS,), id="no volume"),
        pytest.param(("in-a",), (zone("a"),), id="the zone of a bound volume"),
        pytest.param(("in-a-or-b",), (zone("a"), zone("b")), id="terms are alternatives"),
        pytest.param(("anywhere",), (NO_REQUIREMENTS,), id="a volume that is reached everywhere"),
        pytest.param(("bound",), (zone("a"),), id="bound, whatever has become of its class"),
        pytest.param(("old",), (zone("a", "b"),), id="the zones in the label of an old volume"),
        pytest.param(("in-a", "in-a-or-b"), (zone("a"),), id="all volumes together"),
        pytest.param(("new-waits",), (NO_REQUIREMENTS,), id="made where the pod is put"),
        pytest.param(
            ("new-two-zones",), (zone("a", "b"), zone("c")), id="made in allowed topologies"
        ),
        pytest.param(("in-b", "new-two-zones"), (zone("b"),), id="bound and to be made, together"),
        pytest.param(("new-local",), (zone("c"),), id="where volumes made by hand are left"),
    ],
)
def test_volumes_let_a_pod_run(claims: tuple[str, ...], expected: tuple[Requirements, ...]) -> None:
    reach = book().reach(build.pod(volume_claims=claims))

    assert reach.alternatives == expected
    assert not reach.problem


@pytest.mark.parametrize(
    ("claims", "words"),
    [
        pytest.param(("missing",), "does not exist", id="a claim that is not there (yet)"),
        pytest.param(("lost",), "is lost", id="a claim whose volume is lost"),
        pytest.param(("going",), "is being deleted", id="a claim that is being deleted"),
        pytest.param(("binding",), "still being bound", id="a volume that is not given to it yet"),
        pytest.param(("new-",), "'' does not exist", id="no volume and no class"),
        pytest.param(("no-volume",), "volume no-volume, which does not", id="no such volume"),
        pytest.param(("new-unknown",), "'unknown' does not exist", id="no such class"),
        pytest.param(("new-at-once",), "does not wait for a pod", id="made without the pod"),
        pytest.param(("new-none-left",), "none is left", id="made by hand, none left"),
        pytest.param(("in-a", "in-b"), "nowhere reachable together", id="two zones at once"),
    ],
)
def test_volumes_keep_a_pod_waiting(claims: tuple[str, ...], words: str) -> None:
    reach = book().reach(build.pod(volume_claims=claims))

    assert reach.alternatives == ()
    assert words in reach.problem


def test_a_node_attaches_by_driver_and_old_drivers_count_as_those_of_today() -> None:
    found = book().attached(
        build.pod(volume_claims=("in-a", "old", "new-waits", "anywhere", "new-local"))
    )

    assert found == {
        EBS: {"vol-a": True, "vol-old": True, "default/new-waits": True},
        "efs.csi.aws.com": {"fs-1": True},
    }


@pytest.mark.parametrize(
    ("there", "comes", "expected"),
    [
        pytest.param(("in-a",), ("old",), (), id="up to the limit"),
        pytest.param(
            ("in-a", "old"),
            ("new-waits",),
            (OverLimit(driver=EBS, wanted=3, limit=2),),
            id="one more than the limit",
        ),
        pytest.param(("in-a", "old"), ("in-a",), (), id="a volume that is attached already"),
        pytest.param(("anywhere",), ("anywhere",), (), id="a driver without a limit"),
    ],
)
def test_a_node_takes_so_many_volumes(
    there: tuple[str, ...], comes: tuple[str, ...], expected: tuple[OverLimit, ...]
) -> None:
    resident = build.pod("resident", node="node", volume_claims=there)

    assert book().over_limits("node", [resident], build.pod(volume_claims=comes)) == expected


def test_a_node_without_limits_takes_any_number() -> None:
    assert book().over_limits("other", [], build.pod(volume_claims=("in-a", "old"))) == ()


@pytest.mark.parametrize(
    ("claims", "there", "legal"),
    [
        pytest.param(("in-a",), (), True, id="the zone of the volume"),
        pytest.param(("in-b",), (), False, id="another zone"),
        pytest.param(("missing",), (), False, id="a claim that is not there"),
        pytest.param(("new-waits",), ("in-a", "old"), False, id="one more than the node takes"),
    ],
)
def test_the_audit_looks_at_volumes(
    claims: tuple[str, ...], there: tuple[str, ...], legal: bool
) -> None:
    known = book()
    node = build.node("node", labels_of={labels.ZONE: "a"}, provider_id="i-1")
    comes = build.pod("comes", volume_claims=claims)
    of_volumes = (
        *known.claims.values(),
        *known.volumes.values(),
        *known.classes.values(),
        *known.csi_nodes.values(),
    )
    world = build.cluster(
        node, comes, build.pod("there", node="node", volume_claims=there), *of_volumes
    )

    found = audit.audit([], {comes.meta.key: "node"}, world.snapshot(build.NOW), world.catalogue)

    assert [v.rule for v in found] == ([] if legal else ["Volumes"])
