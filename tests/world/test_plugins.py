"""The stand-in provider plugins under the real Pulumi engine, on a real world."""

import datetime as dt
import os
import uuid
from collections.abc import Generator
from pathlib import Path
from typing import Any

import boto3
import pytest
from tests.world import plugin_stack
from tests.world.plugin_stack import Stack

from daiku_local import down, environment, toolchain, up
from daiku_local.world import World

pytestmark = pytest.mark.world

NODE = """
apiVersion: v1
kind: Node
metadata: {name: n1, annotations: {kwok.x-k8s.io/node: fake}}
status:
  capacity: {cpu: "8", memory: 16Gi, pods: "50"}
  allocatable: {cpu: "8", memory: 16Gi, pods: "50"}
"""
NETWORK = """
    zones = aws.get_availability_zones(state="available").names
    vpc = aws.ec2.Vpc("vpc", cidr_block="10.0.0.0/16", tags={"Name": "vpc"})
    subnets = [
        aws.ec2.Subnet(
            f"subnet-{i}", vpc_id=vpc.id, cidr_block=f"10.0.{i}.0/24", availability_zone=zones[i]
        )
        for i in range(2)
    ]
"""


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Generator[World]:
    folder = tmp_path_factory.mktemp("plugins") / "world"
    yield up.up(folder, toolchain.ensure(), dt.datetime.now(dt.UTC), print)  # noqa: TID251
    down.down(folder, print)


@pytest.fixture
def stack(world: World, tmp_path: Path) -> Generator[Stack]:
    env = environment.of_commands(world, toolchain.ensure().folder, os.environ)
    made = plugin_stack.make(tmp_path / f"p{uuid.uuid4().hex[:8]}", env)
    yield made
    made.run("destroy", "--yes", "--skip-preview")


def _client(world: World, service: str) -> Any:
    return boto3.client(
        service,
        region_name=world.region,
        endpoint_url=world.aws_endpoint,
        aws_access_key_id="local",
        aws_secret_access_key="local",  # noqa: S106 - the stand-in AWS takes any
    )


def _own_vpcs(world: World) -> list[str]:
    found = _client(world, "ec2").describe_vpcs()["Vpcs"]
    return [vpc["VpcId"] for vpc in found if not vpc["IsDefault"]]


EVERYTHING = (
    NETWORK
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
    assert _own_vpcs(world) == [made["vpc"]]
    assert stack.steps() == {}
    stack.run("refresh", "--yes", "--skip-preview", "--expect-no-changes")
    stack.run("destroy", "--yes", "--skip-preview")
    assert _own_vpcs(world) == []
    assert _client(world, "iam").list_roles()["Roles"] == []


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
    assert _own_vpcs(world) == [stack.state()["vpc"]["id"]]


def test_a_resource_that_somebody_deleted_or_changed_is_set_right(
    world: World, stack: Stack
) -> None:
    stack.up(NETWORK + '    queue = aws.sqs.Queue("queue", visibility_timeout_seconds=40)')
    before = stack.state()
    url = before["queue"]["outputs"]["url"]
    _client(world, "ec2").delete_subnet(SubnetId=before["subnet-1"]["id"])
    _client(world, "sqs").set_queue_attributes(QueueUrl=url, Attributes={"VisibilityTimeout": "50"})

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
            'aws.ec2.Vpc("v", cidr_block="10.0.0.0/8")\naws.ec2.Subnet("s", vpc_id="vpc-1")',
            [],
            id="nothing that only AWS can judge, at preview",
        ),
        pytest.param(
            'eks.Cluster("c", subnet_ids=["s"], gpu=True)',
            ["gpu", "not honoured", "skipDefaultNodeGroup", "no default node group"],
            id="what a cluster of the laptop has not",
        ),
        pytest.param(
            'eks.ManagedNodeGroup("g", cluster=None, node_role_arn="r")',
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
    stack: Stack, program: str, said: list[str]
) -> None:
    if not said:
        stack.write(program)
        stack.run("preview")
        return

    refused = stack.refuses(program)

    assert [part for part in said if part not in refused] == []


def test_no_stand_in_speaks_to_another_machine(stack: Stack, tmp_path: Path) -> None:
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
        aws.ec2.LaunchTemplate("template", user_data=word)
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


OBJECTS = """
    space = k8s.core.v1.Namespace("space")
    where = {"namespace": space.metadata.name}
    conf = k8s.core.v1.ConfigMap("conf", metadata=where, data={"a": "%(a)s"})
    definition = k8s.apiextensions.v1.CustomResourceDefinition(
        "definition",
        metadata={"name": "widgets.plugins.example"},
        spec={
            "group": "plugins.example",
            "scope": "Namespaced",
            "names": {"kind": "Widget", "plural": "widgets"},
            "versions": [
                {
                    "name": "v1",
                    "served": True,
                    "storage": True,
                    "schema": {
                        "openAPIV3Schema": {
                            "type": "object",
                            "properties": {
                                "spec": {
                                    "type": "object",
                                    "properties": {"size": {"type": "integer"}},
                                }
                            },
                        }
                    },
                }
            ],
        },
    )
    widget = k8s.apiextensions.CustomResource(
        "widget",
        api_version="plugins.example/v1",
        kind="Widget",
        metadata=where,
        spec={"size": %(size)s},
        opts=ResourceOptions(depends_on=[definition]),
    )
    labels = {"app": "x"}
    limits = {"requests": {"cpu": "1000m"}}
    deployment = k8s.apps.v1.Deployment(
        "deployment",
        metadata=where,
        spec={
            "replicas": %(replicas)s,
            "selector": {"match_labels": labels},
            "template": {
                "metadata": {"labels": labels},
                "spec": {"containers": [{"name": "c", "image": "pause", "resources": limits}]},
            },
        },
        opts=ResourceOptions(custom_timeouts=pulumi.CustomTimeouts(create="5s")),
    )
    service = k8s.core.v1.Service(
        "service", metadata=where, spec={"selector": labels, "ports": [{"port": 80}]}
    )
    account = k8s.core.v1.ServiceAccount("account", metadata=where)
    role = k8s.rbac.v1.ClusterRole(
        "role", rules=[{"api_groups": [""], "resources": ["pods"], "verbs": ["get"]}]
    )
    k8s.rbac.v1.ClusterRoleBinding(
        "binding",
        role_ref={
            "api_group": "rbac.authorization.k8s.io",
            "kind": "ClusterRole",
            "name": role.metadata.name,
        },
        subjects=[{"kind": "ServiceAccount", "name": account.metadata.name, **where}],
    )
    pulumi.export("space", space.metadata.name)
    pulumi.export("ready", deployment.status.ready_replicas)
"""


def test_objects_are_applied_awaited_set_right_and_removed(stack: Stack) -> None:
    first = OBJECTS % {"a": 1, "size": 3, "replicas": 2}
    stack.write(first)
    assert set(stack.steps().values()) == {"create"}

    waited = stack.up(check=False)
    assert "0 of 2 replicas are available; pod deployment-" in waited
    stack.kubectl("apply", "-f", "-", given=NODE)
    assert stack.steps() == {"deployment": "update"}
    stack.up()
    assert stack.steps() == {}
    stack.run("refresh", "--yes", "--skip-preview", "--expect-no-changes")

    stack.write(OBJECTS % {"a": 2, "size": 4, "replicas": 3})
    assert stack.steps() == {"conf": "replace", "widget": "update", "deployment": "update"}
    stack.up()
    made = stack.outputs()
    assert made["ready"] == 3

    widget = stack.state()["widget"]["id"].split("/")[1]
    deployment = stack.state()["deployment"]["id"].split("/")[1]
    here = ("-n", made["space"])
    stack.kubectl("delete", "widgets", widget, *here)
    stack.kubectl("scale", "deployment", deployment, "--replicas=1", *here)
    stack.run("refresh", "--yes", "--skip-preview")
    assert stack.steps() == {"widget": "create", "deployment": "update"}
    conflict = stack.up(check=False)
    assert 'conflict with "kubectl"' in conflict
    assert "pulumi.com/patchForce" in conflict

    stack.run("destroy", "--yes", "--skip-preview")
    assert made["space"] not in stack.kubectl("get", "namespaces", "-o", "name")


def test_an_object_that_exists_is_not_taken_over_unasked(stack: Stack) -> None:
    stack.kubectl("create", "configmap", "taken", "--from-literal=a=b")
    program = """
        k8s.core.v1.ConfigMap(
            "c", metadata={{"name": "taken", "annotations": {notes}}}, data={{"a": "c"}}
        )
    """

    assert "exists already" in stack.refuses(program.format(notes={}))

    stack.up(program.format(notes={"pulumi.com/patchForce": "true"}))
    assert "c" in stack.kubectl("get", "configmap", "taken", "-o", "jsonpath={.data.a}")


def test_a_deletion_that_a_finalizer_holds_says_so(stack: Stack) -> None:
    stack.up(
        """
        k8s.core.v1.ConfigMap(
            "held",
            metadata={"name": "held", "finalizers": ["plugins.example/hold"]},
            opts=ResourceOptions(custom_timeouts=pulumi.CustomTimeouts(delete="2s")),
        )
        """
    )

    said = stack.run("destroy", "--yes", "--skip-preview", check=False)

    assert "held by the finalizers ['plugins.example/hold']" in said
    patch = '{"metadata":{"finalizers":null}}'
    stack.kubectl("patch", "configmap", "held", "--type=merge", "-p", patch)


CLUSTER = (
    NETWORK
    + """
    skip = {skip}
    cluster = eks.Cluster(
        "main",
        name="plugins",
        version="1.34",
        vpc_id=vpc.id,
        private_subnet_ids=[subnet.id for subnet in subnets],
        authentication_mode=eks.AuthenticationMode.API,
        create_oidc_provider=True,
        upgrade_policy=aws.eks.ClusterUpgradePolicyArgs(support_type="STANDARD"),
        skip_default_node_group=True,
        skip_default_security_groups=skip,
        use_default_vpc_cni=skip,
        kube_proxy_addon_options=eks.KubeProxyAddonOptionsArgs(enabled=not skip),
        coredns_addon_options=eks.CoreDnsAddonOptionsArgs(enabled=False),
        tags={{"team": "a"}},
    )
    inside = k8s.Provider("inside", kubeconfig=cluster.kubeconfig_json)
    k8s.core.v1.Namespace("space", opts=ResourceOptions(provider=inside))
    trust = aws.iam.get_policy_document(
        statements=[
            {{
                "actions": ["sts:AssumeRole", "sts:TagSession"],
                "principals": [
                    {{
                        "type": "Service",
                        "identifiers": ["ec2.amazonaws.com", "pods.eks.amazonaws.com"],
                    }}
                ],
            }}
        ]
    ).json
    role = aws.iam.Role("role", assume_role_policy=trust)
    name = cluster.eks_cluster.name
    entry = aws.eks.AccessEntry("entry", cluster_name=name, principal_arn=role.arn)
    aws.eks.AccessPolicyAssociation(
        "may",
        cluster_name=name,
        principal_arn=entry.principal_arn,
        policy_arn="arn:aws:eks::aws:cluster-access-policy/AmazonEKSViewPolicy",
        access_scope={{"type": "cluster"}},
    )
    aws.eks.PodIdentityAssociation(
        "pods", cluster_name=name, namespace="kube-system", service_account="x", role_arn=role.arn
    )
    aws.eks.NodeGroup(
        "nodes",
        cluster_name=name,
        node_role_arn=aws.iam.Role("node", assume_role_policy=trust).arn,
        subnet_ids=[subnet.id for subnet in subnets],
        scaling_config={{"desired_size": 1, "min_size": 1, "max_size": {size}}},
        taints=[{{"key": "k", "value": "v", "effect": "NO_SCHEDULE"}}],
    )
    aws.eks.Addon("agent", cluster_name=name, addon_name="eks-pod-identity-agent")
    pulumi.export("endpoint", cluster.core.endpoint)
    pulumi.export("issuer", [cluster.oidc_provider_url, cluster.oidc_issuer])
    pulumi.export("groups", [cluster.cluster_security_group_id, cluster.node_security_group_id])
    pulumi.export("kubeconfig", cluster.get_kubeconfig(profile_name="x"))
    pulumi.export(
        "addon",
        aws.eks.get_addon_version(
            addon_name="vpc-cni", kubernetes_version="1.34", most_recent=True
        ).version,
    )
"""
)


@pytest.mark.parametrize("skip", [True, False], ids=["bare", "with groups and add-ons"])
def test_a_cluster_is_constructed_and_its_kubeconfig_reaches_it(
    world: World, stack: Stack, skip: bool
) -> None:
    stack.write(CLUSTER.format(skip=skip, size=2))
    assert set(stack.steps().values()) <= {"create", "read"}

    stack.up()

    made = stack.outputs()
    assert made["endpoint"] == world.kubernetes_endpoint
    assert made["issuer"] == [
        world.service_account_issuer,
        world.service_account_issuer.removeprefix("https://"),
    ]
    assert len(set(made["groups"])) == (1 if skip else 2)
    assert world.kubernetes_endpoint in made["kubeconfig"]
    assert ("main-kube-proxy" in stack.state()) is not skip
    assert "client-key-data" not in stack.state_file()
    assert stack.steps() == {}
    stack.run("refresh", "--yes", "--skip-preview", "--expect-no-changes")
    stack.write(CLUSTER.format(skip=skip, size=3))
    assert stack.steps() == {"nodes": "update"}
    stack.up()
    stack.run("destroy", "--yes", "--skip-preview")
    assert _client(world, "eks").list_clusters()["clusters"] == []
    assert _own_vpcs(world) == []
