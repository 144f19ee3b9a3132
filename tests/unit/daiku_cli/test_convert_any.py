"""`daiku convert` of any YAML: nothing ends in a traceback, nothing is lost, and what is v1 stays as it was read."""

import json
from collections import Counter
from typing import Any

import pytest
import yaml
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from daiku.api import yaml_values
from daiku.cli.converting import conversion, pieces, tree

KUBELET = "compatibility.karpenter.sh/v1beta1-kubelet-conversion"
UNCHANGED: dict[str, str] = {
    "comments before the first document": "# Copyright\n# all rights\n---\nkind: A # own\n",
    "comments alone in a document": "# Source: a.yaml\n---\nkind: A\n---\n# Source: b.yaml\n---\nkind: B\n# end\n",
    "a mapping under key": "kind: A\nspec: {key: {a: b}, topologyKey: [c]}\n",
    "key in a CustomResourceDefinition": "kind: CustomResourceDefinition\nspec:\n  properties:\n    key: {a: b}\n",
    "aliases": "kind: A\na: &x {b: 1}\nc: *x\nd: &s text\ne: *s\n",
    "merge keys": "kind: A\na: &x {b: 1}\nc: {<<: *x, d: 2}\n",
    "two merged": "kind: A\na: &x {b: 1}\ne: &y {f: 1}\nc:\n  <<: [*x, *y]\n  d: 2\n",
    "a kind that ends in List": "apiVersion: a.io/v1\nkind: AllowList\nmetadata: {name: a}\nitems:\n  - {a: b}\n",
    "a List of v1 objects": "apiVersion: v1\nkind: List\nitems:\n  - kind: A # one\n  - kind: B\n",
    "a list with nothing in it": "apiVersion: v1\nkind: List\nitems: []\n",
    "a list of null": "apiVersion: v1\nkind: List\nitems: [null]\n",
    "tags of CloudFormation": "Resources:\n  a: !Ref b\n  c: !Sub {d: e}\n  f: !GetAtt [g, h]\n",
    "a timestamp": "kind: A\nat: 2024-01-01T00:00:00Z # now\nday: 2024-02-30x\n",
    "numbers": "kind: A\na: 0x1F\nb: 010\nc: 1e3\nd: 1_000\ne: 12345678901234567890123456789012345678901\nf: .nan\n",
    "words of YAML 1.1": "kind: A\na: yes\nb: off\nc: 12:30\nd: ~\n",
    "keys that are no text": "kind: A\n2: a\ntrue: b\nnull: c\n? [d, e]\n: f\n",
    "a set": "kind: A\na: !!set {b, c}\n",
    "a binary": "kind: A\na: !!binary aGVsbG8=\n",
    "block scalars": "kind: A\na: |+ # head\n  # no comment\n  text\n\nb: >-\n  folded\n  # no comment\n# end\n",
    "quotes": "kind: A\na: 'it''s # no comment'\nb: \"# no \\\" comment\"\n",
    "a long line": f"kind: A\na: {'word ' * 900}end\n",
    "windows": "kind: A\r\na: b # c\r\n---\r\nkind: B\r\n",
    "a list": "- a # one\n- b\n",
    "text": "just text\n",
    "nothing after a mark": "kind: A\n---\n---\nkind: B\n",
    "part of a NodePool": "apiVersion: karpenter.sh/v1\nkind: NodePool\nmetadata: {name: a}\nspec: {weight: 5}\n",
    "part of an EC2NodeClass": "apiVersion: karpenter.k8s.aws/v1\nkind: EC2NodeClass\nmetadata: {name: a}\n",
    "no metadata": "apiVersion: karpenter.sh/v1\nkind: NodePool\n",
    "somebody's Provisioner": "apiVersion: example.com/v1\nkind: Provisioner\nmetadata: {name: a}\nspec: {a: b}\n",
    "a ConfigMap without a name": "apiVersion: v1\nkind: ConfigMap\ndata: {a: b}\n",
    "a spec that is text": "apiVersion: karpenter.sh/v1beta1\nkind: NodePool\nmetadata: {name: a}\nspec: text\n",
    "a template that is a list": (
        "apiVersion: karpenter.sh/v1alpha5\nkind: Provisioner\nmetadata: {name: a}\nspec: {requirements: {a: b}}\n"
    ),
    "metadata that is text": "apiVersion: karpenter.sh/v1\nkind: NodePool\nmetadata: text\n",
    "a version before v1alpha5": "apiVersion: karpenter.sh/v1alpha4\nkind: Provisioner\nmetadata: {name: a} # old\n",
    "the first group": "apiVersion: provisioning.karpenter.sh/v1alpha3\nkind: Provisioner\nmetadata: {name: a}\n",
    "the autoscaler of v1alpha1": (
        "apiVersion: autoscaling.karpenter.sh/v1alpha1\nkind: ScalableNodeGroup\nmetadata: {name: a}\n"
    ),
    "a version that is not known": "apiVersion: karpenter.sh/v7\nkind: NodePool\nmetadata: {name: a}\n",
}  # fmt: skip
REFUSED: dict[str, tuple[str, str]] = {
    "a key twice": ("a: 1\na: 2\n", "document 1: line 2, column 1"),
    "a tab": ("kind: A\n\tb: c\n", "line 2, column 1"),
    "an alias of nothing": ("a: *b\n", "line 1, column 4"),
    "an alias in itself": ("a: &x [*x]\n", "stands inside of what it names"),
    "a template of Helm": ("{{- if .Values.a }}\nkind: A\n{{- end }}\n", "`helm template`"),
    "a bomb": (
        "a: &a [1,1,1,1,1,1,1,1,1,1]\n"
        + "".join(f"{n}: &{n} [{', '.join(['*' + p] * 10)}]\n" for p, n in zip("abcdef", "bcdefg", strict=True)),
        "when its aliases are written out",
    ),
    "a date that is none": ("a: 2024-13-45\n", "month must be in 1..12"),
    "a number of 5,000 digits": (f"a: {'9' * 5000}\n", "4300 digits"),
    "deep nesting": ("[" * 5000 + "]" * 5000, "nested"),
    "another encoding": ("a: \udce4\n", "can't decode"),
}  # fmt: skip
POOL = """apiVersion: karpenter.sh/v1beta1
kind: NodePool
metadata: {name: a} # meta
spec:
  template:
    spec:
      kubelet: # settings
        maxPods: 5 # five
      nodeClassRef: {apiVersion: karpenter.k8s.aws/v1beta1, kind: EC2NodeClass, name: x} # ref
      resources: {a: b} # dropped
"""
CLASS = "apiVersion: karpenter.k8s.aws/v1\nkind: EC2NodeClass\nmetadata: {name: x}\nspec: {role: z} # role\n"


def converted(text: str) -> tuple[str, tuple[str, ...]]:
    found = conversion.convert(tree.read("file", text.encode("utf-8", "surrogateescape")), "")
    return tree.write(found.objects), found.notes


def documents(text: str) -> list[Any]:
    return [each for each in yaml_values.documents(text.encode()) if each is not None]


@pytest.mark.parametrize("text", UNCHANGED.values(), ids=list(UNCHANGED))
def test_what_no_old_name_is_in_stays_letter_by_letter(text: str) -> None:
    found, _ = converted(text)

    marks = text.removeprefix("# Source: a.yaml\n---\n").replace("---\n---\n", "---\n")
    marks = marks.replace("# all rights\n---\n", "# all rights\n").replace("---\r\n", "---\n")
    marks = marks.replace("# Source: b.yaml\n---\n", "# Source: b.yaml\n")
    assert found == ("# Source: a.yaml\n" if "Source" in text else "") + marks
    assert converted(found)[0] == found


@pytest.mark.parametrize(("text", "message"), REFUSED.values(), ids=list(REFUSED))
def test_what_is_no_yaml_is_refused_with_its_place(text: str, message: str) -> None:
    with pytest.raises(tree.UnreadableError, match=r"^file") as caught:
        converted(text)

    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("text", "note"),
    [
        (UNCHANGED["a version before v1alpha5"], "Provisioner a: is of karpenter.sh/v1alpha4"),
        (UNCHANGED["the first group"], "Provisioner a: is of provisioning.karpenter.sh/v1alpha3"),
        (UNCHANGED["the autoscaler of v1alpha1"], "ScalableNodeGroup a: is of autoscaling."),
        (UNCHANGED["a version that is not known"], "NodePool a: is of karpenter.sh/v7"),
        (UNCHANGED["a spec that is text"], "NodePool a: spec is 'text' and no mapping"),
        (UNCHANGED["a template that is a list"], "Provisioner a: requirements is"),
        (UNCHANGED["a list"], "a document that is no object stays as it is"),
    ],
)  # fmt: skip
def test_what_is_not_converted_is_named(text: str, note: str) -> None:
    _, notes = converted(text)

    assert any(each.startswith(note) for each in notes), notes


def test_an_alias_becomes_two_values_of_which_one_may_change() -> None:
    found, _ = converted(
        "kind: A\na: &x {karpenter.sh/do-not-evict: 'true'}\nb: {c: *x, <<: *x}\nd: [*x]\n"
    )

    new = {"karpenter.sh/do-not-disrupt": "true"}
    assert documents(found) == [{"kind": "A", "a": new, "b": {"c": new, **new}, "d": [new]}]
    assert "&" not in found


def test_objects_of_a_list_do_not_share_an_anchor() -> None:
    found, _ = converted(
        "apiVersion: v1\nkind: List\nitems:\n"
        "  - {kind: A, a: &x {b: 1}}\n"
        "  - {kind: B, a: *x, c: {karpenter.sh/provisioner-name: d}}\n"
    )

    assert [each["a"] for each in documents(found)] == [{"b": 1}, {"b": 1}]


def test_items_of_a_typed_list_get_the_kind_that_it_promises() -> None:
    found, _ = converted(
        "apiVersion: karpenter.sh/v1\nkind: NodePoolList\nmetadata: {resourceVersion: '1'}\nitems:\n"
        "  - {metadata: {name: a, labels: {karpenter.sh/provisioner-name: b}}}\n"
    )

    [pool] = documents(found)
    assert (pool["apiVersion"], pool["kind"]) == ("karpenter.sh/v1", "NodePool")


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ({"key": "karpenter.sh/provisioner-name"}, {"key": "karpenter.sh/nodepool"}),
        ({"topologyKey": "karpenter.sh/provisioner-name"}, {"topologyKey": "karpenter.sh/nodepool"}),
        ({"key": "node.k8s.aws/capacity-type"}, {"key": "karpenter.sh/capacity-type"}),
        (
            {"key": "karpenter.sh/disruption", "operator": "Equal", "value": "disrupting", "effect": "NoSchedule"},
            {"key": "karpenter.sh/disrupted", "operator": "Exists", "effect": "NoSchedule"},
        ),
        (
            {"key": "karpenter.sh/disruption", "operator": "Exists"},
            {"key": "karpenter.sh/disrupted", "operator": "Exists"},
        ),
        (
            {"key": "karpenter.sh/disruption", "value": "disrupting"},
            {"key": "karpenter.sh/disrupted", "operator": "Exists"},
        ),
    ],
)  # fmt: skip
def test_old_names_are_renamed_where_a_field_holds_them(old: Any, new: Any) -> None:
    found, _ = converted(yaml.safe_dump({"kind": "A", "spec": {"in": [old]}}))

    assert documents(found) == [{"kind": "A", "spec": {"in": [new]}}]


def test_kubelet_settings_that_karpenter_kept_in_an_annotation_win_over_the_class() -> None:
    pools = "".join(
        "---\napiVersion: karpenter.sh/v1\nkind: NodePool\nmetadata:\n"
        f"  name: {name}\n"
        + (f"  annotations: {{{KUBELET}: '{said}'}}\n" if said else "")
        + "spec: {template: {spec: {nodeClassRef: {group: karpenter.k8s.aws, kind: EC2NodeClass, name: x}}}}\n"
        for name, said in (("a", '{"maxPods":5}'), ("b", ""))
    )
    node_class = CLASS.replace("{role: z}", "{role: z, kubelet: {maxPods: 9}}")

    found, _ = converted(node_class + pools)

    named = {each["metadata"]["name"]: each for each in documents(found)}
    used = {n: named[n]["spec"]["template"]["spec"]["nodeClassRef"]["name"] for n in "ab"}
    kubelets = {n: named[used[n]]["spec"]["kubelet"] for n in used}
    assert kubelets == {"a": {"maxPods": 5}, "b": {"maxPods": 9}}
    assert "annotations" not in named["a"]["metadata"]
    assert converted(found)[0] == found


def test_kubelet_settings_wait_in_the_annotation_for_a_class_that_is_elsewhere() -> None:
    alone, notes = converted(POOL)
    with_class, _ = converted(alone + "---\n" + CLASS)

    [pool] = documents(alone)
    assert json.loads(pool["metadata"]["annotations"][KUBELET]) == {"maxPods": 5}
    assert any("which is not in the input" in note for note in notes)
    assert documents(with_class)[1]["spec"]["kubelet"] == {"maxPods": 5}


def test_comments_go_along_or_stand_above_the_object() -> None:
    text = f"# head\n---\n{POOL}---\n{CLASS}"

    found, _ = converted(text)

    assert Counter(pieces.comments(found)) == Counter(
        ["# head", "# meta", "# settings", "# five", "# ref", "# dropped", "# role"]
    )
    assert documents(found)[1]["spec"]["kubelet"] == {"maxPods": 5}


def test_a_part_of_an_old_node_pool_gets_no_defaults() -> None:
    found, notes = converted(
        "apiVersion: karpenter.sh/v1beta1\nkind: NodePool\nmetadata: {name: a}\n"
        "spec: {disruption: {expireAfter: 24h, consolidationPolicy: WhenUnderutilized}}\n"
    )

    [pool] = documents(found)
    assert pool["spec"] == {
        "disruption": {"consolidationPolicy": "WhenEmptyOrUnderutilized"},
        "template": {"spec": {"expireAfter": "24h"}},
    }
    assert "NodePool a: names no node class" in notes[-1]


@pytest.mark.parametrize(
    ("spec", "note"),
    [
        ({"provider": {"a": "b"}}, "Provisioner a: a has no successor; left out"),
        ({"providerRef": {"name": "x"}, "ttl": 5}, "Provisioner a: ttl has no successor; left out: 5"),
        ({}, "Provisioner a: names no node template; EC2NodeClass a is named instead"),
    ],
)  # fmt: skip
def test_a_field_without_a_successor_is_named(spec: Any, note: str) -> None:
    _, notes = converted(
        yaml.safe_dump(
            {
                "apiVersion": "karpenter.sh/v1alpha5",
                "kind": "Provisioner",
                "metadata": {"name": "a"},
                "spec": spec,
            }
        )
    )

    assert any(note in each for each in notes), notes


def test_texts_of_json_stay_texts_for_readers_of_yaml_1_1() -> None:
    texts = [
        "yes",
        "No",
        "on",
        "y",
        "0644",
        "1_000",
        "12:30",
        "2024-01-01",
        "~",
        "<<",
        "=",
        "0x1F",
        "true",
        "plain",
    ]
    object_ = {"apiVersion": "v1", "kind": "ConfigMap", "data": {each: each for each in texts}}

    found, _ = converted(json.dumps(object_))

    assert yaml.safe_load(found) == object_
    assert "plain: plain" in found
    assert "y: 'y'" in found.replace("'y':", "y:")


def test_a_block_without_a_line_end_at_the_end_of_a_file_gets_none() -> None:
    found, _ = converted("kind: A # own\ndata:\n  a: |\n    one\n    two")

    assert yaml.safe_load(found) == {"kind": "A", "data": {"a": "one\ntwo"}}
    assert "# own" in found
    assert converted("kind: A\na: b | c")[0] == "kind: A\na: b | c\n"


@pytest.mark.parametrize("wanted", ["yes", "on"])
def test_parts_of_a_selector_stay_texts_for_readers_of_yaml_1_1(wanted: str) -> None:
    found, _ = converted(
        "apiVersion: karpenter.k8s.aws/v1alpha1\nkind: AWSNodeTemplate\nmetadata: {name: a}\n"
        f"spec:\n  subnetSelector: {{private: '{wanted}'}}\n"
    )

    [term] = yaml.safe_load(found)["spec"]["subnetSelectorTerms"]
    assert term == {"tags": {"private": wanted}}


KEYS = st.sampled_from(
    [
        *("apiVersion", "kind", "metadata", "spec", "items", "name", "key", "value", "template"),
        *("topologyKey", "labels", "annotations", "requirements", "nodeClassRef", "kubelet"),
        *("disruption", "limits", "provider", "providerRef", "consolidation", "subnetSelector"),
        *("karpenter.sh/do-not-evict", "karpenter.sh/provisioner-name", "amiFamily", KUBELET),
        *("uid", "status", "data", "expireAfter", "resources", "metadataOptions", "x"),
    ]
)
SCALARS = st.sampled_from(
    [
        *("a", "", "true", "1", "# no", "- x", "multi\nline\n", "é😀", "karpenter.sh/disruption"),
        *("karpenter.sh/provisioner-name", '{"maxPods": 1}', "EC2NodeClass", "NodePoolList", "List"),
        *(True, None, 0, -1, 2**70, 1.5, "karpenter.sh/v1beta1", "NodePool", "a,b", "x" * 300),
    ]
)  # fmt: skip
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=5),
    max_leaves=25,
)
HEADS = st.sampled_from(
    [
        {},
        {"apiVersion": "v1", "kind": "List"},
        *(
            {"apiVersion": f"{group}/{version}", "kind": kind, "metadata": {"name": "a"}}
            for (group, kind), versions in conversion.READ.items()
            for version in (*versions, "v1alpha3")
        ),
        {"kind": "ConfigMap", "metadata": {"name": "karpenter-global-settings"}},
        {"kind": "Deployment", "metadata": {"name": "a"}},
    ]
)


@st.composite
def files(draw: st.DrawFn) -> str:
    """Documents of any shape, in block or flow style, with comments and aliases in between."""
    texts: list[str] = []
    for _ in range(draw(st.integers(1, 3))):
        body = draw(st.dictionaries(KEYS, VALUES, max_size=6))
        whole = {**body, **draw(HEADS)}
        if draw(st.booleans()):
            whole["again"] = whole.get("spec")
        flow = draw(st.sampled_from([None, True, False]))
        # PyYAML writes what is there twice as an alias.
        lines = yaml.dump(whole, default_flow_style=flow, allow_unicode=True).splitlines()
        commented = [
            f"{line} # {draw(st.sampled_from('cdef'))}"
            if line.endswith(":") and draw(st.booleans())
            else line
            for line in lines
        ]
        texts.append("\n".join(["# head"] * draw(st.integers(0, 1)) + commented) + "\n")
    return "---\n".join(texts)


@settings(max_examples=100, deadline=None, suppress_health_check=list(HealthCheck))
@given(files())
def test_any_file_is_converted_once_and_for_all(text: str) -> None:
    try:
        found, notes = converted(text)
    except tree.UnreadableError:
        return
    lost = Counter(pieces.comments(text)) - Counter(pieces.comments(found))
    assert not lost or any("left out" in note for note in notes)
    assert converted(text) == (found, notes)
    assert converted(found)[0] == found
