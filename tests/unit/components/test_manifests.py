import dataclasses
from pathlib import Path
from typing import Any

import pytest

from daiku_infra import crds, manifests, rbac

CONTROLLER = manifests.Controller(
    namespace="kube-system",
    image="registry.example.com/controller:1",
    replicas=2,
    cluster="demo",
    region="us-west-2",
    role_arn="arn:role",
    queue_name="demo",
    cpu_request="500m",
    memory="1Gi",
    environment={"LOG_LEVEL": "debug"},
)
READS = {"get", "list", "watch"}
POD: dict[str, Any] = manifests.deployment(CONTROLLER)["spec"]["template"]["spec"]
CONTAINER: dict[str, Any] = POD["containers"][0]


def rules_about(resource: str) -> list[rbac.Rule]:
    return [rule for rule in rbac.cluster_rules() if resource in rule["resources"]]


def test_the_controller_runs_with_its_one_argument() -> None:
    assert CONTAINER["args"] == ["run"]
    assert "command" not in CONTAINER


def test_pod_ip_stands_before_what_refers_to_it() -> None:
    names = [variable["name"] for variable in CONTAINER["env"]]
    values = {v["name"]: v.get("value") for v in CONTAINER["env"]}

    assert values["BIND_ADDRESS"] == "$(POD_IP)"
    assert names.index("POD_IP") < names.index("BIND_ADDRESS")


def test_settings_of_a_stack_are_added_to_those_of_the_component() -> None:
    values = {v["name"]: v.get("value") for v in CONTAINER["env"]}

    assert values["LOG_LEVEL"] == "debug"
    assert values["CLUSTER_NAME"] == "demo"


def test_the_controller_never_runs_on_a_node_that_a_node_pool_made() -> None:
    [term] = POD["affinity"]["nodeAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"][
        "nodeSelectorTerms"
    ]

    assert term["matchExpressions"] == [
        {"key": "karpenter.sh/nodepool", "operator": "DoesNotExist"}
    ]


def test_the_controller_tolerates_the_taint_of_system_nodes_and_no_other() -> None:
    assert POD["tolerations"] == [{"key": "CriticalAddonsOnly", "operator": "Exists"}]


def test_the_container_has_no_privilege() -> None:
    assert POD["securityContext"]["runAsNonRoot"] is True
    assert CONTAINER["securityContext"] == {
        "allowPrivilegeEscalation": False,
        "readOnlyRootFilesystem": True,
        "capabilities": {"drop": ["ALL"]},
    }


def test_probes_ask_the_health_port() -> None:
    assert CONTAINER["livenessProbe"]["httpGet"] == {"path": "/healthz", "port": 8081}
    assert CONTAINER["readinessProbe"]["httpGet"] == {"path": "/readyz", "port": 8081}


def test_the_service_account_names_its_role() -> None:
    annotations = manifests.service_account(CONTROLLER)["metadata"]["annotations"]

    assert annotations["eks.amazonaws.com/role-arn"] == "arn:role"


def test_a_node_pool_outlives_its_nodes_on_deletion() -> None:
    annotations = manifests.node_pool("default", {})["metadata"]["annotations"]

    assert annotations["pulumi.com/deletionPropagationPolicy"] == "foreground"


def test_an_update_waits_until_the_controller_can_work_with_what_it_wrote() -> None:
    node_class = manifests.node_class("default", {}, cluster="c", profile="p", common_tags={})

    for manifest in (node_class, manifests.node_pool("default", {})):
        assert manifest["metadata"]["annotations"]["pulumi.com/waitFor"] == "condition=Ready"


def test_a_node_class_is_filled_in_with_what_the_stack_knows() -> None:
    spec = manifests.node_class(
        "default", {"tags": {"b": "2"}}, cluster="demo", profile="profile", common_tags={"a": "1"}
    )["spec"]

    found_by_tag = [{"tags": {"karpenter.sh/discovery": "demo"}}]
    assert spec == {
        "subnetSelectorTerms": found_by_tag,
        "securityGroupSelectorTerms": found_by_tag,
        "instanceProfile": "profile",
        "tags": {"a": "1", "b": "2"},
    }


@pytest.mark.parametrize("given", [{"role": "own"}, {"instanceProfile": "own"}])
def test_what_a_node_class_says_itself_is_kept(given: dict[str, str]) -> None:
    spec = manifests.node_class("x", given, cluster="demo", profile="ours", common_tags={})["spec"]

    assert {key: spec.get(key) for key in ("role", "instanceProfile")} == {
        "role": None,
        "instanceProfile": None,
    } | given


@pytest.mark.parametrize("resource", ["secrets", "configmaps", "serviceaccounts", "*"])
def test_the_controller_has_no_right_to_what_it_does_not_need(resource: str) -> None:
    assert not rules_about(resource)


def test_no_rule_of_the_controller_is_a_pattern() -> None:
    rules = [*rbac.cluster_rules(), *rbac.lease_rules()]

    assert not [r for r in rules if "*" in [*r["verbs"], *r["resources"], *r["apiGroups"]]]


@pytest.mark.parametrize(
    "resource",
    ["replicasets", "statefulsets", "daemonsets", "namespaces", "persistentvolumes", "csinodes"],
)
def test_the_controller_only_reads_what_is_not_its_own(resource: str) -> None:
    assert {verb for rule in rules_about(resource) for verb in rule["verbs"]} == {
        "get",
        "list",
        "watch",
    }


def test_of_workloads_only_a_deployment_is_changed_and_only_as_a_surge_needs() -> None:
    writes = {
        (rule["apiGroups"][0], resource): tuple(v for v in rule["verbs"] if v not in READS)
        for rule in rbac.cluster_rules()
        for resource in rule["resources"]
        if rule["apiGroups"][0] in {"apps", "autoscaling", "batch"} and set(rule["verbs"]) - READS
    }

    assert writes == {
        ("apps", "deployments"): ("patch",),
        ("apps", "deployments/scale"): ("patch",),
    }
    assert rules_about("horizontalpodautoscalers")[0]["verbs"] == ["list"]


@pytest.mark.parametrize(
    ("environment", "may"),
    [
        pytest.param({}, False, id="by default"),
        pytest.param({"CLOUD": "aws"}, False, id="aws"),
        pytest.param({"CLOUD": "kwok"}, True, id="kwok"),
    ],
)
def test_only_where_nodes_are_made_by_hand_may_the_controller_create_them(
    environment: dict[str, str], may: bool
) -> None:
    role = manifests.cluster_role(dataclasses.replace(CONTROLLER, environment=environment))
    verbs = {
        verb for rule in role["rules"] if "nodes" in rule["resources"] for verb in rule["verbs"]
    }

    assert ("create" in verbs) is may


def test_only_the_lease_of_the_leader_may_be_changed() -> None:
    by_verb = {
        verb: rule.get("resourceNames") for rule in rbac.lease_rules() for verb in rule["verbs"]
    }

    assert by_verb == {
        "create": None,
        "get": [rbac.LEASE],
        "patch": [rbac.LEASE],
        "update": [rbac.LEASE],
    }


def test_the_crds_of_this_checkout_are_found() -> None:
    names = {crd["metadata"]["name"] for crd in crds.load(crds.folder())}

    assert names >= {
        "nodepools.karpenter.sh",
        "nodeclaims.karpenter.sh",
        "ec2nodeclasses.karpenter.k8s.aws",
    }


def test_a_folder_without_definitions_is_named(tmp_path: Path) -> None:
    with pytest.raises(crds.CrdsMissingError, match=str(tmp_path)):
        crds.load(tmp_path)


@pytest.mark.parametrize("content", ["kind: Secret\n", "just text\n", "- a\n", "---\n"])
def test_a_file_of_something_else_is_refused_by_name(tmp_path: Path, content: str) -> None:
    (tmp_path / "odd.yaml").write_text(content)

    with pytest.raises(crds.CrdsMissingError, match=r"odd\.yaml|holds a Custom"):
        crds.load(tmp_path)
