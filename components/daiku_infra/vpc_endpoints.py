"""VpcEndpoints: services of AWS that are reached without leaving the VPC.

Gateway endpoints are routes and cost nothing. Interface endpoints are addresses in subnets, billed by
the hour and zone; with the private-cluster set of them nodes start, join and are scaled without any
way to the internet. IAM and Pricing have none: there, node classes name an instance profile, and the
controller is told that its VPC is isolated.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum

import pulumi

from daiku_infra import tags
from daiku_infra.providers import aws

PRIVATE_CLUSTER = (
    "ec2",
    "ecr.api",
    "ecr.dkr",
    "eks",
    "eks-auth",
    "elasticloadbalancing",
    "logs",
    "sqs",
    "ssm",
    "sts",
)
"""Interface endpoints that nodes, system pods and the controller need without an internet."""
GATEWAYS = ("dynamodb", "s3")
"""Services that have a gateway endpoint. Layers of images come from S3."""


class Endpoints(StrEnum):
    """Which services are reached inside the VPC."""

    NONE = "none"
    """None: all traffic to AWS goes through the NAT gateways and is billed there."""
    S3 = "s3"
    """S3 alone, by a gateway endpoint, which is free."""
    PRIVATE = "private"
    """S3, and all that a cluster without a way to the internet needs."""


@dataclass(frozen=True, slots=True, kw_only=True)
class VpcEndpointsArgs:
    """What VpcEndpoints are made from."""

    vpc_id: pulumi.Input[str]
    """The VPC they are in."""
    region: str
    """Its AWS region."""
    cidr_blocks: list[str]
    """Its ranges, which may call the interface endpoints."""
    route_table_ids: list[pulumi.Input[str]]
    """Route tables that gateway endpoints are entered in."""
    subnet_ids: list[pulumi.Input[str]]
    """Subnets that interface endpoints have addresses in, one per zone."""
    gateway_services: list[str] = field(default_factory=lambda: ["s3"])
    """Services reached by a gateway endpoint: s3, dynamodb."""
    interface_services: list[str] = field(default_factory=list[str])
    """Services reached by an interface endpoint, such as ec2 or ecr.api."""
    tags: dict[str, str] = field(default_factory=dict[str, str])
    """Tags that every resource carries."""


class VpcEndpoints(pulumi.ComponentResource):
    """The endpoints of one VPC."""

    endpoint_ids: list[pulumi.Output[str]]
    """Ids of all endpoints, each known once it answers."""

    def __init__(
        self, name: str, args: VpcEndpointsArgs, opts: pulumi.ResourceOptions | None = None
    ) -> None:
        """Register the endpoints, and the security group of those that have addresses."""
        super().__init__("daiku:index:VpcEndpoints", name, None, opts)
        self._own = pulumi.ResourceOptions(parent=self)
        self._args = args
        group = self._group(name) if args.interface_services else None
        gateways = [
            self._endpoint(
                name, service, vpc_endpoint_type="Gateway", route_table_ids=args.route_table_ids
            )
            for service in args.gateway_services
        ]
        interfaces = [
            self._endpoint(
                name,
                service,
                vpc_endpoint_type="Interface",
                private_dns_enabled=True,
                subnet_ids=args.subnet_ids,
                security_group_ids=[group.id],
            )
            for service in args.interface_services
            if group is not None
        ]
        self.endpoint_ids = [endpoint.id for endpoint in (*gateways, *interfaces)]
        self.register_outputs({"endpointIds": self.endpoint_ids})

    def _group(self, name: str) -> "aws.ec2.SecurityGroup":
        """Who may call interface endpoints: everything in the VPC, by TLS."""
        return aws.ec2.SecurityGroup(
            f"{name}-endpoints",
            description="Calls to AWS from inside the VPC",
            vpc_id=self._args.vpc_id,
            ingress=[
                aws.ec2.SecurityGroupIngressArgs(
                    description="TLS from inside the VPC",
                    protocol="tcp",
                    from_port=443,
                    to_port=443,
                    cidr_blocks=self._args.cidr_blocks,
                )
            ],
            tags=tags.named(f"{name}-endpoints", self._args.tags),
            opts=self._own,
        )

    def _endpoint(self, prefix: str, service: str, **kind: object) -> "aws.ec2.VpcEndpoint":
        """One endpoint of either kind."""
        name = f"{prefix}-{service.replace('.', '-')}"
        return aws.ec2.VpcEndpoint(
            name,
            vpc_id=self._args.vpc_id,
            service_name=f"com.amazonaws.{self._args.region}.{service}",
            tags=tags.named(name, self._args.tags),
            opts=self._own,
            **kind,  # pyright: ignore[reportArgumentType] - the arguments of the two callers above
        )


def services(endpoints: Endpoints, more: Sequence[str]) -> Mapping[str, list[str]]:
    """Tell which services are reached how: by "gateway", by "interface".

    Args:
        endpoints: The set that was asked for.
        more: Further services by name; those that have a gateway endpoint get that one.
    """
    asked = {*more}
    if endpoints is not Endpoints.NONE:
        asked.add("s3")
    if endpoints is Endpoints.PRIVATE:
        asked |= {*PRIVATE_CLUSTER}
    return {
        "gateway": sorted(asked & {*GATEWAYS}),
        "interface": sorted(asked - {*GATEWAYS}),
    }
