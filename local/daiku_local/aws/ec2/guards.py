# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false
"""What may not be deleted because something still uses it.

moto deletes a subnet or a group under a running instance. In reality that is where a leaked
instance shows: the destroy of the network stops with DependencyViolation.
"""

from typing import Any

from daiku_local.aws.cloud import Asked, Cloud
from daiku_local.aws.errors import AwsError


def check_group_is_free(cloud: Cloud, group_id: str) -> None:
    """Raise DependencyViolation while an interface or another group's rule refers to the group."""
    users = [eni.id for eni in cloud.ec2.enis.values() if _has_group(eni, group_id)]
    referrers = [
        group.id
        for groups in cloud.ec2.groups.values()
        for group in groups.values()
        if group.id != group_id and _refers(group, group_id)
    ]
    if users or referrers:
        raise _violation(f"resource {group_id} has a dependent object")


def _has_group(eni: Any, group_id: str) -> bool:
    return any(group.id == group_id for group in eni.group_set)


def _refers(group: Any, group_id: str) -> bool:
    rules = [*group.ingress_rules, *group.egress_rules]
    return any(rule.source_group.get("GroupId") == group_id for rule in rules)


def delete_security_group(cloud: Cloud, asked: Asked) -> None:
    """DeleteSecurityGroup."""
    if group_id := asked.get("GroupId"):
        check_group_is_free(cloud, group_id)


def delete_subnet(cloud: Cloud, asked: Asked) -> None:
    """DeleteSubnet."""
    subnet_id = asked["SubnetId"]
    if any(eni.subnet.id == subnet_id for eni in cloud.ec2.enis.values()):
        raise _violation(f"The subnet '{subnet_id}' has dependencies and cannot be deleted.")


def delete_vpc(cloud: Cloud, asked: Asked) -> None:
    """DeleteVpc: beside subnets, which moto looks at, also groups, gateways and endpoints hold a VPC."""
    vpc_id = asked["VpcId"]
    groups = [
        group for group in cloud.ec2.groups.get(vpc_id, {}).values() if group.name != "default"
    ]
    gateways = [
        gateway
        for gateway in cloud.ec2.internet_gateways.values()
        if gateway.vpc is not None and gateway.vpc.id == vpc_id
    ]
    endpoints = [
        endpoint
        for endpoint in cloud.ec2.vpc_end_points.values()
        if endpoint.vpc_id == vpc_id and endpoint.state != "deleted"
    ]
    if groups or gateways or endpoints:
        raise _violation(f"The vpc '{vpc_id}' has dependencies and cannot be deleted.")


def _violation(message: str) -> AwsError:
    return AwsError("DependencyViolation", message)


def after_nat_gateway(cloud: Cloud, asked: Asked) -> None:
    """DeleteNatGateway: free the address and the interface, which moto leaves behind."""
    gateway = cloud.ec2.nat_gateways[asked["NatGatewayId"]]
    for address in gateway.address_set:
        if association := address.get("associationId"):
            cloud.ec2.disassociate_address(association_id=association)
        cloud.ec2.enis.pop(address["networkInterfaceId"], None)


BEFORE = {
    "DeleteSecurityGroup": delete_security_group,
    "DeleteSubnet": delete_subnet,
    "DeleteVpc": delete_vpc,
}
AFTER = {"DeleteNatGateway": after_nat_gateway}
