"""Old manifests as v1.

Sources of the rows: Karpenter's upgrade guides, v1alpha5 to v1beta1 and v1beta1 to v1; for what v1alpha5 implied, the
defaulting of its Provisioners.
"""

import json
from typing import Any

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st
from typer.testing import CliRunner, Result

from daiku.api import configuration, manifests
from daiku.cli.converting import alpha, conversion, tree
from daiku.cli.main import app

Json = dict[str, Any]


def convert(*objects: Json, node_role: str = "") -> tuple[list[Json], tuple[str, ...]]:
    """Objects as v1, and what was said."""
    documents = tree.read("test", yaml.safe_dump_all(objects).encode())
    found = conversion.convert(documents, node_role)
    return list(yaml.safe_load_all(tree.write(found.objects))), found.notes


def provisioner(**spec: Any) -> Json:
    return {
        "apiVersion": "karpenter.sh/v1alpha5",
        "kind": "Provisioner",
        "metadata": {"name": "default"},
        "spec": {"providerRef": {"name": "nodes"}, **spec},
    }


def node_template(**spec: Any) -> Json:
    return {
        "apiVersion": "karpenter.k8s.aws/v1alpha1",
        "kind": "AWSNodeTemplate",
        "metadata": {"name": "nodes"},
        "spec": {"instanceProfile": "nodes", **spec},
    }


def beta_pool(name: str = "default", *, disruption: Any = None, **inner: Any) -> Json:
    ref = {"apiVersion": "karpenter.k8s.aws/v1beta1", "kind": "EC2NodeClass", "name": "nodes"}
    return {
        "apiVersion": "karpenter.sh/v1beta1",
        "kind": "NodePool",
        "metadata": {"name": name},
        "spec": {
            "template": {"spec": {"nodeClassRef": ref, "requirements": [], **inner}},
            **({"disruption": disruption} if disruption else {}),
        },
    }


def beta_class(**spec: Any) -> Json:
    return {
        "apiVersion": "karpenter.k8s.aws/v1beta1",
        "kind": "EC2NodeClass",
        "metadata": {"name": "nodes"},
        "spec": {"role": "nodes", "amiFamily": "AL2023", **spec},
    }


IMPLIED = {"karpenter.sh/capacity-type", "kubernetes.io/os", "kubernetes.io/arch"}
SHAPE = {"karpenter.k8s.aws/instance-category", "karpenter.k8s.aws/instance-generation"}


@pytest.mark.parametrize(
    ("given", "keys"),
    [
        ([], IMPLIED | SHAPE),
        ([("kubernetes.io/arch", "arm64")], IMPLIED | SHAPE),
        ([("node.kubernetes.io/instance-type", "m5.large")], IMPLIED | {"node.kubernetes.io/instance-type"}),
        ([("karpenter.k8s.aws/instance-family", "m5")], IMPLIED | {"karpenter.k8s.aws/instance-family"}),
        ([("karpenter.k8s.aws/instance-generation", "5")], IMPLIED | {"karpenter.k8s.aws/instance-generation"}),
        ([("karpenter.k8s.aws/instance-size", "large")], IMPLIED | SHAPE | {"karpenter.k8s.aws/instance-size"}),
        (
            [("beta.kubernetes.io/arch", "arm64")],
            {"karpenter.sh/capacity-type", "kubernetes.io/os", "beta.kubernetes.io/arch"} | SHAPE,
        ),
    ],
)  # fmt: skip
def test_requirements_that_v1alpha5_implied_are_written_out(
    given: list[tuple[str, str]], keys: set[str]
) -> None:
    asked = [{"key": key, "operator": "In", "values": [value]} for key, value in given]

    [pool], _ = convert(provisioner(requirements=asked))

    found = pool["spec"]["template"]["spec"]["requirements"]
    assert {each["key"] for each in found} == keys
    assert found[: len(asked)] == asked


@pytest.mark.parametrize(
    ("old", "policy", "after", "expire"),
    [
        ({}, "WhenEmpty", "Never", "Never"),
        ({"ttlSecondsAfterEmpty": 30}, "WhenEmpty", "30s", "Never"),
        ({"ttlSecondsAfterEmpty": 0}, "WhenEmpty", "0s", "Never"),
        ({"consolidation": {"enabled": True}}, "WhenEmptyOrUnderutilized", "0s", "Never"),
        ({"consolidation": {"enabled": False}}, "WhenEmpty", "Never", "Never"),
        ({"ttlSecondsUntilExpired": 3600}, "WhenEmpty", "Never", "3600s"),
    ],
)
def test_lifetimes_of_a_provisioner_mean_the_same(
    old: Json, policy: str, after: str, expire: str
) -> None:
    [pool], _ = convert(provisioner(**old))

    assert pool["spec"]["disruption"] == {"consolidationPolicy": policy, "consolidateAfter": after}
    assert pool["spec"]["template"]["spec"]["expireAfter"] == expire


@pytest.mark.parametrize(
    ("word", "policy"),
    [("no", "WhenEmpty"), ("off", "WhenEmpty"), ("Yes", "WhenEmptyOrUnderutilized")],
)
def test_consolidation_may_be_switched_with_words_of_yaml_1_1(word: str, policy: str) -> None:
    text = yaml.safe_dump(provisioner(consolidation={"enabled": True})).replace("true", word)

    found = conversion.convert(tree.read("test", text.encode()), "")

    assert yaml.safe_load(found.objects[0])["spec"]["disruption"]["consolidationPolicy"] == policy


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ({}, ("WhenEmptyOrUnderutilized", "0s", "720h")),
        ({"consolidationPolicy": "WhenUnderutilized"}, ("WhenEmptyOrUnderutilized", "0s", "720h")),
        (
            {"consolidationPolicy": "WhenEmpty", "consolidateAfter": "5m", "expireAfter": "Never"},
            ("WhenEmpty", "5m", "Never"),
        ),
    ],
)
def test_defaults_of_v1beta1_are_written_out(old: Json, new: tuple[str, str, str]) -> None:
    [pool], _ = convert(beta_pool(disruption=old))

    spec = pool["spec"]
    assert new == (
        spec["disruption"]["consolidationPolicy"],
        spec["disruption"]["consolidateAfter"],
        spec["template"]["spec"]["expireAfter"],
    )
    assert spec["template"]["spec"]["nodeClassRef"] == {
        "group": "karpenter.k8s.aws",
        "kind": "EC2NodeClass",
        "name": "nodes",
    }


@pytest.mark.parametrize(
    ("selector", "terms"),
    [
        ({"a": "b"}, [{"tags": {"a": "b"}}]),
        ({"a": "b", "c": "d"}, [{"tags": {"a": "b", "c": "d"}}]),
        ({"a": "b,e"}, [{"tags": {"a": "b"}}, {"tags": {"a": "e"}}]),
        ({"aws-ids": "i-1, i-2"}, [{"id": "i-1"}, {"id": "i-2"}]),
        ({"aws::ids": "i-1"}, [{"id": "i-1"}]),
        (
            {"aws::name": "x,y", "aws::owners": "self"},
            [{"name": "x", "owner": "self"}, {"name": "y", "owner": "self"}],
        ),
    ],
)
def test_selectors_become_terms(selector: Json, terms: list[Json]) -> None:
    assert [json.loads(json.dumps(each)) for each in alpha.terms(selector)] == terms


@pytest.mark.parametrize(
    ("spec", "terms"),
    [
        ({}, [{"alias": "al2023@latest"}]),
        ({"amiFamily": "AL2"}, [{"alias": "al2@latest"}]),
        ({"amiFamily": "Bottlerocket"}, [{"alias": "bottlerocket@latest"}]),
        ({"amiFamily": "Windows2022"}, [{"alias": "windows2022@latest"}]),
        ({"amiSelectorTerms": [{"id": "ami-1"}]}, [{"id": "ami-1"}]),
    ],
)
def test_images_that_a_family_implied_are_written_out(spec: Json, terms: list[Json]) -> None:
    [node_class], _ = convert(beta_class(**spec))

    assert node_class["spec"]["amiSelectorTerms"] == terms


def test_the_hop_limit_stays_as_it_was() -> None:
    [implied, given], _ = convert(
        beta_class(), beta_class(metadataOptions={"httpPutResponseHopLimit": 1})
    )

    assert implied["spec"]["metadataOptions"] == {"httpPutResponseHopLimit": 2}
    assert given["spec"]["metadataOptions"] == {"httpPutResponseHopLimit": 1}


def test_kubelet_settings_move_to_the_node_class() -> None:
    [node_class, pool], _ = convert(beta_class(), beta_pool(kubelet={"maxPods": 40}))

    assert node_class["spec"]["kubelet"] == {"maxPods": 40}
    assert "kubelet" not in pool["spec"]["template"]["spec"]


def test_pools_with_other_kubelet_settings_get_a_node_class_of_their_own() -> None:
    found, notes = convert(
        beta_class(),
        beta_pool("a", kubelet={"maxPods": 40}),
        beta_pool("b", kubelet={"maxPods": 9}),
        beta_pool("c", kubelet={"maxPods": 9}),
        beta_pool("d"),
    )

    named = {each["metadata"]["name"]: each for each in found}
    used = {
        name: named[name]["spec"]["template"]["spec"]["nodeClassRef"]["name"] for name in "abcd"
    }
    assert used == {"a": "nodes", "b": "nodes-b", "c": "nodes-b", "d": "nodes-d"}
    assert named["nodes"]["spec"]["kubelet"] == {"maxPods": 40}
    assert named["nodes-b"]["spec"]["kubelet"] == {"maxPods": 9}
    assert "kubelet" not in named["nodes-d"]["spec"]
    assert sum("other kubelet settings" in note for note in notes) == 3


SETTINGS: Json = {
    "apiVersion": "v1",
    "kind": "ConfigMap",
    "metadata": {"name": "karpenter-global-settings"},
    "data": {"aws.clusterName": "c"},
}
NOTES: list[tuple[list[Json], str]] = [
    ([node_template(launchTemplate="mine")], "launchTemplate 'mine' cannot be kept"),
    ([node_template(instanceProfile=None)], "give the nodes' role with --node-role"),
    ([beta_class(amiFamily="Ubuntu")], "needs amiSelectorTerms that name Ubuntu's images"),
    ([beta_class(amiFamily="Custom")], "amiFamily Custom has no images of its own"),
    ([beta_pool(kubelet={"maxPods": 4})], 'EC2NodeClass nodes, which is not in the input: {"maxPods": 4}'),
    ([beta_pool()], "older than expireAfter 720h are drained at once"),
    ([provisioner(provider={"instanceProfile": "x"})], "its inline provider became EC2NodeClass default"),
    ([{"apiVersion": "karpenter.sh/v1alpha5", "kind": "Machine", "metadata": {"name": "m"}}], "Machine m: belongs to"),
    (
        [SETTINGS],
        "set CLUSTER_NAME=c in the controller's environment instead of aws.clusterName",
    ),
]  # fmt: skip


@pytest.mark.parametrize(("objects", "note"), NOTES)
def test_what_cannot_be_kept_is_named(objects: list[Json], note: str) -> None:
    _, notes = convert(*objects)

    assert [n for n in notes if note in n], notes


def test_a_role_can_be_given_for_node_classes_without_one() -> None:
    [node_class], notes = convert(node_template(instanceProfile=None), node_role="nodes")

    assert node_class["spec"]["role"] == "nodes"
    assert not [note for note in notes if "role" in note]


@pytest.mark.parametrize("old", ["do-not-evict", "do-not-consolidate"])
def test_old_names_are_found_wherever_they_are(old: str) -> None:
    pod = {
        "metadata": {"annotations": {f"karpenter.sh/{old}": "true"}},
        "spec": {"nodeSelector": {"karpenter.sh/provisioner-name": "default"}},
    }
    workload = {"kind": "Deployment", "metadata": {"name": "web"}, "spec": {"template": pod}}

    [found], _ = convert(workload)

    assert found["spec"]["template"] == {
        "metadata": {"annotations": {"karpenter.sh/do-not-disrupt": "true"}},
        "spec": {"nodeSelector": {"karpenter.sh/nodepool": "default"}},
    }


def test_lists_from_a_live_cluster_become_manifests() -> None:
    live = beta_pool()
    written = {"karpenter.sh/nodepool-hash": "1"}
    live["metadata"] |= {"uid": "u", "resourceVersion": "1", "annotations": written}
    live["status"] = {"resources": {}}

    [found], _ = convert({"apiVersion": "v1", "kind": "List", "items": [live]})

    assert found["metadata"] == {"name": "default"}
    assert "status" not in found


def test_what_is_v1_already_stays_as_it_is() -> None:
    once, _ = convert(provisioner(ttlSecondsAfterEmpty=3), node_template())
    twice, notes = convert(*once)

    assert twice == once
    assert notes == ()


def test_what_comes_out_is_read_by_the_controller() -> None:
    found, _ = convert(
        provisioner(weight=3, limits={"resources": {"cpu": "10"}}, labels={"a": "b"}),
        node_template(subnetSelector={"a": "b"}),
    )
    problems: list[str] = []

    read = configuration.build(
        manifests.read("out", yaml.safe_dump_all(found).encode(), problems), problems
    )

    assert not problems
    assert {type(each).__name__ for each in read.objects} >= {"NodePool", "NodeClass"}


WORDS = st.text("abcdefgh ", min_size=1, max_size=12).map(str.strip).filter(bool)


@settings(deadline=None)
@given(st.lists(WORDS, min_size=12, max_size=12, unique=True))
def test_no_comment_is_lost(words: list[str]) -> None:
    text = """# {}
apiVersion: karpenter.sh/v1alpha5 # {}
kind: Provisioner
metadata:
  # {}
  name: default
spec:
  # {}
  labels: # {}
    a: b # {}
  limits:
    resources: # {}
      cpu: 1 # {}
  # {}
  ttlSecondsAfterEmpty: 30 # {}
  consolidation:
    enabled: false # {}
# {}
""".format(*words)

    found = tree.write(conversion.convert(tree.read("test", text.encode()), "").objects)

    said = [line.partition("#")[2].strip() for line in found.splitlines() if "#" in line]
    assert sorted(said) == sorted(words)


def run(*arguments: str, given: str = "") -> Result:
    return CliRunner().invoke(app, ["convert", *arguments], input=given)


@pytest.mark.parametrize(
    ("given", "code", "message"),
    [
        ("a: [", 2, "standard input: line 2, column 1: while parsing"),
        ("", 2, "holds no object"),
        ("just text", 0, "a document that is no object stays as it is: 'just text'"),
        (yaml.safe_dump(beta_pool()), 3, "drained at once"),
        pytest.param("#" * (33 << 20), 2, "has 33 MiB, more than manifests have", id="huge"),
    ],
)
def test_the_command_says_what_it_could_not_keep(given: str, code: int, message: str) -> None:
    arguments = ["--strict"] if code == 3 else []
    result = run("-", *arguments, given=given)

    assert result.exit_code == code
    assert message in result.stderr
    assert "Traceback" not in result.output
