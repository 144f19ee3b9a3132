"""What single values of a stack change."""

import json
from typing import Any

import pulumi
import pytest
from tests.infra import graph
from tests.infra.conftest import run_program, stack_values
from tests.infra.graph import Graph

import daiku_infra as infra
from daiku_infra import crds

NAT = "aws:ec2/natGateway:NatGateway"
ROUTE = "aws:ec2/route:Route"
SUBNET = "aws:ec2/subnet:Subnet"
ENDPOINT = "aws:ec2/vpcEndpoint:VpcEndpoint"
ADDON = "aws:eks/addon:Addon"


def with_values(**changes: Any) -> Graph:
    return run_program(stack_values("local") | {f"daiku:{k}": v for k, v in changes.items()})


@pytest.mark.parametrize(
    ("gateways", "nat_count", "route_count"),
    [
        pytest.param("none", 0, 1, id="none: only public subnets have a way out"),
        pytest.param("single", 1, 4, id="single: all private subnets share one"),
        pytest.param("perZone", 3, 4, id="per zone: each has its own"),
        pytest.param("regional", 1, 4, id="regional: all share one, which stands in no zone"),
    ],
)
def test_nat_gateways_are_as_many_as_asked(gateways: str, nat_count: int, route_count: int) -> None:
    made = with_values(natGateways=gateways, vpcEndpoints="private")

    assert (len(made.of(NAT)), len(made.of(ROUTE))) == (nat_count, route_count)


def test_a_zone_that_is_appended_changes_no_subnet_that_was_there(local: Graph) -> None:
    zones = stack_values("local")["daiku:zones"]

    more = with_values(zones=[*zones, "us-west-2d"])

    before = {s.name: s.inputs for s in local.of("aws:ec2/subnet:Subnet")}
    after = {s.name: s.inputs for s in more.of("aws:ec2/subnet:Subnet")}
    assert before.items() <= after.items()
    assert len(after) == 8


def test_addons_that_run_as_pods_wait_for_nodes_and_nodes_for_the_others() -> None:
    made = with_values(addons=[{"name": "vpc-cni"}, {"name": "coredns", "version": "v1.11.4"}])

    nodes = made.one("aws:eks/nodeGroup:NodeGroup")
    cni, dns = (made.one(ADDON, f"daiku-local-{name}") for name in ("vpc-cni", "coredns"))
    assert cni.urn in made.needs(nodes)
    assert nodes.urn in made.needs(dns)
    assert dns.urn in made.needs(made.one("kubernetes:apps/v1:Deployment"))
    assert dns.inputs["addonVersion"] == "v1.11.4"


def test_a_stack_without_pools_still_gets_its_controller() -> None:
    made = with_values(nodePools=[], nodeClasses=[])

    assert made.one("kubernetes:apps/v1:Deployment")
    assert not made.of("kubernetes:karpenter.sh/v1:NodePool")


def test_keys_of_a_spec_are_sent_as_they_were_written() -> None:
    """Tags and labels may look like Pulumi's own snake_case names, such as api_version."""
    spec = {"amiSelectorTerms": [{"alias": "al2023@latest"}], "tags": {"api_version": "1"}}

    made = with_values(nodeClasses=[{"name": "default", "spec": spec}])

    sent = made.one("kubernetes:karpenter.k8s.aws/v1:EC2NodeClass").inputs["spec"]
    assert sent["tags"]["api_version"] == "1"
    assert sent["instanceProfile"] == "daiku-local-us-west-2-node"


def test_a_crd_is_sent_as_it_was_written(local: Graph) -> None:
    written = {crd["metadata"]["name"]: crd for crd in crds.load(crds.folder())}
    sent = local.of("kubernetes:apiextensions.k8s.io/v1:CustomResourceDefinition")

    assert len(sent) == len(written)
    for crd in sent:
        expected = json.loads(json.dumps(written[crd.inputs["metadata"]["name"]]["spec"]))
        assert crd.inputs["spec"] == expected


def test_a_stack_file_that_cannot_be_followed_registers_nothing() -> None:
    with pytest.raises(infra.ConfigError, match="did you mean perZone"):
        with_values(natGateways="perzone")


def test_the_autoscaler_takes_a_cluster_that_somebody_else_made() -> None:
    def program() -> None:
        cluster = graph.cluster_ref(kubeconfig=pulumi.Output.secret("{}"))
        nodes = infra.NodeRole("theirs-node", infra.NodeRoleArgs(cluster=cluster))
        scaler = infra.Autoscaler(
            "daiku",
            infra.AutoscalerArgs(
                cluster=cluster, role_arn="arn:role", queue_name="queue", image="controller:1"
            ),
        )
        infra.NodePools(
            "daiku",
            infra.NodePoolsArgs(
                cluster=cluster,
                controller=scaler.controller,
                instance_profile_name=nodes.instance_profile_name,
                node_classes=[infra.NodeClassArgs(name="default", spec=graph.NODE_CLASS)],
                node_pools=[infra.NodePoolArgs(name="default", spec=graph.NODE_POOL)],
            ),
        )

    made = graph.register(program)

    assert not made.of("eks:index:Cluster")
    pool = made.one("kubernetes:karpenter.sh/v1:NodePool")
    assert made.one("kubernetes:apps/v1:Deployment").urn in made.needs(pool)


def test_pods_may_have_a_range_and_subnets_of_their_own() -> None:
    made = with_values(podCidr="100.64.0.0/16")

    further = made.one("aws:ec2/vpcIpv4CidrBlockAssociation:VpcIpv4CidrBlockAssociation")
    pods = [s for s in made.of(SUBNET) if "kubernetes.io/role/cni" in s.inputs["tags"]]
    # They are registered side by side, in no particular order.
    assert sorted(s.inputs["cidrBlock"] for s in pods) == [
        "100.64.0.0/18",
        "100.64.128.0/18",
        "100.64.64.0/18",
    ]
    assert all(further.urn in made.needs(subnet) for subnet in pods)
    assert not [s.name for s in pods if "karpenter.sh/discovery" in s.inputs["tags"]]


def test_dual_stack_gives_every_subnet_a_range_and_private_ones_a_one_way_exit() -> None:
    made = with_values(ipv6=True)

    ranges = [s.inputs["ipv6CidrBlock"] for s in made.of(SUBNET)]
    assert len(set(ranges)) == len(ranges) == 6
    outward = [r for r in made.of(ROUTE) if "egressOnlyGatewayId" in r.inputs]
    assert {r.inputs["destinationIpv6CidrBlock"] for r in outward} == {"::/0"}
    assert len(outward) == 3


def test_a_private_cluster_reaches_aws_by_endpoints_alone() -> None:
    made = with_values(natGateways="none", vpcEndpoints="private", intraSubnets=True)

    services = {e.inputs["serviceName"].split(".", 3)[-1]: e for e in made.of(ENDPOINT)}
    assert {"ec2", "ecr.api", "ecr.dkr", "eks", "sqs", "ssm", "sts", "s3"} <= services.keys()
    assert services["s3"].inputs["vpcEndpointType"] == "Gateway"
    intra = {f"{s.name}-id" for s in made.of(SUBNET) if "-intra-" in s.name}
    assert set(services["ec2"].inputs["subnetIds"]) == intra
    assert set(made.one("eks:index:Cluster").inputs["subnetIds"]) == intra
    assert "privateSubnetIds" not in made.one("eks:index:Cluster").inputs
    [rule] = made.one("aws:ec2/securityGroup:SecurityGroup").inputs["ingress"]
    assert (rule["fromPort"], rule["cidrBlocks"]) == (443, ["10.0.0.0/16"])
    group = made.one("aws:eks/nodeGroup:NodeGroup")
    assert {e.urn for e in services.values()} <= made.needs(group)


def test_an_existing_network_gets_discovery_tags_and_nothing_else() -> None:
    made = with_values(
        zones=[],
        existingVpc={"vpcId": "vpc-1a", "privateSubnetIds": ["subnet-1a", "subnet-2b"]},
    )

    assert not made.of("aws:ec2/vpc:Vpc")
    tagged = {t.inputs["resourceId"] for t in made.of("aws:ec2/tag:Tag")}
    assert {"subnet-1a", "subnet-2b"} < tagged
    assert {t.urn for t in made.of("aws:ec2/tag:Tag")} <= made.needs(
        made.one("kubernetes:apps/v1:Deployment")
    ) | {made.one("aws:ec2/tag:Tag", "daiku-local-discovery").urn}


def test_flow_logs_write_to_their_own_group_only() -> None:
    made = with_values(flowLogDays=30)

    group = made.one("aws:cloudwatch/logGroup:LogGroup")
    [statement] = json.loads(made.one("aws:iam/rolePolicy:RolePolicy").inputs["policy"])[
        "Statement"
    ]
    assert group.inputs["retentionInDays"] == 30
    assert statement["Resource"] == f"arn:aws:mock::{graph.ACCOUNT}:LogGroup/{group.name}:*"
    assert made.one("aws:ec2/flowLog:FlowLog").inputs["trafficType"] == "ALL"


def test_logs_of_the_control_plane_end_and_their_group_is_there_before_it() -> None:
    made = with_values(controlPlaneLogs=["audit"], logRetentionDays=90)

    group = made.one("aws:cloudwatch/logGroup:LogGroup")
    assert (group.inputs["name"], group.inputs["retentionInDays"]) == (
        "/aws/eks/daiku-local/cluster",
        90,
    )
    assert group.urn in made.needs(made.one("eks:index:Cluster"))


def test_secrets_have_a_key_of_their_own_that_is_turned_over(local: Graph) -> None:
    key = local.one("aws:kms/key:Key")

    assert key.inputs["enableKeyRotation"] is True
    assert key.urn in local.needs(local.one("eks:index:Cluster"))
    assert not with_values(encryptSecrets=False).of("aws:kms/key:Key")


def test_the_control_plane_keeps_its_role_until_it_is_gone(local: Graph) -> None:
    needed = {local.resources[urn].name for urn in local.needs(local.one("eks:index:Cluster"))}

    assert {"daiku-local-control-plane-0", "daiku-local-control-plane-1"} <= needed


def test_a_protected_cluster_can_be_deleted_by_nobody() -> None:
    cluster = with_values(deletionProtection=True).one("eks:index:Cluster")

    assert cluster.protect
    assert cluster.inputs["deletionProtection"] is True


def test_system_nodes_hide_their_metadata_and_encrypt_their_disks(local: Graph) -> None:
    template = local.one("aws:ec2/launchTemplate:LaunchTemplate")

    assert template.inputs["metadataOptions"]["httpTokens"] == "required"
    [disk] = template.inputs["blockDeviceMappings"]
    assert disk["ebs"]["encrypted"] == "true"
    group = local.one("aws:eks/nodeGroup:NodeGroup")
    assert group.inputs["launchTemplate"]["version"] == "1"


def test_addons_without_a_version_get_the_one_that_eks_has_for_the_cluster() -> None:
    made = with_values(
        addons=[{"name": "vpc-cni"}, {"name": "kube-proxy", "version": "latest"}],
        cni={"prefixDelegation": True, "podSecurityGroups": True},
    )

    cni, proxy = (made.one(ADDON, f"daiku-local-{name}") for name in ("vpc-cni", "kube-proxy"))
    assert cni.inputs["addonVersion"] == "v9.9.9-eksbuild.1"
    assert proxy.inputs["addonVersion"] == "v9.9.9-eksbuild.2"
    environment = json.loads(cni.inputs["configurationValues"])["env"]
    assert environment["ENABLE_PREFIX_DELEGATION"] == environment["ENABLE_POD_ENI"] == "true"


@pytest.mark.parametrize("identity", ["irsa", "podIdentity"])
def test_one_argument_says_how_pods_come_to_their_role(identity: str) -> None:
    addons = [{"name": name} for name in ("eks-pod-identity-agent", "aws-ebs-csi-driver")]
    made = with_values(identity=identity, addons=addons)

    account = made.one("kubernetes:core/v1:ServiceAccount").inputs
    driver = made.one(ADDON, "daiku-local-aws-ebs-csi-driver").inputs
    trust = made.one("aws:iam/role:Role", "daiku-local-controller").inputs["assumeRolePolicy"]
    associations = made.of("aws:eks/podIdentityAssociation:PodIdentityAssociation")
    if identity == "irsa":
        assert account["metadata"]["annotations"]["eks.amazonaws.com/role-arn"]
        assert driver["serviceAccountRoleArn"]
        assert not associations
    else:
        assert "annotations" not in account["metadata"]
        assert "serviceAccountRoleArn" not in driver
        assert driver["podIdentityAssociations"][0]["serviceAccount"] == "ebs-csi-controller-sa"
        [association] = associations
        assert association.inputs["serviceAccount"] == "daiku"
        assert json.loads(trust)["Statement"][0]["Condition"]["StringEquals"] == {
            "aws:RequestTag/eks-cluster-name": "daiku-local",
            "aws:RequestTag/kubernetes-namespace": "kube-system",
            "aws:RequestTag/kubernetes-service-account": "daiku",
        }
        assert association.urn in made.needs(made.one("kubernetes:apps/v1:Deployment"))


def test_people_enter_with_the_policy_that_they_were_given() -> None:
    made = with_values(
        access=[
            {
                "name": "team",
                "principalArn": "arn:aws:iam::123456789012:role/team",
                "policy": "AmazonEKSEditPolicy",
                "namespaces": ["shop"],
            }
        ]
    )

    entry = made.one("aws:eks/accessEntry:AccessEntry", "daiku-local-team")
    association = made.one("aws:eks/accessPolicyAssociation:AccessPolicyAssociation")
    assert entry.inputs["type"] == "STANDARD"
    assert association.inputs["policyArn"].endswith("cluster-access-policy/AmazonEKSEditPolicy")
    assert association.inputs["accessScope"] == {"type": "namespace", "namespaces": ["shop"]}


@pytest.mark.parametrize(
    ("changes", "part"),
    [
        pytest.param({"kubernetesVersion": "1.19"}, "it offers 1.34, 1.35, 1.36", id="version"),
        pytest.param({"accountId": "999999999999"}, "choose another AWS profile", id="account"),
        pytest.param(
            {"zones": ["us-west-2a", "us-west-2z"]}, "us-west-2z cannot be had", id="zone"
        ),
    ],
)
def test_what_aws_cannot_give_is_said_before_anything_is_registered(
    changes: dict[str, Any], part: str
) -> None:
    with pytest.raises(infra.PreflightError, match=part):
        with_values(**changes)


def test_nodes_may_have_a_security_group_of_their_own_and_yours_beside_it() -> None:
    security = {"own": True, "webhookPorts": [15017], "groupIds": ["sg-0abc"]}
    made = with_values(nodeSecurity=security)

    group = made.one("aws:ec2/securityGroup:SecurityGroup")
    assert group.inputs["tags"]["karpenter.sh/discovery"] == "daiku-local"
    assert not [
        t for t in made.of("aws:ec2/tag:Tag") if t.inputs["key"] == "karpenter.sh/discovery"
    ]
    rules = made.of("aws:vpc/securityGroupIngressRule:SecurityGroupIngressRule")
    assert {10250, 10251, 9443, 15017} < {r.inputs.get("toPort") for r in rules}
    template = made.one("aws:ec2/launchTemplate:LaunchTemplate").inputs["vpcSecurityGroupIds"]
    assert len(template) == 2
    assert template[1] == "sg-0abc"
    node_class = made.one("kubernetes:karpenter.k8s.aws/v1:EC2NodeClass").inputs["spec"]
    assert node_class["securityGroupSelectorTerms"] == [
        {"tags": {"karpenter.sh/discovery": "daiku-local"}},
        {"id": "sg-0abc"},
    ]


def test_what_prometheus_takes_waits_for_its_operator_and_the_controller_does_not() -> None:
    made = with_values(platform={"prometheus": True}, monitoring=True, serviceMonitor=True)

    release = made.one("kubernetes:helm.sh/v3:Release").urn
    for kind in ("PrometheusRule", "ServiceMonitor"):
        assert release in made.needs(made.one(f"kubernetes:monitoring.coreos.com/v1:{kind}"))
    assert release not in made.needs(made.one("kubernetes:apps/v1:Deployment"))
