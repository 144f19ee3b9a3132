"""The component package as a plugin of the real engine: its schema, and a component made from outside."""

import json
from collections.abc import Generator
from pathlib import Path

import pytest
from tests.world import plugin_stack
from tests.world.plugin_stack import Stack

from daiku_local.world import World

pytestmark = pytest.mark.world
ROOT = Path(__file__).resolve().parents[2]

PROGRAM = """
class Vpc(pulumi.ComponentResource):
    def __init__(self, name, inputs):
        super().__init__("daiku:index:Vpc", name, {**inputs, "vpcId": None}, None, remote=True)

network = Vpc("net", {
    "region": "us-west-2",
    "clusterName": "net",
    "zones": ["us-west-2a", "us-west-2b"],
    "natGateways": "single",
    "podCidrBlock": "100.64.0.0/16",
    "ipv6": True,
    "intraSubnets": True,
    "flowLogDays": 7,
    "tags": {"daiku.dev/cluster": "net"},
})
"""


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Generator[World]:
    with plugin_stack.world_in(tmp_path_factory.mktemp("plugins")) as made:
        yield made


@pytest.fixture
def stack(world: World, tmp_path: Path) -> Generator[Stack]:
    with plugin_stack.stack_in(tmp_path, world) as made:
        yield made


def test_pulumi_reads_the_schema_of_the_folder(stack: Stack) -> None:
    said = stack.run("package", "get-schema", str(ROOT / "components" / "pulumi-resource-daiku"))

    schema = json.loads(said[said.index("{") :])
    assert schema["name"] == "daiku"
    assert "daiku:index:Environment" in schema["resources"]


def test_a_program_of_any_language_makes_a_network_and_takes_it_away(
    stack: Stack, world: World
) -> None:
    settings = (stack.folder / "Pulumi.yaml").read_text()
    plugin = json.dumps(str(ROOT / "components"))
    (stack.folder / "Pulumi.yaml").write_text(
        f"{settings}plugins: {{providers: [{{name: daiku, path: {plugin}}}]}}\n"
    )

    stack.up(PROGRAM)

    [vpc] = plugin_stack.own_vpcs(world)
    ec2 = plugin_stack.client(world, "ec2")
    subnets = ec2.describe_subnets(Filters=[{"Name": "vpc-id", "Values": [vpc]}])["Subnets"]
    assert len(subnets) == 8
    assert sum(s["CidrBlock"].startswith("100.64.") for s in subnets) == 2
    assert all(s["Ipv6CidrBlockAssociationSet"] for s in subnets)
    stack.run("preview", "--expect-no-changes")
    stack.run("destroy", "--yes", "--skip-preview")
    assert plugin_stack.own_vpcs(world) == []
