"""Components that a stack may have or not: the image, the platform, the end of its nodes."""

import json
from pathlib import Path

import pulumi
import pytest
from tests.infra import graph
from tests.infra.graph import Graph

import daiku_infra as infra
from daiku_infra import controller_image, policies
from daiku_infra.load_balancer_statements import load_balancer_document

RELEASE = "kubernetes:helm.sh/v3:Release"
THEIRS = graph.cluster_ref()


def test_an_image_is_named_by_what_it_is_made_of_and_its_tag_never_moves() -> None:
    made = graph.register(
        lambda: infra.ControllerImage("c", infra.ControllerImageArgs(cluster_name="Theirs"))
    )

    repository = made.one("aws:ecr/repository:Repository").inputs
    assert repository["imageTagMutability"] == "IMMUTABLE"
    assert repository["imageScanningConfiguration"]["scanOnPush"] is True
    image = made.one("docker-build:index:Image")
    assert image.inputs["platforms"] == ["linux/amd64", "linux/arm64"]
    assert image.inputs["push"] is True
    assert "registries" in image.secrets, "the registry's password is no plain value"
    rules = json.loads(made.one("aws:ecr/lifecyclePolicy:LifecyclePolicy").inputs["policy"])[
        "rules"
    ]
    assert {rule["selection"]["tagStatus"] for rule in rules} == {"untagged", "any"}


def test_a_fingerprint_changes_with_any_file_and_with_nothing_else(tmp_path: Path) -> None:
    (tmp_path / "controller").mkdir()
    (tmp_path / "requirements.lock").write_text("a==1\n")
    source = tmp_path / "controller" / "a.py"
    source.write_text("x = 1\n")
    before = controller_image.fingerprint(tmp_path)

    (tmp_path / "README.md").write_text("not part of it")
    (tmp_path / "controller" / "__pycache__").mkdir()
    (tmp_path / "controller" / "__pycache__" / "a.pyc").write_text("")
    assert controller_image.fingerprint(tmp_path) == before
    source.write_text("x = 2\n")
    assert controller_image.fingerprint(tmp_path) != before


def test_a_folder_that_holds_no_controller_says_what_to_do(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match="set source to one"):
        controller_image.fingerprint(tmp_path)


def platform(**parts: bool) -> Graph:
    return graph.register(lambda: infra.Platform("p", infra.PlatformArgs(cluster=THEIRS, **parts)))


def test_a_platform_without_a_wish_is_empty() -> None:
    assert [r.type for r in platform().resources.values()] == ["daiku:index:Platform"]


def test_every_part_of_the_platform_is_pinned_and_may_run_on_system_nodes() -> None:
    releases = platform(load_balancers=True, prometheus=True, keda=True).of(RELEASE)

    assert {r.inputs["chart"]: r.inputs["version"] for r in releases} == {
        "aws-load-balancer-controller": "1.17.0",
        "kube-prometheus-stack": "75.15.1",
        "keda": "2.17.2",
    }
    assert all("CriticalAddonsOnly" in json.dumps(r.inputs["values"]) for r in releases)


def test_the_load_balancer_controller_gets_a_role_of_its_own() -> None:
    made = platform(load_balancers=True)

    account = made.one(RELEASE).inputs["values"]["serviceAccount"]
    assert account["annotations"]["eks.amazonaws.com/role-arn"].startswith("arn:")
    trust = made.one("aws:iam/role:Role").inputs["assumeRolePolicy"]
    assert "system:serviceaccount:kube-system:aws-load-balancer-controller" in trust


def test_the_load_balancer_controllers_policy_fits_and_asks_for_its_tag() -> None:
    document = load_balancer_document(partition="aws", cluster="c" * 100)

    assert len(policies.render(document)) <= policies.POLICY_SIZE_MAX
    free = [
        row["Sid"]
        for row in document["Statement"]
        if row["Resource"] == "*" and "Condition" not in row
    ]
    assert free == ["Look"]


def test_a_drain_goes_before_all_that_it_needs() -> None:
    def program() -> None:
        provider = pulumi.ProviderResource("kubernetes", "k", {"kubeconfig": "{}"})
        pools = infra.NodePools(
            "p",
            infra.NodePoolsArgs(
                cluster=THEIRS,
                controller="daiku",
                instance_profile_name="profile",
                node_classes=[infra.NodeClassArgs(name="c", spec=graph.NODE_CLASS)],
                node_pools=[infra.NodePoolArgs(name="a", spec=graph.NODE_POOL)],
            ),
            pulumi.ResourceOptions(provider=provider),
        )
        infra.Drain("d", infra.DrainArgs(cluster=THEIRS, before=[*pools.names], deadline_minutes=5))

    made = graph.register(program)

    [drain] = [r for r in made.resources.values() if r.type.startswith("pulumi-python:dynamic")]
    assert {r.urn for r in made.of("kubernetes:karpenter.sh/v1:NodePool")} <= made.needs(drain)
    assert {r.urn for r in made.of("kubernetes:karpenter.k8s.aws/v1:EC2NodeClass")} <= made.needs(
        drain
    )
    assert drain.delete_timeout == "25m"


def autoscaler(**parts: bool) -> Graph:
    args = infra.AutoscalerArgs(
        cluster=THEIRS, role_arn="arn:role", queue_name="queue", image="controller:1", **parts
    )
    return graph.register(lambda: infra.Autoscaler("daiku", args))


def test_alerts_and_dashboards_come_when_asked_for() -> None:
    rule, maps = (
        "kubernetes:monitoring.coreos.com/v1:PrometheusRule",
        "kubernetes:core/v1:ConfigMap",
    )
    without, made = autoscaler(), autoscaler(monitoring=True)

    assert not without.of(rule)
    assert not without.of(maps)
    assert made.one(rule).inputs["spec"]["groups"][0]["rules"]
    assert made.one(rule).inputs["metadata"]["namespace"] == "kube-system"
    boards = made.of(maps)
    assert len(boards) == 4
    for board in boards:
        assert board.inputs["metadata"]["labels"] == {"grafana_dashboard": "1"}
        assert all(json.loads(content)["panels"] for content in board.inputs["data"].values())
