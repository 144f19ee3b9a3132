# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false
"""The network of a cluster: the subnets it was given, and the security group that EKS makes for it."""

import secrets
from typing import Any

from daiku_local.aws.cloud import Cloud
from daiku_local.aws.ec2 import guards
from daiku_local.aws.eks import errors
from daiku_local.aws.errors import AwsError


def vpc_of(cloud: Cloud, subnet_ids: list[str], *, zones_least: int) -> str:
    """The VPC that all the subnets lie in.

    Raises:
        AwsError: A subnet does not exist, they lie in different VPCs, or in too few zones.
    """
    known: dict[str, Any] = {
        subnet_id: subnet
        for zone in cloud.ec2.subnets.values()
        for subnet_id, subnet in zone.items()
    }
    missing = [subnet_id for subnet_id in subnet_ids if subnet_id not in known]
    if missing or not subnet_ids:
        raise errors.bad_parameter(f"The subnet ID '{', '.join(missing)}' does not exist")
    subnets = [known[subnet_id] for subnet_id in subnet_ids]
    vpcs = sorted({str(subnet.vpc_id) for subnet in subnets})
    if len(vpcs) > 1:
        raise errors.bad_parameter(f"Subnets are in more than one VPC: {', '.join(vpcs)}")
    if len({subnet.availability_zone for subnet in subnets}) < zones_least:
        raise errors.bad_parameter("Subnets specified must be in at least two different AZs")
    return vpcs[0]


def make_security_group(cloud: Cloud, cluster_name: str, vpc_id: str) -> str:
    """The group that control plane and nodes share: everything among its members, everything out."""
    name = f"eks-cluster-sg-{cluster_name}-{secrets.randbelow(10**10):010d}"
    group = cloud.ec2.create_security_group(
        name,
        "EKS created security group applied to ENI that is attached to EKS Control Plane master "
        "nodes, as well as any managed workloads.",
        vpc_id=vpc_id,
        tags={
            "Name": name,
            "aws:eks:cluster-name": cluster_name,
            f"kubernetes.io/cluster/{cluster_name}": "owned",
        },
    )
    cloud.ec2.authorize_security_group_ingress(
        group.id, "-1", "-1", "-1", [], source_groups=[{"GroupId": group.id}], vpc_id=vpc_id
    )
    return str(group.id)


def make_interfaces(
    cloud: Cloud, cluster_name: str, subnet_ids: list[str], group_id: str
) -> list[str]:
    """The control plane's interfaces in two of the cluster's subnets, which keep those from deletion."""
    made: list[str] = []
    for subnet_id in subnet_ids[:2]:
        subnet = cloud.ec2.get_subnet(subnet_id)
        interface = cloud.ec2.create_network_interface(
            subnet,
            subnet.get_available_subnet_ip(instance=cluster_name),
            group_ids=[group_id],
            description=f"Amazon EKS {cluster_name}",
        )
        interface.status, interface.requester_managed = "in-use", True
        made.append(str(interface.id))
    return made


def remove_interfaces(cloud: Cloud, interface_ids: list[str]) -> None:
    """Remove the control plane's interfaces."""
    for interface_id in interface_ids:
        interface = cloud.ec2.enis.get(interface_id)
        if interface is not None:
            interface.delete()


def remove_security_group(cloud: Cloud, group_id: str) -> None:
    """Delete the cluster's group; as in reality it stays where an interface still uses it."""
    try:
        guards.check_group_is_free(cloud, group_id)
    except AwsError:
        return
    if cloud.ec2.get_security_group_from_id(group_id) is not None:
        cloud.ec2.delete_security_group(group_id=group_id)
