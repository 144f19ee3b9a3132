"""Auto Scaling groups as NodePools. The shapes of the answers are those of the AWS CLI."""

import json
import re
from pathlib import Path
from typing import Any

import pytest
import yaml
from typer.testing import CliRunner

from daiku.api import configuration, manifests
from daiku.cli.main import app
from daiku.model.instance_type import NodeClassRef
from daiku.model.nodepool import NodePool

Json = dict[str, Any]
TAGS = {
    "Name": "workers",
    "team": "shop",
    "aws:autoscaling:groupName": "workers",
    "k8s.io/cluster-autoscaler/enabled": "true",
    "k8s.io/cluster-autoscaler/node-template/label/tier": "web",
    "k8s.io/cluster-autoscaler/node-template/taint/dedicated": "web:NoSchedule",
}
TEMPLATE: Json = {
    "LaunchTemplateId": "lt-1",
    "LaunchTemplateName": "workers",
    "VersionNumber": 3,
    "DefaultVersion": True,
    "LaunchTemplateData": {
        "ImageId": "ami-1",
        "InstanceType": "m5.xlarge",
        "IamInstanceProfile": {"Name": "nodes"},
        "SecurityGroupIds": ["sg-1"],
        "UserData": "IyEvYmluL3No",
        "BlockDeviceMappings": [{"DeviceName": "/dev/xvda", "Ebs": {"VolumeSize": 80, "VolumeType": "gp3"}}],
    },
}  # fmt: skip


def group(name: str = "workers", **fields: Any) -> Json:
    return {
        "AutoScalingGroupName": name,
        "MinSize": 0,
        "MaxSize": 10,
        "AvailabilityZones": ["zone-b", "zone-a"],
        "VPCZoneIdentifier": "subnet-1,subnet-2",
        "LaunchTemplate": {"LaunchTemplateId": "lt-1", "Version": "$Default"},
        "Tags": [{"Key": key, "Value": value} for key, value in TAGS.items()],
        "Instances": [
            {"InstanceType": "m5.xlarge", "AvailabilityZone": zone, "LifecycleState": "InService"}
            for zone in ("zone-a", "zone-b", "zone-b")
        ],
        **fields,
    }


def mixed(*types: str, base: int = 0, above: int = 0) -> Json:
    return {
        "MixedInstancesPolicy": {
            "LaunchTemplate": {
                "LaunchTemplateSpecification": {"LaunchTemplateId": "lt-1", "Version": "3"},
                "Overrides": [{"InstanceType": each} for each in types],
            },
            "InstancesDistribution": {
                "OnDemandBaseCapacity": base,
                "OnDemandPercentageAboveBaseCapacity": above,
            },
        }
    }


class Desk:
    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def convert(self, *groups: Json, arguments: tuple[str, ...] = ()) -> tuple[list[Json], str]:
        answers = {
            "groups.json": {"AutoScalingGroups": list(groups)},
            "templates.json": {"LaunchTemplateVersions": [TEMPLATE]},
        }
        for name, content in answers.items():
            (self.folder / name).write_text(json.dumps(content))
        files = [str(self.folder / name) for name in answers]
        done = CliRunner().invoke(app, ["convert", *files, *arguments])
        assert done.exit_code == 0, done.output
        return list(yaml.safe_load_all(done.stdout)), done.stderr


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    return Desk(tmp_path)


def requirements(pool: Json) -> dict[str, list[str]]:
    return {r["key"]: r["values"] for r in pool["spec"]["template"]["spec"]["requirements"]}


def test_a_group_is_a_node_pool_and_its_launch_template_a_node_class(desk: Desk) -> None:
    (node_class, pool), _ = desk.convert(group())

    assert requirements(pool) == {
        "kubernetes.io/os": ["linux"],
        "karpenter.sh/capacity-type": ["on-demand"],
        "node.kubernetes.io/instance-type": ["m5.xlarge"],
        "topology.kubernetes.io/zone": ["zone-a", "zone-b"],
    }
    template = pool["spec"]["template"]
    assert template["metadata"]["labels"] == {"tier": "web"}
    assert template["spec"]["taints"] == [
        {"key": "dedicated", "value": "web", "effect": "NoSchedule"}
    ]
    assert pool["spec"]["limits"] == {"nodes": "10"}
    spec = node_class["spec"]
    assert spec["instanceProfile"] == "nodes"
    assert spec["subnetSelectorTerms"] == [{"id": "subnet-1"}, {"id": "subnet-2"}]
    assert spec["securityGroupSelectorTerms"] == [{"id": "sg-1"}]
    assert spec["blockDeviceMappings"][0]["ebs"] == {"volumeSize": "80Gi", "volumeType": "gp3"}
    assert spec["tags"] == {"team": "shop"}


@pytest.mark.parametrize(
    ("base", "above", "bought"),
    [(0, 0, ["spot"]), (0, 100, ["on-demand"]), (2, 0, ["on-demand", "spot"]), (0, 50, ["on-demand", "spot"])],
)  # fmt: skip
def test_how_instances_were_bought_is_how_they_may_be_bought(
    desk: Desk, base: int, above: int, bought: list[str]
) -> None:
    (_, pool), _ = desk.convert(group(**mixed("m5.large", "m5a.large", base=base, above=above)))

    assert requirements(pool)["karpenter.sh/capacity-type"] == bought
    assert requirements(pool)["node.kubernetes.io/instance-type"] == ["m5.large", "m5a.large"]


def test_groups_of_one_launch_template_share_a_node_class(desk: Desk) -> None:
    objects, _ = desk.convert(group("b"), group("a"))

    assert [each["kind"] for each in objects] == ["EC2NodeClass", "NodePool", "NodePool"]
    refs = {p["spec"]["template"]["spec"]["nodeClassRef"]["name"] for p in objects[1:]}
    assert refs == {"a"}


def test_every_guess_is_named(desk: Desk) -> None:
    _, notes = desk.convert(group(MinSize=2))

    for part in (
        "kept 2 instances",
        "ami-1 is proposed as al2023@latest",
        "user data is not taken over",
        "one instance type",
    ):
        assert part in notes


def test_the_proposal_is_valid(desk: Desk) -> None:
    objects, _ = desk.convert(group(), group("Odd_Name.1", **mixed("m5.large")))
    problems: list[str] = []

    documents = manifests.read("test", yaml.safe_dump_all(objects).encode(), problems)
    built = configuration.build(documents, problems)

    assert problems == []
    assert {p.meta.name for p in built.objects if isinstance(p, NodePool)} == {
        "workers",
        "odd-name-1",
    }
    assert (
        NodeClassRef(group="karpenter.k8s.aws", kind="EC2NodeClass", name="odd-name-1")
        in built.node_classes
    )


@pytest.mark.parametrize("broken", [{"MaxSize": "many"}, {"Tags": [{"Value": "x"}]}])
def test_an_answer_that_is_none_is_named(desk: Desk, broken: Json) -> None:
    (desk.folder / "in.json").write_text(json.dumps({"AutoScalingGroups": [group(**broken)]}))

    done = CliRunner().invoke(app, ["convert", str(desk.folder / "in.json")])

    assert done.exit_code == 2
    assert "group workers: is not as the AWS CLI describes one" in done.stderr


def kwok_types() -> list[Json]:
    """m5.large and m5.xlarge in two zones, spot at half the price."""
    return [
        {
            "name": name,
            "architecture": "amd64",
            "operatingSystems": ["linux"],
            "resources": {"cpu": str(cpu), "memory": f"{4 * cpu}Gi", "pods": "58"},
            "offerings": [
                {
                    "Price": 0.05 * cpu * (0.5 if kind == "spot" else 1),
                    "Available": True,
                    "Requirements": [
                        {"key": "karpenter.sh/capacity-type", "operator": "In", "values": [kind]},
                        {"key": "topology.kubernetes.io/zone", "operator": "In", "values": [zone]},
                    ],
                }
                for zone in ("zone-a", "zone-b")
                for kind in ("spot", "on-demand")
            ],
        }
        for name, cpu in (("m5.large", 2), ("m5.xlarge", 4))
    ]


def costed(desk: Desk, pods: str) -> str:
    """What is said of a group's cost beside that of its proposal, which is simulated with the pods of a file."""
    (desk.folder / "types.json").write_text(json.dumps(kwok_types()))
    given = (("--workloads", pods), ("--instance-types", "types.json"))
    _, notes = desk.convert(
        group(**mixed("m5.large", "m5.xlarge")),
        arguments=tuple(a for flag, name in given for a in (flag, str(desk.folder / name))),
    )
    return notes


def test_the_cost_of_the_proposal_stands_beside_todays(desk: Desk) -> None:
    pods = [
        {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {"name": f"web-{number}", "namespace": "default", "uid": str(number)},
            "spec": {
                "nodeName": f"ip-{number}",
                "containers": [
                    {"name": "web", "resources": {"requests": {"cpu": "1", "memory": "1Gi"}}}
                ],
                "tolerations": [{"operator": "Exists"}],
            },
            "status": {"phase": "Running"},
        }
        for number in range(3)
    ]
    (desk.folder / "now.json").write_text(
        json.dumps({"apiVersion": "v1", "kind": "List", "items": pods})
    )

    notes = costed(desk, "now.json")

    # Three m5.xlarge of spot today; three cpus fit on one.
    assert (
        "today 3 nodes, $0.3000/h ($219/month); with the proposal $0.1000/h ($73/month), with 1.0 nodes on average "
        "in 24 simulated hours, in which 0 pods had to move" in notes
    )


def test_a_scenario_says_what_happens_in_the_simulated_time_of_a_proposal(desk: Desk) -> None:
    scenario = {
        "apiVersion": "daiku.dev/v1alpha1",
        "kind": "Scenario",
        "metadata": {"name": "an hour"},
        "spec": {
            "duration": "2h",
            "workloads": [
                {
                    "name": "web",
                    "template": {
                        "spec": {
                            "containers": [
                                {
                                    "name": "c",
                                    "resources": {"requests": {"cpu": "1", "memory": "1Gi"}},
                                }
                            ],
                            "tolerations": [{"operator": "Exists"}],
                        }
                    },
                    "batch": {"at": "01:00", "pods": 3},
                    "lasts": "30m",
                }
            ],
        },
    }
    (desk.folder / "scenario.json").write_text(json.dumps(scenario))

    notes = costed(desk, "scenario.json")

    # One m5.xlarge of spot for the batch and for as long as an empty node stays.
    found = re.search(r"with the proposal \$(\S+)/h .* with (\S+) nodes on average in 2 sim", notes)
    assert found is not None
    assert 0.25 < float(found[2]) < 0.5
    assert float(found[1]) == pytest.approx(0.1 * float(found[2]), rel=0.2)


def test_launch_templates_without_groups_say_what_is_missing(tmp_path: Path) -> None:
    (tmp_path / "templates.json").write_text(json.dumps({"LaunchTemplateVersions": [TEMPLATE]}))

    done = CliRunner().invoke(app, ["convert", str(tmp_path / "templates.json")])

    assert done.exit_code == 2
    assert "aws autoscaling describe-auto-scaling-groups" in done.stderr
