"""NAT gateways of a whole VPC, which moto does not know; those of a subnet are moto's.

Source: EC2's CreateNatGateway with AvailabilityMode `regional`: it names the VPC, and neither subnet nor
address; AWS spreads it over the zones in use. The VPC must have an internet gateway.
"""

# moto has no types.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false

from typing import Any

from daiku_local.aws.cloud import Asked, Cloud
from daiku_local.aws.ec2 import templates
from daiku_local.aws.errors import AwsError, NotOurs


def create(cloud: Cloud, asked: Asked) -> dict[str, Any]:
    """CreateNatGateway.

    Raises:
        NotOurs: It is one of a subnet.
    """
    if asked.get("AvailabilityMode") != "regional":
        raise NotOurs
    vpc = str(asked.get("VpcId") or "")
    if not vpc or asked.get("SubnetId") or asked.get("AllocationId"):
        raise AwsError(
            "InvalidParameterCombination",
            "A regional NAT gateway takes VpcId, and neither SubnetId nor AllocationId.",
        )
    attached = {gateway.vpc.id for gateway in cloud.ec2.internet_gateways.values() if gateway.vpc}
    if vpc not in attached:
        raise AwsError(
            "Gateway.NotAttached", f"Network {vpc} does not have an Internet gateway attached."
        )
    # moto keeps every gateway with an interface, and an interface is somewhere.
    subnets = sorted(s.id for s in cloud.ec2.describe_subnets() if s.vpc_id == vpc)
    made = cloud.ec2.create_nat_gateway(
        subnet_id=subnets[0], allocation_id="", tags=templates.tags_for(asked, "natgateway")
    )
    return {
        "NatGateway": {
            "NatGatewayId": made.id,
            "VpcId": vpc,
            "State": "available",
            "ConnectivityType": "public",
            "AvailabilityMode": "regional",
        }
    }


HANDLERS = {"CreateNatGateway": create}
