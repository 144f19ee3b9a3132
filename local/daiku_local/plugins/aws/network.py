"""VPC, subnets and the gateways between them and the rest of the world."""

# ruff: noqa: ARG002, D102 - the verbs are Kind's, which says what they mean
# boto3 has no types: its answers are JSON.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false
# pyright: reportUnknownArgumentType=false, reportUnknownLambdaType=false

from typing import Any

from daiku_local.plugins.aws import cloud as clouds
from daiku_local.plugins.aws.cloud import Cloud, tag_map
from daiku_local.plugins.aws.kind import Ec2Kind, Kind, kind, names
from daiku_local.plugins.values import Plain

GATEWAY_SECONDS = 300.0
"""A NAT gateway takes minutes on AWS, and no time here unless the weather says so."""


def vpc_attribute(cloud: Cloud, vpc: str, attribute: str) -> bool:
    """Give one of the DNS switches of a VPC."""
    name = attribute[0].upper() + attribute[1:]
    answer = cloud.ec2.describe_vpc_attribute(VpcId=vpc, Attribute=attribute)
    return bool(answer[name]["Value"])


def main_objects(cloud: Cloud, vpc: str) -> Plain:
    """Give the objects that AWS makes with every VPC."""
    mine = [{"Name": "vpc-id", "Values": [vpc]}]
    main = [*mine, {"Name": "association.main", "Values": ["true"]}]
    default = [*mine, {"Name": "group-name", "Values": ["default"]}]
    tables = cloud.ec2.describe_route_tables(Filters=main)["RouteTables"]
    groups = cloud.ec2.describe_security_groups(Filters=default)["SecurityGroups"]
    acls = cloud.ec2.describe_network_acls(Filters=mine)["NetworkAcls"]
    table = tables[0]["RouteTableId"] if tables else None
    return {
        "mainRouteTableId": table,
        "defaultRouteTableId": table,
        "defaultSecurityGroupId": groups[0]["GroupId"] if groups else None,
        "defaultNetworkAclId": acls[0]["NetworkAclId"] if acls else None,
    }


@kind("aws:ec2/vpc:Vpc")
class Vpc(Ec2Kind):
    """A VPC."""

    ec2_type = "vpc"
    fixed = names("cidrBlock instanceTenancy assignGeneratedIpv6CidrBlock")
    live = names("enableDnsHostnames enableDnsSupport")

    def create(self, cloud: Cloud, inputs: Plain) -> str:
        answer = cloud.ec2.create_vpc(
            CidrBlock=inputs["cidrBlock"],
            InstanceTenancy=inputs.get("instanceTenancy", "default"),
            AmazonProvidedIpv6CidrBlock=inputs.get("assignGeneratedIpv6CidrBlock", False),
            **self.tag_specifications(inputs),
        )
        return answer["Vpc"]["VpcId"]

    def settle(self, cloud: Cloud, identifier: str, inputs: Plain) -> None:
        # EC2 takes one attribute at a time.
        cloud.ec2.modify_vpc_attribute(
            VpcId=identifier, EnableDnsSupport={"Value": inputs.get("enableDnsSupport", True)}
        )
        cloud.ec2.modify_vpc_attribute(
            VpcId=identifier, EnableDnsHostnames={"Value": inputs.get("enableDnsHostnames", False)}
        )

    def read(self, cloud: Cloud, identifier: str, known: Plain) -> Plain | None:
        vpc = cloud.ec2.describe_vpcs(VpcIds=[identifier])["Vpcs"][0]
        ranges = vpc.get("Ipv6CidrBlockAssociationSet") or [{}]
        return {
            "arn": cloud.arn("ec2", f"vpc/{identifier}"),
            "cidrBlock": vpc["CidrBlock"],
            "instanceTenancy": vpc.get("InstanceTenancy", "default"),
            "dhcpOptionsId": vpc.get("DhcpOptionsId"),
            "ownerId": vpc.get("OwnerId", cloud.account),
            "enableDnsSupport": vpc_attribute(cloud, identifier, "enableDnsSupport"),
            "enableDnsHostnames": vpc_attribute(cloud, identifier, "enableDnsHostnames"),
            "ipv6CidrBlock": ranges[0].get("Ipv6CidrBlock"),
            "ipv6AssociationId": ranges[0].get("AssociationId"),
            "tagsAll": tag_map(vpc.get("Tags")),
            **main_objects(cloud, identifier),
        }

    def delete(self, cloud: Cloud, identifier: str, state: Plain) -> None:
        cloud.ec2.delete_vpc(VpcId=identifier)


_SUBNET_SWITCHES = {
    "mapPublicIpOnLaunch": "MapPublicIpOnLaunch",
    "assignIpv6AddressOnCreation": "AssignIpv6AddressOnCreation",
    "enableDns64": "EnableDns64",
}


@kind("aws:ec2/subnet:Subnet")
class Subnet(Ec2Kind):
    """A subnet of a VPC, in one zone."""

    ec2_type = "subnet"
    fixed = names("vpcId cidrBlock ipv6CidrBlock ipv6Native availabilityZone availabilityZoneId")
    live = frozenset(_SUBNET_SWITCHES)

    def create(self, cloud: Cloud, inputs: Plain) -> str:
        optional = {
            "CidrBlock": inputs.get("cidrBlock"),
            "Ipv6CidrBlock": inputs.get("ipv6CidrBlock"),
            "AvailabilityZone": inputs.get("availabilityZone"),
            "AvailabilityZoneId": inputs.get("availabilityZoneId"),
            "Ipv6Native": inputs.get("ipv6Native"),
        }
        answer = cloud.ec2.create_subnet(
            VpcId=inputs["vpcId"],
            **{key: value for key, value in optional.items() if value is not None},
            **self.tag_specifications(inputs),
        )
        return answer["Subnet"]["SubnetId"]

    def settle(self, cloud: Cloud, identifier: str, inputs: Plain) -> None:
        for name, parameter in _SUBNET_SWITCHES.items():
            if name in inputs:
                cloud.ec2.modify_subnet_attribute(
                    SubnetId=identifier, **{parameter: {"Value": inputs[name]}}
                )

    def update(self, cloud: Cloud, identifier: str, new: Plain, changed: set[str]) -> None:
        cleared = {name: False for name in changed if new.get(name) is None}
        self.settle(cloud, identifier, cleared)

    def read(self, cloud: Cloud, identifier: str, known: Plain) -> Plain | None:
        subnet = cloud.ec2.describe_subnets(SubnetIds=[identifier])["Subnets"][0]
        ranges = subnet.get("Ipv6CidrBlockAssociationSet") or [{}]
        return {
            "arn": subnet.get("SubnetArn") or cloud.arn("ec2", f"subnet/{identifier}"),
            "vpcId": subnet["VpcId"],
            "cidrBlock": subnet.get("CidrBlock"),
            "ipv6CidrBlock": ranges[0].get("Ipv6CidrBlock"),
            "ipv6Native": subnet.get("Ipv6Native", False),
            "availabilityZone": subnet["AvailabilityZone"],
            "availabilityZoneId": subnet.get("AvailabilityZoneId"),
            "ownerId": subnet.get("OwnerId", cloud.account),
            "tagsAll": tag_map(subnet.get("Tags")),
        } | {name: subnet.get(parameter, False) for name, parameter in _SUBNET_SWITCHES.items()}

    def delete(self, cloud: Cloud, identifier: str, state: Plain) -> None:
        cloud.ec2.delete_subnet(SubnetId=identifier)


@kind("aws:ec2/vpcIpv4CidrBlockAssociation:VpcIpv4CidrBlockAssociation")
class VpcIpv4CidrBlockAssociation(Kind):
    """A further range of a VPC."""

    fixed = names("vpcId cidrBlock")
    delete_first = True

    def create(self, cloud: Cloud, inputs: Plain) -> str:
        answer = cloud.ec2.associate_vpc_cidr_block(
            VpcId=inputs["vpcId"], CidrBlock=inputs["cidrBlock"]
        )
        return answer["CidrBlockAssociation"]["AssociationId"]

    def read(self, cloud: Cloud, identifier: str, known: Plain) -> Plain | None:
        mine = [{"Name": "cidr-block-association.association-id", "Values": [identifier]}]
        for vpc in cloud.ec2.describe_vpcs(Filters=mine)["Vpcs"]:
            for range_ in vpc.get("CidrBlockAssociationSet", ()):
                if range_["AssociationId"] == identifier:
                    return {"vpcId": vpc["VpcId"], "cidrBlock": range_["CidrBlock"]}
        return None

    def delete(self, cloud: Cloud, identifier: str, state: Plain) -> None:
        cloud.ec2.disassociate_vpc_cidr_block(AssociationId=identifier)


@kind("aws:ec2/egressOnlyInternetGateway:EgressOnlyInternetGateway")
class EgressOnlyInternetGateway(Ec2Kind):
    """The way of private subnets to the IPv6 internet."""

    ec2_type = "egress-only-internet-gateway"
    fixed = names("vpcId")

    def create(self, cloud: Cloud, inputs: Plain) -> str:
        answer = cloud.ec2.create_egress_only_internet_gateway(
            VpcId=inputs["vpcId"], **self.tag_specifications(inputs)
        )
        return answer["EgressOnlyInternetGateway"]["EgressOnlyInternetGatewayId"]

    def read(self, cloud: Cloud, identifier: str, known: Plain) -> Plain | None:
        found = cloud.ec2.describe_egress_only_internet_gateways(
            EgressOnlyInternetGatewayIds=[identifier]
        )["EgressOnlyInternetGateways"]
        if not found:
            return None
        return {
            "vpcId": found[0]["Attachments"][0]["VpcId"],
            "tagsAll": tag_map(found[0].get("Tags")),
        }

    def delete(self, cloud: Cloud, identifier: str, state: Plain) -> None:
        cloud.ec2.delete_egress_only_internet_gateway(EgressOnlyInternetGatewayId=identifier)


@kind("aws:ec2/internetGateway:InternetGateway")
class InternetGateway(Ec2Kind):
    """The way of public subnets to the internet."""

    ec2_type = "internet-gateway"
    live = names("vpcId")

    def create(self, cloud: Cloud, inputs: Plain) -> str:
        answer = cloud.ec2.create_internet_gateway(**self.tag_specifications(inputs))
        return answer["InternetGateway"]["InternetGatewayId"]

    def settle(self, cloud: Cloud, identifier: str, inputs: Plain) -> None:
        wanted = inputs.get("vpcId")
        attached = self._attached(cloud, identifier)
        if attached and attached != wanted:
            cloud.ec2.detach_internet_gateway(InternetGatewayId=identifier, VpcId=attached)
        if wanted and attached != wanted:
            cloud.ec2.attach_internet_gateway(InternetGatewayId=identifier, VpcId=wanted)

    @staticmethod
    def _describe(cloud: Cloud, identifier: str) -> Any:
        answer = cloud.ec2.describe_internet_gateways(InternetGatewayIds=[identifier])
        return answer["InternetGateways"][0]

    def _attached(self, cloud: Cloud, identifier: str) -> str | None:
        attachments = self._describe(cloud, identifier).get("Attachments") or [{}]
        return attachments[0].get("VpcId")

    def read(self, cloud: Cloud, identifier: str, known: Plain) -> Plain | None:
        gateway = self._describe(cloud, identifier)
        return {
            "arn": cloud.arn("ec2", f"internet-gateway/{identifier}"),
            "vpcId": (gateway.get("Attachments") or [{}])[0].get("VpcId"),
            "ownerId": gateway.get("OwnerId", cloud.account),
            "tagsAll": tag_map(gateway.get("Tags")),
        }

    def delete(self, cloud: Cloud, identifier: str, state: Plain) -> None:
        if attached := self._attached(cloud, identifier):
            cloud.ec2.detach_internet_gateway(InternetGatewayId=identifier, VpcId=attached)
        cloud.ec2.delete_internet_gateway(InternetGatewayId=identifier)


@kind("aws:ec2/eip:Eip")
class Eip(Ec2Kind):
    """An elastic IP address."""

    ec2_type = "elastic-ip"
    fixed = names("domain publicIpv4Pool networkBorderGroup")

    def create(self, cloud: Cloud, inputs: Plain) -> str:
        answer = cloud.ec2.allocate_address(
            Domain=inputs.get("domain", "vpc"), **self.tag_specifications(inputs)
        )
        return answer["AllocationId"]

    def read(self, cloud: Cloud, identifier: str, known: Plain) -> Plain | None:
        address = cloud.ec2.describe_addresses(AllocationIds=[identifier])["Addresses"][0]
        ip = address["PublicIp"]
        return {
            "arn": cloud.arn("ec2", f"elastic-ip/{identifier}"),
            "allocationId": identifier,
            "domain": address.get("Domain", "vpc"),
            "publicIp": ip,
            "publicDns": f"ec2-{ip.replace('.', '-')}.{cloud.region}.compute.amazonaws.com",
            "tagsAll": tag_map(address.get("Tags")),
        }

    def delete(self, cloud: Cloud, identifier: str, state: Plain) -> None:
        cloud.ec2.release_address(AllocationId=identifier)


@kind("aws:ec2/natGateway:NatGateway")
class NatGateway(Ec2Kind):
    """The way of private subnets to the internet."""

    ec2_type = "natgateway"
    fixed = names("allocationId subnetId connectivityType privateIp vpcId availabilityMode")

    def create(self, cloud: Cloud, inputs: Plain) -> str:
        parameters = {
            "AllocationId": inputs.get("allocationId"),
            "SubnetId": inputs.get("subnetId"),
            "ConnectivityType": inputs.get("connectivityType", "public"),
            "PrivateIpAddress": inputs.get("privateIp"),
            "VpcId": inputs.get("vpcId"),
            "AvailabilityMode": inputs.get("availabilityMode"),
        }
        answer = cloud.ec2.create_nat_gateway(
            **{key: value for key, value in parameters.items() if value is not None},
            **self.tag_specifications(inputs),
        )
        return answer["NatGateway"]["NatGatewayId"]

    @staticmethod
    def _describe(cloud: Cloud, identifier: str) -> Any:
        answer = cloud.ec2.describe_nat_gateways(NatGatewayIds=[identifier])["NatGateways"]
        return answer[0] if answer else {"State": "deleted"}

    def settle(self, cloud: Cloud, identifier: str, inputs: Plain) -> None:
        clouds.until(
            lambda: self._describe(cloud, identifier)["State"],
            lambda state: state == "available",
            what=f"NAT gateway {identifier} is not available",
            seconds=GATEWAY_SECONDS,
        )

    def read(self, cloud: Cloud, identifier: str, known: Plain) -> Plain | None:
        gateway = self._describe(cloud, identifier)
        if gateway["State"] in {"deleting", "deleted", "failed"}:
            return None
        address = (gateway.get("NatGatewayAddresses") or [{}])[0]
        return {
            "allocationId": address.get("AllocationId"),
            "associationId": address.get("AssociationId"),
            "networkInterfaceId": address.get("NetworkInterfaceId"),
            "privateIp": address.get("PrivateIp"),
            "publicIp": address.get("PublicIp"),
            "connectivityType": gateway.get("ConnectivityType", "public"),
            "subnetId": gateway.get("SubnetId"),
            "vpcId": gateway.get("VpcId"),
            "tagsAll": tag_map(gateway.get("Tags")),
        }

    def delete(self, cloud: Cloud, identifier: str, state: Plain) -> None:
        cloud.ec2.delete_nat_gateway(NatGatewayId=identifier)
        clouds.until(
            lambda: self._describe(cloud, identifier)["State"],
            lambda seen: seen == "deleted",
            what=f"NAT gateway {identifier} is not deleted",
            seconds=GATEWAY_SECONDS,
        )
