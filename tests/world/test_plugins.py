"""The stand-in provider plugins under the real Pulumi engine: AWS resources, and every refusal."""

import subprocess
import sys
import time
from collections.abc import Generator
from pathlib import Path

import pytest
from tests.world import plugin_stack
from tests.world.plugin_stack import Stack

from daiku_local.world import World

pytestmark = pytest.mark.world


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Generator[World]:
    with plugin_stack.world_in(tmp_path_factory.mktemp("plugins")) as made:
        yield made


@pytest.fixture
def stack(world: World, tmp_path: Path) -> Generator[Stack]:
    with plugin_stack.stack_in(tmp_path, world) as made:
        yield made


@pytest.fixture(scope="module")
def untouched(world: World, tmp_path_factory: pytest.TempPathFactory) -> Generator[Stack]:
    """A stack that is only previewed."""
    with plugin_stack.stack_in(tmp_path_factory.mktemp("untouched"), world) as made:
        yield made


EVERYTHING = (
    plugin_stack.NETWORK
    + """
    gateway = aws.ec2.InternetGateway("gateway", vpc_id=vpc.id)
    table = aws.ec2.RouteTable("table", vpc_id=vpc.id)
    aws.ec2.Route(
        "route", route_table_id=table.id, destination_cidr_block="0.0.0.0/0", gateway_id=gateway.id
    )
    inline = aws.ec2.RouteTable(
        "inline", vpc_id=vpc.id, routes=[{"cidr_block": "0.0.0.0/0", "gateway_id": gateway.id}]
    )
    aws.ec2.RouteTableAssociation("uses", route_table_id=table.id, subnet_id=subnets[0].id)
    address = aws.ec2.Eip("address", domain="vpc")
    nat = aws.ec2.NatGateway("nat", allocation_id=address.id, subnet_id=subnets[0].id)
    aws.ec2.DefaultSecurityGroup("default", vpc_id=vpc.id)
    group = aws.ec2.SecurityGroup(
        "group",
        vpc_id=vpc.id,
        egress=[{"protocol": "-1", "from_port": 0, "to_port": 0, "cidr_blocks": ["0.0.0.0/0"]}],
    )
    bare = aws.ec2.SecurityGroup("bare", vpc_id=vpc.id)
    aws.vpc.SecurityGroupIngressRule(
        "in", security_group_id=bare.id, ip_protocol="tcp", from_port=443, to_port=443,
        cidr_ipv4="10.0.0.0/8",
    )
    aws.vpc.SecurityGroupEgressRule(
        "out", security_group_id=bare.id, ip_protocol="-1", cidr_ipv4="0.0.0.0/0"
    )
    aws.ec2.SecurityGroupRule(
        "old", type="ingress", security_group_id=bare.id, protocol="tcp", from_port=1,
        to_port=65535, source_security_group_id=group.id,
    )
    aws.ec2.Tag("tag", resource_id=vpc.main_route_table_id, key="a/b", value="c")
    aws.ec2.VpcEndpoint(
        "endpoint", vpc_id=vpc.id, service_name="com.amazonaws.us-west-2.s3",
        route_table_ids=[table.id],
    )
    trust = aws.iam.get_policy_document(
        statements=[
            {
                "actions": ["sts:AssumeRole"],
                "principals": [{"type": "Service", "identifiers": ["ec2.amazonaws.com"]}],
            }
        ]
    ).json
    role = aws.iam.Role("role", assume_role_policy=trust)
    read = json.dumps(
        {
            "Version": "2012-10-17",
            "Statement": [{"Effect": "Allow", "Action": "ec2:Describe*", "Resource": "*"}],
        }
    )
    policy = aws.iam.Policy("policy", policy=read)
    aws.iam.RolePolicyAttachment("attached", role=role.name, policy_arn=policy.arn)
    aws.iam.RolePolicy("within", role=role.name, policy=read)
    aws.iam.Role(
        "inline-role", assume_role_policy=trust, managed_policy_arns=[policy.arn],
        inline_policies=[{"name": "read", "policy": read}],
    )
    aws.iam.InstanceProfile("profile", role=role.name)
    aws.iam.OpenIdConnectProvider(
        "issuer", url="https://oidc.example/id/ABC", client_id_lists=["sts.amazonaws.com"]
    )
    logs = aws.cloudwatch.LogGroup("logs", retention_in_days=7)
    aws.ec2.FlowLog(
        "flow", vpc_id=vpc.id, traffic_type="ALL", log_destination=logs.arn, iam_role_arn=role.arn
    )
    queue = aws.sqs.Queue("queue", message_retention_seconds=300, sqs_managed_sse_enabled=True)
    aws.sqs.QueuePolicy(
        "allowed",
        queue_url=queue.url,
        policy=queue.arn.apply(
            lambda arn: json.dumps(
                {
                    "Version": "2012-10-17",
                    "Statement": [
                        {
                            "Effect": "Allow",
                            "Principal": {"Service": ["events.amazonaws.com"]},
                            "Action": "sqs:SendMessage",
                            "Resource": arn,
                        }
                    ],
                }
            )
        ),
    )
    rule = aws.cloudwatch.EventRule("rule", event_pattern=json.dumps({"source": ["aws.ec2"]}))
    aws.cloudwatch.EventTarget("target", rule=rule.name, arn=queue.arn)
    key = aws.kms.Key("key", enable_key_rotation=True)
    aws.kms.Alias("alias", name="alias/plugins", target_key_id=key.id)
    aws.ecr.Repository("images", force_delete=True)
    aws.ec2.LaunchTemplate(
        "template",
        image_id="ami-12345678",
        instance_type="m5.large",
        metadata_options={"http_tokens": "required"},
        block_device_mappings=[
            {"device_name": "/dev/xvda", "ebs": {"volume_size": 20, "encrypted": "true"}}
        ],
    )
    pulumi.export("vpc", vpc.id)
    pulumi.export("account", aws.get_caller_identity().account_id)
    pulumi.export("place", [aws.get_region().region, aws.get_partition().partition])
    pulumi.export(
        "found",
        aws.ec2.get_subnets_output(
            filters=[{"name": "vpc-id", "values": [subnet.vpc_id for subnet in subnets]}]
        ).ids,
    )
    """
)


def test_aws_resources_are_made_stay_as_they_are_and_leave_nothing(
    world: World, stack: Stack
) -> None:
    stack.write(EVERYTHING)
    assert "[unknown]" in stack.run("preview")

    stack.up()

    made = stack.outputs()
    assert made["account"] == world.account
    assert made["place"] == [world.region, "aws"]
    assert len(made["found"]) == 2
    assert plugin_stack.own_vpcs(world) == [made["vpc"]]
    assert stack.steps() == {}
    stack.run("refresh", "--yes", "--skip-preview", "--expect-no-changes")
    stack.run("destroy", "--yes", "--skip-preview")
    assert plugin_stack.own_vpcs(world) == []
    roles = plugin_stack.client(world, "iam").list_roles()["Roles"]
    assert [r["RoleName"] for r in roles] == ["AWSServiceRoleForEC2Spot"]


def test_a_live_input_is_changed_in_place_and_a_fixed_one_makes_another_resource(
    world: World, stack: Stack
) -> None:
    program = """
        config = {config}
        vpc = aws.ec2.Vpc("vpc", **config)
        aws.ec2.Subnet("subnet", vpc_id=vpc.id, cidr_block="10.0.0.0/24")
    """
    stack.up(program.format(config={"cidr_block": "10.0.0.0/16", "tags": {"a": "1", "b": "2"}}))
    first = stack.state()["vpc"]["id"]

    changed = {"cidr_block": "10.0.0.0/16", "tags": {"a": "3"}, "enable_dns_hostnames": True}
    stack.write(program.format(config=changed))
    assert stack.steps() == {"vpc": "update"}
    stack.up()
    outputs = stack.state()["vpc"]["outputs"]
    assert (stack.state()["vpc"]["id"], outputs["tagsAll"]) == (first, {"a": "3"})
    assert outputs["enableDnsHostnames"] is True

    stack.write(program.format(config={**changed, "cidr_block": "10.0.0.0/20"}))
    assert stack.steps() == {"vpc": "replace", "subnet": "replace"}
    stack.up()
    assert stack.state()["vpc"]["id"] != first
    assert plugin_stack.own_vpcs(world) == [stack.state()["vpc"]["id"]]


def test_a_resource_that_somebody_deleted_or_changed_is_set_right(
    world: World, stack: Stack
) -> None:
    stack.up(
        plugin_stack.NETWORK + '    queue = aws.sqs.Queue("queue", visibility_timeout_seconds=40)'
    )
    before = stack.state()
    url = before["queue"]["outputs"]["url"]
    plugin_stack.client(world, "ec2").delete_subnet(SubnetId=before["subnet-1"]["id"])
    plugin_stack.client(world, "sqs").set_queue_attributes(
        QueueUrl=url, Attributes={"VisibilityTimeout": "50"}
    )

    stack.run("refresh", "--yes", "--skip-preview")

    assert stack.steps() == {"subnet-1": "create", "queue": "update"}
    stack.up()
    assert stack.steps() == {}
    stack.run("refresh", "--yes", "--skip-preview", "--expect-no-changes")


def test_default_tags_reach_every_resource_and_another_account_is_refused(stack: Stack) -> None:
    program = """
        own = aws.Provider(
            "own", region="us-west-2", allowed_account_ids={accounts},
            default_tags={{"tags": {{"team": "a"}}}},
        )
        aws.sqs.Queue("queue", tags={{"b": "c"}}, opts=ResourceOptions(provider=own))
    """

    stack.up(program.format(accounts=["123456789012"]))

    assert stack.state()["queue"]["outputs"]["tagsAll"] == {"team": "a", "b": "c"}
    stack.run("refresh", "--yes", "--skip-preview", "--expect-no-changes")
    refused = stack.refuses(program.format(accounts=["999999999999"]))
    assert "the laptop world's account is 123456789012" in refused


@pytest.mark.parametrize(
    ("program", "said"),
    [
        pytest.param(
            'aws.s3.Bucket("b")',
            ["knows no aws:s3/bucket:Bucket", "aws:sqs/queue:Queue", "use a real account"],
            id="an unknown type, with the known ones",
        ),
        pytest.param(
            'aws.route53.get_zone(name="example.dev")',
            ["knows no function aws:route53/getZone:getZone"],
            id="an unknown function",
        ),
        pytest.param(
            'aws.eks.Cluster("c", role_arn="r", vpc_config={"subnetIdz": ["s"]})',
            ["vpcConfig.subnetIdz", "did you mean 'subnetIds'?", "vpcConfig.subnetIds"],
            id="a misspelt property inside another, with the nearest one",
        ),
        pytest.param(
            'aws.sqs.Queue("q", redrive_allow_policy="{}")',
            ["redriveAllowPolicy", "is not honoured by the stand-in for aws"],
            id="a property that nothing would come of",
        ),
        pytest.param(
            'aws.Provider("p", profile="prod")',
            ["profile", "means a real account"],
            id="a provider for a real account",
        ),
        pytest.param(
            'eks.Cluster("c", subnet_ids=["s"], gpu=True)',
            ["gpu", "not honoured", "skipDefaultNodeGroup", "no default node group"],
            id="what a cluster of the laptop has not",
        ),
        pytest.param(
            'eks.ManagedNodeGroup("g", cluster="c", node_role_arn="r")',
            ["knows no eks:index:ManagedNodeGroup"],
            id="an unknown component",
        ),
        pytest.param(
            'k8s.helm.v4.Chart("c", chart="x")',
            ["kubernetes:helm.sh/v4:Chart is a component that only the real plugin constructs"],
            id="a chart",
        ),
        pytest.param(
            'k8s.core.v1.ConfigMapPatch("p", metadata={"name": "x"})',
            ["knows no kubernetes:core/v1:ConfigMapPatch"],
            id="a patch",
        ),
        pytest.param(
            'k8s.core.v1.Service("s", spec={"ports": [{"port": 99999}]})',
            ["Service", "Invalid", "spec.ports[0].port", "between 1 and 65535"],
            id="an object that the API server rejects, with the field",
        ),
        pytest.param(
            'k8s.core.v1.ConfigMap("c", metadata={"name": "c", "namespace": "default"}, '
            'opts=ResourceOptions(provider=k8s.Provider("p", enable_server_side_apply=False)))',
            ["enableServerSideApply", "applies server-side only"],
            id="client-side apply",
        ),
    ],
)
def test_what_the_stand_ins_cannot_honour_is_refused(
    untouched: Stack, program: str, said: list[str]
) -> None:
    refused = untouched.refuses(program)

    assert [part for part in said if part not in refused] == []


def test_no_stand_in_speaks_to_another_machine(untouched: Stack, tmp_path: Path) -> None:
    stack = untouched
    distant = tmp_path / "distant"
    distant.write_text(stack.kubectl("config", "view", "--raw").replace("127.0.0.1", "203.0.113.7"))
    stack.write('aws.sqs.Queue("q")')
    aws_said = stack.run("preview", check=False, AWS_ENDPOINT_URL="https://sqs.amazonaws.com")
    stack.write('k8s.core.v1.Namespace("n")')
    kubernetes_said = stack.run("preview", check=False, KUBECONFIG=str(distant))

    assert "AWS_ENDPOINT_URL is 'https://sqs.amazonaws.com'" in aws_said
    assert "the kubeconfig names https://203.0.113.7" in kubernetes_said


def test_secret_inputs_and_secrets_of_the_cluster_stay_secret(stack: Stack) -> None:
    stack.up(
        """
        word = Output.secret("open-sesame")
        aws.ec2.LaunchTemplate("template", user_data=Output.secret("b3Blbi1zZXNhbWU="))
        secret = k8s.core.v1.Secret("secret", string_data={"word": word})
        k8s.core.v1.ConfigMap("map", data={"word": word})
        pulumi.export("data", secret.data)
        """
    )
    stack.run("refresh", "--yes", "--skip-preview", "--expect-no-changes")

    assert stack.outputs()["data"] == {"word": "b3Blbi1zZXNhbWU="}
    kept = stack.state_file()
    assert "open-sesame" not in kept
    assert "b3Blbi1zZXNhbWU=" not in kept


def test_a_plugin_ends_with_an_engine_that_is_killed(untouched: Stack) -> None:
    plugin = Path(__file__).parents[2] / "local" / "bin" / "pulumi-resource-aws"
    engine = subprocess.Popen(
        [sys.executable, "-c", ENGINE, str(plugin)],
        env=untouched.env,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert engine.stdout is not None
    identifier = int(engine.stdout.readline())

    engine.kill()
    engine.wait()

    deadline = time.monotonic() + 10
    while Path(f"/proc/{identifier}").exists():
        assert time.monotonic() < deadline, f"{plugin.name} runs on as {identifier}"
        time.sleep(0.1)
    engine.stdout.close()


ENGINE = """
import subprocess, sys, time
plugin = subprocess.Popen([sys.argv[1], "127.0.0.1:1"], stdout=subprocess.PIPE)
plugin.stdout.readline()
print(plugin.pid, flush=True)
time.sleep(60)
"""
"""Starts a plugin as the engine does, waits until it serves, and tells its process id."""
