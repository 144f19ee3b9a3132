"""The stand-in EKS over HTTP: clusters, access, node groups, add-ons, Pod Identity, and their errors."""

import base64
import uuid
from collections.abc import Generator
from typing import Any

import pytest
from tests.world import aws_account
from tests.world.aws_account import ISSUER, Account, Network, eventually

from daiku_local.aws.eks import versions

pytestmark = pytest.mark.world


@pytest.fixture(scope="module")
def account(tmp_path_factory: pytest.TempPathFactory) -> Generator[Account]:
    with aws_account.running(tmp_path_factory.mktemp("eks") / "world") as running:
        yield running


@pytest.fixture
def place(account: Account) -> Network:
    return aws_account.network(account)


def make_cluster(account: Account, place: Network, **parameters: Any) -> str:
    """A cluster that is ACTIVE; gives its name."""
    eks = account.client("eks")
    name = f"cluster-{uuid.uuid4().hex[:8]}"
    arn = aws_account.role(account, name, "eks.amazonaws.com")
    defaults = {
        "resourcesVpcConfig": {"subnetIds": place.subnets},
        "accessConfig": {"authenticationMode": "API"},
    }
    eks.create_cluster(name=name, roleArn=arn, **{**defaults, **parameters})
    eventually(lambda: status(account, name) == "ACTIVE", "the cluster")
    return name


def status(account: Account, name: str) -> str:
    return account.client("eks").describe_cluster(name=name)["cluster"]["status"]


def make_group(account: Account, cluster: str, place: Network, **parameters: Any) -> Any:
    """A node group that is ACTIVE."""
    eks = account.client("eks")
    defaults: dict[str, Any] = {
        "subnets": place.subnets,
        "nodeRole": place.role,
        "scalingConfig": {"minSize": 1, "maxSize": 3, "desiredSize": 2},
        "instanceTypes": ["m5.large"],
    }
    eks.create_nodegroup(clusterName=cluster, nodegroupName="system", **{**defaults, **parameters})

    def active() -> Any:
        shown = eks.describe_nodegroup(clusterName=cluster, nodegroupName="system")["nodegroup"]
        return shown if shown["status"] == "ACTIVE" else None

    return eventually(active, "the node group")


def instances(account: Account, cluster: str) -> list[Any]:
    """Living instances of a cluster's node groups."""
    wanted = [
        {"Name": "tag:eks:cluster-name", "Values": [cluster]},
        {"Name": "instance-state-name", "Values": ["pending", "running"]},
    ]
    answer = account.client("ec2").describe_instances(Filters=wanted)
    return [one for reservation in answer["Reservations"] for one in reservation["Instances"]]


def test_a_cluster_shows_the_laptops_control_plane(account: Account, place: Network) -> None:
    eks, ec2 = account.client("eks"), account.client("ec2")

    name = make_cluster(account, place)

    shown = eks.describe_cluster(name=name)["cluster"]
    assert shown["endpoint"] == account.world.kubernetes_endpoint
    assert shown["identity"]["oidc"]["issuer"] == ISSUER
    assert base64.b64decode(shown["certificateAuthority"]["data"]) == b"not a certificate\n"
    assert shown["kubernetesNetworkConfig"]["serviceIpv4Cidr"] == "10.100.0.0/16"
    assert shown["version"] == versions.DEFAULT
    assert shown["resourcesVpcConfig"]["vpcId"] == place.vpc
    group_id = shown["resourcesVpcConfig"]["clusterSecurityGroupId"]
    group = ec2.describe_security_groups(GroupIds=[group_id])["SecurityGroups"][0]
    assert {"Key": f"kubernetes.io/cluster/{name}", "Value": "owned"} in group["Tags"]
    sources = [
        pair["GroupId"] for rule in group["IpPermissions"] for pair in rule["UserIdGroupPairs"]
    ]
    assert sources == [group_id]


def test_a_deleted_cluster_leaves_nothing_in_its_network(account: Account, place: Network) -> None:
    eks, ec2 = account.client("eks"), account.client("ec2")
    name = make_cluster(account, place)
    group_id = eks.describe_cluster(name=name)["cluster"]["resourcesVpcConfig"][
        "clusterSecurityGroupId"
    ]

    with pytest.raises(ec2.exceptions.ClientError, match="DependencyViolation"):
        ec2.delete_security_group(GroupId=group_id)
    eks.delete_cluster(name=name)
    eventually(lambda: name not in eks.list_clusters()["clusters"], "the cluster to go")

    with pytest.raises(eks.exceptions.ResourceNotFoundException):
        eks.describe_cluster(name=name)
    ec2.delete_security_group(GroupId=place.group)
    for subnet in place.subnets:
        ec2.delete_subnet(SubnetId=subnet)
    ec2.delete_vpc(VpcId=place.vpc)


def test_a_cluster_is_refused_with_what_is_wrong(account: Account, place: Network) -> None:
    eks = account.client("eks")
    arn = aws_account.role(account, f"refused-{uuid.uuid4().hex[:8]}", "eks.amazonaws.com")
    right = {"name": "right", "roleArn": arn, "resourcesVpcConfig": {"subnetIds": place.subnets}}

    for wrong, reason in (
        ({"version": "1.19"}, "unsupported Kubernetes version"),
        ({"roleArn": place.role}, "could not be assumed"),
        ({"resourcesVpcConfig": {"subnetIds": place.subnets[:1]}}, "two different AZs"),
        ({"resourcesVpcConfig": {"subnetIds": ["subnet-0"]}}, "does not exist"),
    ):
        with pytest.raises(eks.exceptions.InvalidParameterException, match=reason):
            eks.create_cluster(**{**right, **wrong})


def test_deletion_protection_keeps_a_cluster(account: Account, place: Network) -> None:
    eks = account.client("eks")
    name = make_cluster(account, place, deletionProtection=True)

    with pytest.raises(eks.exceptions.InvalidRequestException):
        eks.delete_cluster(name=name)
    eks.update_cluster_config(name=name, deletionProtection=False)
    eventually(lambda: status(account, name) == "ACTIVE", "the update")
    eks.delete_cluster(name=name)


def test_an_update_is_in_progress_then_successful(account: Account, place: Network) -> None:
    eks = account.client("eks")
    name = make_cluster(account, place, version="1.34")

    update = eks.update_cluster_version(name=name, version="1.35")["update"]

    with pytest.raises(eks.exceptions.ResourceInUseException):
        eks.update_cluster_version(name=name, version="1.36")
    eventually(
        lambda: (
            eks.describe_update(name=name, updateId=update["id"])["update"]["status"]
            == "Successful"
        ),
        "the update",
    )
    assert eks.describe_cluster(name=name)["cluster"]["version"] == "1.35"
    with pytest.raises(eks.exceptions.InvalidParameterException):
        eks.update_cluster_version(name=name, version="1.34")


def test_whoever_creates_a_cluster_is_its_administrator(account: Account, place: Network) -> None:
    eks = account.client("eks")
    name = make_cluster(account, place)
    caller = account.client("sts").get_caller_identity()["Arn"]

    policies = eks.list_associated_access_policies(clusterName=name, principalArn=caller)

    assert [one["policyArn"].split("/")[1] for one in policies["associatedAccessPolicies"]] == [
        "AmazonEKSClusterAdminPolicy"
    ]


def test_access_entries_are_made_changed_and_removed(account: Account, place: Network) -> None:
    eks = account.client("eks")
    name = make_cluster(account, place)
    wanted = {"clusterName": name, "principalArn": place.role}
    view = "arn:aws:eks::aws:cluster-access-policy/AmazonEKSViewPolicy"

    eks.create_access_entry(**wanted, kubernetesGroups=["readers"])
    with pytest.raises(eks.exceptions.ResourceInUseException):
        eks.create_access_entry(**wanted)
    eks.update_access_entry(**wanted, kubernetesGroups=["writers"])
    eks.associate_access_policy(**wanted, policyArn=view, accessScope={"type": "cluster"})

    assert eks.describe_access_entry(**wanted)["accessEntry"]["kubernetesGroups"] == ["writers"]
    listed = eks.list_access_entries(clusterName=name, associatedPolicyArn=view)["accessEntries"]
    assert listed == [place.role]
    eks.disassociate_access_policy(**wanted, policyArn=view)
    eks.delete_access_entry(**wanted)
    with pytest.raises(eks.exceptions.ResourceNotFoundException):
        eks.describe_access_entry(**wanted)


def test_a_node_group_launches_instances_that_know_their_cluster(
    account: Account, place: Network
) -> None:
    eks, ec2 = account.client("eks"), account.client("ec2")
    name = make_cluster(account, place)

    make_group(
        account,
        name,
        place,
        labels={"role": "system"},
        taints=[{"key": "CriticalAddonsOnly", "value": "true", "effect": "NO_SCHEDULE"}],
    )

    found = instances(account, name)
    assert len({one["SubnetId"] for one in found}) == len(found) == 2
    assert {"Key": f"kubernetes.io/cluster/{name}", "Value": "owned"} in found[0]["Tags"]
    text = ec2.describe_instance_attribute(InstanceId=found[0]["InstanceId"], Attribute="userData")
    user_data = base64.b64decode(text["UserData"]["Value"]).decode()
    assert "eks.amazonaws.com/nodegroup=system" in user_data
    assert "role=system" in user_data
    assert "CriticalAddonsOnly" in user_data
    assert account.world.kubernetes_endpoint in user_data
    entry = eks.describe_access_entry(clusterName=name, principalArn=place.role)["accessEntry"]
    assert entry["type"] == "EC2_LINUX"
    profile = found[0]["IamInstanceProfile"]["Arn"].split("/")[1]
    roles = account.client("iam").get_instance_profile(InstanceProfileName=profile)
    assert roles["InstanceProfile"]["Roles"][0]["Arn"] == place.role


def test_a_node_group_keeps_its_size_and_can_be_scaled(account: Account, place: Network) -> None:
    eks, ec2 = account.client("eks"), account.client("ec2")
    name = make_cluster(account, place)
    make_group(account, name, place)
    lost = instances(account, name)[0]["InstanceId"]

    ec2.terminate_instances(InstanceIds=[lost])
    eventually(lambda: len(instances(account, name)) == 2, "the replacement")
    eks.update_nodegroup_config(
        clusterName=name, nodegroupName="system", scalingConfig={"desiredSize": 3}
    )

    eventually(lambda: len(instances(account, name)) == 3, "the third instance")


def test_a_node_group_waits_out_a_shortage(account: Account, place: Network) -> None:
    eks = account.client("eks")
    name = make_cluster(account, place)
    account.weather(sold_out=[{"instance_type": "m5.large"}])
    eks.create_nodegroup(
        clusterName=name,
        nodegroupName="system",
        subnets=place.subnets,
        nodeRole=place.role,
        instanceTypes=["m5.large"],
        scalingConfig={"minSize": 1, "maxSize": 1, "desiredSize": 1},
    )

    shown = eks.describe_nodegroup(clusterName=name, nodegroupName="system")["nodegroup"]
    assert [issue["code"] for issue in shown["health"]["issues"]] == ["AsgInstanceLaunchFailures"]
    account.weather()

    eventually(lambda: len(instances(account, name)) == 1, "the instance")


def test_a_cluster_with_node_groups_stays_until_they_are_gone(
    account: Account, place: Network
) -> None:
    eks = account.client("eks")
    name = make_cluster(account, place)
    make_group(account, name, place)

    with pytest.raises(eks.exceptions.ResourceInUseException):
        eks.delete_cluster(name=name)
    eks.delete_nodegroup(clusterName=name, nodegroupName="system")
    eventually(lambda: eks.list_nodegroups(clusterName=name)["nodegroups"] == [], "the group")

    assert instances(account, name) == []
    eks.delete_cluster(name=name)


def test_a_node_group_takes_what_its_launch_template_says(account: Account) -> None:
    place = aws_account.network(
        account,
        BlockDeviceMappings=[{"DeviceName": "/dev/xvda", "Ebs": {"VolumeSize": 77}}],
        IamInstanceProfile={},
    )
    ec2 = account.client("ec2")
    name = make_cluster(account, place)
    group = place.group
    template = ec2.create_launch_template(
        LaunchTemplateName=f"group-{uuid.uuid4().hex[:8]}",
        LaunchTemplateData={
            "SecurityGroupIds": [group],
            "BlockDeviceMappings": [{"DeviceName": "/dev/xvda", "Ebs": {"VolumeSize": 77}}],
        },
    )["LaunchTemplate"]["LaunchTemplateId"]

    make_group(account, name, place, launchTemplate={"id": template, "version": "1"})

    found = instances(account, name)[0]
    assert [one["GroupId"] for one in found["SecurityGroups"]] == [group]
    volume = ec2.describe_volumes(VolumeIds=[found["BlockDeviceMappings"][0]["Ebs"]["VolumeId"]])
    assert volume["Volumes"][0]["Size"] == 77


def test_an_addon_has_a_life_of_its_own(account: Account, place: Network) -> None:
    eks = account.client("eks")
    name = make_cluster(account, place)
    offered = eks.describe_addon_versions(kubernetesVersion="1.34", addonName="vpc-cni")["addons"]
    newest = offered[0]["addonVersions"][0]["addonVersion"]

    created = eks.create_addon(clusterName=name, addonName="vpc-cni")["addon"]
    assert created["addonVersion"] != newest

    def active() -> bool:
        shown = eks.describe_addon(clusterName=name, addonName="vpc-cni")["addon"]
        return shown["status"] == "ACTIVE"

    eventually(active, "the add-on")
    eks.update_addon(clusterName=name, addonName="vpc-cni", addonVersion=newest)
    eventually(active, "the update")
    assert (
        eks.describe_addon(clusterName=name, addonName="vpc-cni")["addon"]["addonVersion"] == newest
    )
    eks.delete_addon(clusterName=name, addonName="vpc-cni")
    eventually(lambda: eks.list_addons(clusterName=name)["addons"] == [], "the add-on to go")


def test_a_service_account_has_one_pod_identity_association(
    account: Account, place: Network
) -> None:
    eks = account.client("eks")
    name = make_cluster(account, place)
    arn = aws_account.role(account, f"pods-{uuid.uuid4().hex[:8]}", "pods.eks.amazonaws.com")
    wanted = {"clusterName": name, "namespace": "kube-system", "serviceAccount": "daiku"}

    made = eks.create_pod_identity_association(**wanted, roleArn=arn)["association"]

    with pytest.raises(eks.exceptions.ResourceInUseException):
        eks.create_pod_identity_association(**wanted, roleArn=arn)
    listed = eks.list_pod_identity_associations(**wanted)["associations"]
    assert [one["associationId"] for one in listed] == [made["associationId"]]
    eks.delete_pod_identity_association(clusterName=name, associationId=made["associationId"])
    assert eks.list_pod_identity_associations(**wanted)["associations"] == []


def test_tags_of_a_cluster_are_set_and_removed(account: Account, place: Network) -> None:
    eks = account.client("eks")
    name = make_cluster(account, place, tags={"a": "1"})
    arn = eks.describe_cluster(name=name)["cluster"]["arn"]

    eks.tag_resource(resourceArn=arn, tags={"b": "2"})
    eks.untag_resource(resourceArn=arn, tagKeys=["a"])

    assert eks.list_tags_for_resource(resourceArn=arn)["tags"] == {"b": "2"}


def test_the_newest_kubernetes_version_is_the_default_and_no_other(account: Account) -> None:
    shown = account.client("eks").describe_cluster_versions(includeAll=True)["clusterVersions"]

    assert [one["clusterVersion"] for one in shown if one["defaultVersion"]] == ["1.36"]
    assert {one["clusterVersion"] for one in shown} == {f"1.{minor}" for minor in range(31, 37)}
