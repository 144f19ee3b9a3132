"""Folders of real projects: read as far as they go, and what other tools would make of them is named."""

import json
from pathlib import Path
from typing import Any

import pytest
import yaml
from tests.unit.daiku_cli.reading import node_pool, pod, workload
from typer.testing import CliRunner, Result

from daiku.api import api_rules
from daiku.cli.main import app

Json = dict[str, Any]


def plan(*arguments: str, given: str = "") -> Result:
    return CliRunner().invoke(app, ["plan", "--format", "json", *arguments], input=given)


def written(folder: Path, **files: str) -> Path:
    """A folder with these files; `__` in a name is a slash, and `_` before its end a point."""
    for name, text in files.items():
        path = folder / name.replace("__", "/").replace("_", ".")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return folder


def pods(result: Result) -> int:
    return sum(len(node["pods"]) for node in json.loads(result.stdout)["newNodes"])


POOL = yaml.safe_dump(node_pool())
WEB = yaml.safe_dump(workload(replicas=2))


def test_files_that_are_no_manifests_are_noted(tmp_path: Path) -> None:
    folder = written(tmp_path, pool_yaml=POOL, web_yaml=WEB, values_yaml="a: b", list_json="[1]")

    result = plan("--from", str(folder))

    assert pods(result) == 2
    assert f"not read: {folder}/values.yaml, document 1: has no kind" in result.stderr
    assert f"not read: {folder}/list.json, document 1: is a list" in result.stderr


def test_templates_of_cloudformation_are_noted(tmp_path: Path) -> None:
    stack = "Resources:\n  a: !Ref b"
    folder = written(tmp_path, pool_yaml=POOL, web_yaml=WEB, stack_yaml=stack)

    result = plan("--from", str(folder))

    assert pods(result) == 2
    assert f"not read: {folder}/stack.yaml, document 1: line 2, column 6: the tag '!Ref'" in (
        result.stderr
    )


def test_beside_a_mistake_everything_odd_is_told(tmp_path: Path) -> None:
    folder = written(tmp_path, pool_yaml=POOL, broken_yaml="a: [", values_yaml="a: b")

    result = plan("--from", str(folder))

    assert result.exit_code == 2
    assert "broken.yaml" in result.stderr
    assert "values.yaml" in result.stderr


def test_a_chart_is_read_where_nothing_is_to_be_filled_in(tmp_path: Path) -> None:
    folder = written(
        tmp_path,
        pool_yaml=POOL,
        chart__Chart_yaml="name: a",
        chart__values_yaml="replicas: 3",
        chart__templates__web_yaml="replicas: {{ .Values.replicas }}",
        chart__templates__plain_yaml=WEB,
    )

    result = plan("--from", str(folder))

    assert pods(result) == 2
    assert "chart is a chart of Helm: 3 of its files are templates and values" in result.stderr
    assert f"`helm template {folder}/chart | daiku plan --from -`" in result.stderr


def test_a_chart_alone_says_what_to_do(tmp_path: Path) -> None:
    folder = written(tmp_path, Chart_yaml="name: a", templates__web_yaml="{{ if .a }}")

    result = plan("--from", str(folder))

    assert result.exit_code == 2
    assert f"give `helm template {folder} | daiku plan --from -`" in result.stderr


def test_a_template_outside_of_a_chart_is_noted(tmp_path: Path) -> None:
    folder = written(tmp_path, pool_yaml=POOL, web_yaml="{{- if .a }}\nkind: Pod\n{{- end }}")

    result = plan("--from", str(folder))

    assert result.exit_code == 0
    assert "web.yaml: looks like a template of Helm; `helm template CHART" in result.stderr


@pytest.mark.parametrize("name", ["kustomization_yaml", "kustomization_yml", "Kustomization"])
def test_what_kustomize_would_build_is_named_and_its_patches_stop_nothing(
    tmp_path: Path, name: str
) -> None:
    patch = {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "api"}, "spec": {}}
    folder = written(
        tmp_path,
        pool_yaml=POOL,
        app__web_yaml=WEB,
        app__patch_yaml=yaml.safe_dump(patch),
        app__json6902_yaml="- op: remove\n  path: /spec",
        **{f"app__{name}": "resources: [web.yaml]"},
    )

    result = plan("--from", str(folder))

    assert pods(result) == 2
    assert f"`kubectl kustomize {folder}/app | daiku plan --from -`" in result.stderr
    assert "not planned: " in result.stderr
    assert "Deployment default/api: has no spec.template.spec" in result.stderr
    assert f"not read: {folder}/app/json6902.yaml" in result.stderr


def test_a_pattern_names_files(tmp_path: Path) -> None:
    folder = written(tmp_path, a__pool_yaml=POOL, a__b__web_yaml=WEB, a__b__other_txt="x")

    result = plan("--from", f"{folder}/**/*.yaml")
    nothing = plan("--from", f"{folder}/**/*.jsonnet")

    assert pods(result) == 2
    assert nothing.exit_code == 2
    assert "no file matches" in nothing.stderr


def test_standard_input_is_read_beside_files(tmp_path: Path) -> None:
    folder = written(tmp_path, pool_yaml=POOL)

    assert pods(plan("--from", "-", "--nodepools", str(folder), given=WEB)) == 2


def test_without_a_node_pool_the_flag_is_named() -> None:
    result = plan("--from", "-", given=WEB)
    asked = plan("--from", "-", "--built-in-nodepool", given=WEB)

    assert result.exit_code == 2
    assert "no NodePool is in the input" in result.stderr
    assert "--built-in-nodepool" in result.stderr
    assert pods(asked) == 2
    assert "planned with a built-in one" in asked.stderr


def test_explain_of_a_cluster_without_node_pools_speaks_of_none_that_is_made_up() -> None:
    given = yaml.safe_dump(pod())

    result = CliRunner().invoke(app, ["explain", "pod", "one", "--from", "-"], input=given)

    assert "built-in" not in result.output
    assert "default" not in result.output.replace("default/one", "").replace("default settings", "")


@pytest.mark.parametrize(
    ("asked", "near"),
    [("web-7d4b9-x", "there are shop/web-7d4b9-x"), ("wbe-7d4b9-x", "there are shop/web-7d4b9-x")],
)
def test_a_wrong_name_of_a_pod_is_answered_with_near_ones(asked: str, near: str) -> None:
    there = pod("web-7d4b9-x")
    there["metadata"]["namespace"] = "shop"
    given = yaml.safe_dump_all([node_pool(), there])

    result = CliRunner().invoke(app, ["explain", "pod", asked, "--from", "-"], input=given)

    assert result.exit_code == 2
    assert near in result.stderr


MISTAKES: list[tuple[Json, str]] = [
    ({"disruption": {"consolidationPolicy": "WhenUnderutilized"}},
     "spec.disruption.consolidationPolicy: 'WhenUnderutilized' is none of"),
    ({"limits": {"cpus": "4"}}, "spec.limits.cpus: no node has such a resource; did you mean cpu?"),
    ({"limits": {"walnuts": 4}}, "spec.limits.walnuts: no node has such a resource; known: cpu"),
    ({"weigth": 3}, "spec.weigth: there is no such field; did you mean weight?"),
    ({"expireAfter": "720h"}, "spec.expireAfter: there is no such field; it belongs to spec.template.spec"),
    ({"weight": "3"}, "spec.weight: '3' is not a whole number"),
    ({"replicas": 1, "limits": {"cpu": 4}}, "spec: "),
]  # fmt: skip


@pytest.mark.parametrize(("spec", "message"), MISTAKES)
def test_a_node_pool_that_an_api_server_would_refuse_is_refused(spec: Json, message: str) -> None:
    result = plan("--from", "-", given=yaml.safe_dump(node_pool(**spec)))

    assert result.exit_code == 2
    assert f"document 1, NodePool default: {message}" in result.stderr


def test_requirement_for_requirements_is_named() -> None:
    wrong = node_pool()
    wrong["spec"]["template"]["spec"]["requirement"] = []
    wrong["top"] = 1

    result = plan("--from", "-", given=yaml.safe_dump(wrong))

    assert "spec.template.spec.requirement: there is no such field; did you mean requirements?" in (
        result.stderr
    )
    assert "NodePool default: top: there is no such field" in result.stderr


def test_a_node_class_that_an_api_server_would_refuse_is_refused() -> None:
    wrong = {
        "apiVersion": "karpenter.k8s.aws/v1",
        "kind": "EC2NodeClass",
        "metadata": {"name": "default"},
        "spec": {"role": "a", "amiSelectorTerms": [{"alias": "al2023@latest", "id": "ami-1"}]},
    }

    result = plan("--from", "-", given=yaml.safe_dump_all([node_pool(), wrong]))

    assert "EC2NodeClass default: spec.subnetSelectorTerms: is missing" in result.stderr


def test_what_runs_in_a_cluster_is_not_judged_again() -> None:
    live = node_pool(uid="u", weigth=3)

    assert plan("--from", "-", given=yaml.safe_dump_all([live, pod()])).exit_code == 0


def test_without_the_library_for_rules_a_note_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(api_rules, "can_run_rules", lambda: False)

    result = plan("--from", "-", given=POOL)

    assert result.exit_code == 0
    assert "their CEL rules are not asked without daiku[cli]" in result.stderr


def test_a_node_pool_of_ec2_is_planned_at_list_prices() -> None:
    pool = node_pool(kind="EC2NodeClass")
    pool["spec"]["template"]["spec"]["requirements"] = [
        {"key": "node.kubernetes.io/instance-type", "operator": "In", "values": ["m5.large"]},
        {"key": "topology.kubernetes.io/zone", "operator": "In", "values": ["eu-west-1b"]},
    ]

    result = plan("--from", "-", given=yaml.safe_dump_all([pool, workload()]))

    [node] = json.loads(result.stdout)["newNodes"]
    assert (node["instanceTypes"], node["zones"], node["usdPerHour"]) == (
        ["m5.large"],
        ["eu-west-1b"],
        0.096,
    )
    assert "at the on-demand list prices of us-east-1 of 2026-02-09" in result.stderr
