"""The CRDs on a real kube-apiserver: what it takes, what it refuses and in which words, what it fills in."""

import datetime as dt
import json
from collections.abc import Generator
from pathlib import Path
from typing import Any

import pytest
import yaml
from tests.conformance.crds import node_class_table, pools, table

import daiku
from daiku.api import kinds
from daiku.cli.converting import conversion, tree
from daiku.kube import errors
from daiku.kube.client import Client
from daiku.kube.credentials import Credentials
from daiku_local import down, toolchain, up

pytestmark = pytest.mark.world

CRDS = Path(daiku.__file__).parent / "crds"
DISRUPTION = Path(__file__).resolve().parents[2] / "examples" / "disruption"


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Generator[Client]:
    """A cluster whose API server knows our CRDs."""
    folder = tmp_path_factory.mktemp("crds") / "world"
    now = dt.datetime.now(dt.UTC)  # noqa: TID251 - certificates must be valid in real time
    world = up.up(folder, toolchain.ensure(), now, _silent)
    made = Client(Credentials({"KUBECONFIG": str(world.kubeconfig)}))
    for file in sorted(CRDS.glob("*.yaml")):
        made.create(
            "/apis/apiextensions.k8s.io/v1/customresourcedefinitions",
            yaml.safe_load(file.read_text()),
        )
    for kind in (
        kinds.NODE_POOLS,
        kinds.NODE_CLAIMS,
        kinds.EC2_NODE_CLASSES,
        kinds.KWOK_NODE_CLASSES,
    ):
        _until_served(made, kind.path)
    yield made
    down.down(folder, _silent)


ACCEPTED = {**table.ACCEPTED, **pools.ACCEPTED, **node_class_table.ACCEPTED}
REJECTED = {**table.REJECTED, **pools.REJECTED, **node_class_table.REJECTED}


@pytest.mark.parametrize("name", ACCEPTED)
def test_is_accepted(client: Client, name: str) -> None:
    valid, change = ACCEPTED[name]

    _create(client, table.merged(valid, change))


@pytest.mark.parametrize("name", REJECTED)
def test_is_refused_in_words_that_name_the_mistake(client: Client, name: str) -> None:
    valid, change, words = REJECTED[name]

    with pytest.raises(errors.Rejected) as refused:
        _create(client, table.merged(valid, change))

    assert words in str(refused.value)


def test_defaults_are_karpenters(client: Client) -> None:
    pool = _create(
        client,
        table.merged(
            table.NODE_POOL,
            {"spec": {"disruption": None, "template": {"spec": {"expireAfter": None}}}},
        ),
    )
    node_class = _create(client, table.NODE_CLASS)

    assert pool["spec"]["disruption"] == {
        "budgets": [{"nodes": "10%"}],
        "consolidateAfter": "0s",
        "consolidationPolicy": "WhenEmptyOrUnderutilized",
    }
    assert pool["spec"]["template"]["spec"]["expireAfter"] == "720h"
    assert node_class["spec"]["metadataOptions"] == {
        "httpEndpoint": "enabled",
        "httpProtocolIPv6": "disabled",
        "httpPutResponseHopLimit": 1,
        "httpTokens": "required",
    }


@pytest.mark.parametrize("file", sorted(DISRUPTION.glob("*.yaml")), ids=lambda f: f.name)
def test_the_examples_of_disruption_are_taken_as_they_are(client: Client, file: Path) -> None:
    bodies = [body for body in yaml.safe_load_all(file.read_text()) if body is not None]

    for body in bodies:
        group, plural = body["apiVersion"], f"{body['kind'].lower()}s"
        root = f"/apis/{group}" if "/" in group else f"/api/{group}"
        inside = "" if body["kind"] == "NodePool" else "/namespaces/default"
        made = json.loads(client.create(f"{root}{inside}/{plural}", body, dry_run=True))
        assert made["metadata"]["name"] == body["metadata"]["name"]
    assert bodies


def test_a_kwok_node_class_is_ready_from_birth(client: Client) -> None:
    body = {
        "apiVersion": "karpenter.kwok.sh/v1alpha1",
        "kind": "KWOKNodeClass",
        "metadata": {"name": "default"},
    }

    client.create(kinds.KWOK_NODE_CLASSES.path, body)

    path = kinds.KWOK_NODE_CLASSES.object_path("default")
    assert kinds.KWOK_NODE_CLASSES.decode(client.get(path)).ready is True


@pytest.mark.parametrize("name", pools.CHANGES)
def test_what_may_change_and_what_may_not(client: Client, name: str) -> None:
    valid, before, after, words = pools.CHANGES[name]
    called = {"metadata": {"name": f"changed-{list(pools.CHANGES).index(name)}"}}
    body = table.merged(table.merged(valid, before), called)
    kind = kinds.BY_NAME[body["kind"]]
    client.create(kind.path, body)

    if not words:
        client.patch(kind.object_path(body["metadata"]["name"]), after)
        return
    with pytest.raises(errors.Rejected) as refused:
        client.patch(kind.object_path(body["metadata"]["name"]), after)

    assert words in str(refused.value)


def test_what_a_person_sees_of_a_node_class_and_how_it_is_called(client: Client) -> None:
    path = (
        "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/ec2nodeclasses.karpenter.k8s.aws"
    )
    found = yaml.safe_load(client.get(path))["spec"]

    (version,) = found["versions"]
    columns = {c["name"]: c.get("priority", 0) for c in version["additionalPrinterColumns"]}
    assert columns == {"Ready": 0, "Age": 0, "Role": 1}
    assert (found["names"]["shortNames"], found["names"]["categories"]) == (
        ["ec2nc", "ec2ncs"],
        ["karpenter"],
    )
    assert found["scope"] == "Cluster"
    assert version["subresources"] == {"status": {}}


def test_kubelet_settings_that_nobody_knows_are_kept(client: Client) -> None:
    settings = {"noSuchThing": {"deep": [1, "two"]}, "maxPods": "vcpus * 10"}

    made = _create(client, table.merged(table.NODE_CLASS, {"spec": {"kubelet": settings}}))

    assert made["spec"]["kubelet"] == settings


def test_role_and_profile_can_be_changed_for_each_other(client: Client) -> None:
    body = table.merged(table.NODE_CLASS, {"metadata": {"name": "switched"}})
    path = kinds.EC2_NODE_CLASSES.object_path("switched")
    client.create(kinds.EC2_NODE_CLASSES.path, body)

    client.patch(path, {"spec": {"role": "another"}})
    client.patch(path, {"spec": {"role": None, "instanceProfile": "mine"}})

    assert yaml.safe_load(client.get(path))["spec"]["instanceProfile"] == "mine"


def test_a_static_pool_is_scaled_like_a_deployment(client: Client) -> None:
    body = table.merged(table.NODE_POOL, pools.static(replicas=2))
    body["metadata"] = {"name": "scaled"}
    client.create(kinds.NODE_POOLS.path, body)

    client.patch(f"{kinds.NODE_POOLS.object_path('scaled')}/scale", {"spec": {"replicas": 4}})

    pool = kinds.NODE_POOLS.decode(client.get(kinds.NODE_POOLS.object_path("scaled")))
    assert getattr(pool, "replicas", None) == 4


def test_a_node_pool_can_be_scaled_and_lists_its_columns(client: Client) -> None:
    found = yaml.safe_load(
        client.get("/apis/apiextensions.k8s.io/v1/customresourcedefinitions/nodepools.karpenter.sh")
    )
    version = found["spec"]["versions"][0]

    assert version["subresources"]["scale"]["specReplicasPath"] == ".spec.replicas"
    assert [c["name"] for c in version["additionalPrinterColumns"] if not c.get("priority")] == [
        "NodeClass",
        "Nodes",
        "Ready",
        "Age",
    ]


def _create(client: Client, body: table.Json) -> dict[str, Any]:
    kind = kinds.BY_NAME[body["kind"]]
    return yaml.safe_load(client.create(kind.path, body, dry_run=True))


def _until_served(client: Client, path: str) -> None:
    deadline = dt.datetime.now(dt.UTC) + dt.timedelta(seconds=20)  # noqa: TID251
    while True:
        try:
            client.get(path)
        except (errors.NotFound, errors.TooMany):
            if dt.datetime.now(dt.UTC) > deadline:  # noqa: TID251
                raise
        else:
            return


def _silent(_line: str) -> None:
    """Take a line of progress and forget it."""


OLD = """
apiVersion: karpenter.sh/v1alpha5
kind: Provisioner
metadata: {name: from-alpha}
spec:
  requirements:
    - {key: karpenter.k8s.aws/instance-family, operator: In, values: [m5, c5]}
  limits: {resources: {cpu: 1000, memory: 1000Gi}}
  kubeletConfiguration: {containerRuntime: containerd, maxPods: 40, systemReserved: {cpu: 100m}}
  taints: [{key: team, value: shop, effect: NoSchedule}]
  ttlSecondsUntilExpired: 2592000
  consolidation: {enabled: true}
  weight: 10
  providerRef: {name: from-alpha}
---
apiVersion: karpenter.k8s.aws/v1alpha1
kind: AWSNodeTemplate
metadata: {name: from-alpha}
spec:
  subnetSelector: {karpenter.sh/discovery: "one,two"}
  securityGroupSelector: {aws-ids: "sg-0123456789abcdef0,sg-0123456789abcdef1"}
  instanceProfile: nodes
  tags: {team: shop}
  blockDeviceMappings: [{deviceName: /dev/xvda, ebs: {volumeSize: 100Gi, volumeType: gp3}}]
---
apiVersion: karpenter.sh/v1beta1
kind: NodePool
metadata: {name: from-beta}
spec:
  template:
    spec:
      nodeClassRef: {apiVersion: karpenter.k8s.aws/v1beta1, kind: EC2NodeClass, name: from-beta}
      requirements: [{key: karpenter.sh/capacity-type, operator: In, values: [spot]}]
      kubelet: {maxPods: 20}
  disruption: {consolidationPolicy: WhenUnderutilized, expireAfter: 48h, budgets: [{nodes: 20%}]}
---
apiVersion: karpenter.k8s.aws/v1beta1
kind: EC2NodeClass
metadata: {name: from-beta}
spec:
  amiFamily: Bottlerocket
  role: nodes
  subnetSelectorTerms: [{tags: {karpenter.sh/discovery: one}}]
  securityGroupSelectorTerms: [{tags: {karpenter.sh/discovery: one}}]
"""


def test_what_convert_makes_of_old_manifests_is_accepted(client: Client) -> None:
    found = conversion.convert(tree.read("old", OLD.encode()), "")

    made = [
        _create(client, yaml.safe_load(tree.write([each])))["metadata"]["name"]
        for each in found.objects
    ]

    assert made == ["from-alpha", "from-alpha", "from-beta", "from-beta"]
