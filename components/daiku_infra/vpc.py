"""Vpc: a network over several zones, with a private and a public subnet in each.

Which address goes where is decided in subnets.py. A private subnet's id is handed out only with its
route to the internet, so that whatever starts in it can reach AWS, and can to its last second.
"""

from dataclasses import dataclass, field

import pulumi

from daiku_infra import outputs, subnets, tags
from daiku_infra.providers import aws
from daiku_infra.subnets import NatGateways, ZoneSubnets


@dataclass(frozen=True, slots=True, kw_only=True)
class VpcArgs:
    """What a Vpc is made from."""

    cidr_block: str
    """IPv4 range of the whole VPC, /16 to /24. Plain: the subnets follow from it."""
    zones: list[str]
    """Availability zones to span, 1 to 4. Append only: the position decides a zone's addresses."""
    nat_gateways: NatGateways = NatGateways.SINGLE
    """How private subnets reach the internet."""
    cluster_name: str
    """The cluster whose node classes find the private subnets by tag."""
    tags: dict[str, str] = field(default_factory=dict[str, str])
    """Tags that every resource carries, beside its own Name."""


class Vpc(pulumi.ComponentResource):
    """A network for one cluster."""

    vpc_id: pulumi.Output[str]
    """Id of the VPC."""
    private_subnet_ids: list[pulumi.Output[str]]
    """Ids of the private subnets, in the order of the zones."""
    public_subnet_ids: list[pulumi.Output[str]]
    """Ids of the public subnets, in the order of the zones."""

    def __init__(
        self, name: str, args: VpcArgs, opts: pulumi.ResourceOptions | None = None
    ) -> None:
        """Register the network's resources."""
        super().__init__("daiku:index:Vpc", name, None, opts)
        self._prefix = name
        self._args = args
        self._own = pulumi.ResourceOptions(parent=self)
        plan = subnets.divide(args.cidr_block, args.zones)
        vpc = aws.ec2.Vpc(
            name,
            cidr_block=args.cidr_block,
            enable_dns_hostnames=True,
            enable_dns_support=True,
            tags=tags.named(name, args.tags),
            opts=self._own,
        )
        self.vpc_id = vpc.id
        public = self._public_subnets(vpc, plan)
        private = self._private_subnets(vpc, plan, self._nat_gateways(public))
        self.public_subnet_ids = [public[zone] for zone in args.zones]
        self.private_subnet_ids = [private[zone] for zone in args.zones]
        self.register_outputs(
            {
                "vpcId": self.vpc_id,
                "privateSubnetIds": self.private_subnet_ids,
                "publicSubnetIds": self.public_subnet_ids,
            }
        )

    def _public_subnets(
        self, vpc: aws.ec2.Vpc, plan: list[ZoneSubnets]
    ) -> dict[str, pulumi.Output[str]]:
        """One public subnet per zone, all on one route table with the internet gateway."""
        gateway = aws.ec2.InternetGateway(
            self._prefix,
            vpc_id=vpc.id,
            tags=tags.named(self._prefix, self._args.tags),
            opts=self._own,
        )
        table = self._route_table(vpc, "public")
        route = aws.ec2.Route(
            f"{self._prefix}-public",
            route_table_id=table.id,
            destination_cidr_block="0.0.0.0/0",
            gateway_id=gateway.id,
            opts=self._own,
        )
        ids: dict[str, pulumi.Output[str]] = {}
        for zone in plan:
            name = f"{self._prefix}-public-{zone.zone}"
            subnet = aws.ec2.Subnet(
                name,
                vpc_id=vpc.id,
                availability_zone=zone.zone,
                cidr_block=zone.public,
                tags=tags.public_subnet(name, self._args.tags),
                opts=self._own,
            )
            association = aws.ec2.RouteTableAssociation(
                name, subnet_id=subnet.id, route_table_id=table.id, opts=self._own
            )
            ids[zone.zone] = outputs.once(subnet.id, association.id, route.id)
        return ids

    def _nat_gateways(self, public: dict[str, pulumi.Output[str]]) -> dict[str, aws.ec2.NatGateway]:
        """The NAT gateway that each zone goes through; empty when it goes through none."""
        placement = subnets.nat_zones(self._args.nat_gateways, self._args.zones)
        gateways: dict[str, aws.ec2.NatGateway] = {}
        for zone in sorted(set(placement.values())):
            name = f"{self._prefix}-nat-{zone}"
            address = aws.ec2.Eip(
                name, domain="vpc", tags=tags.named(name, self._args.tags), opts=self._own
            )
            gateways[zone] = aws.ec2.NatGateway(
                name,
                allocation_id=address.id,
                subnet_id=public[zone],
                tags=tags.named(name, self._args.tags),
                opts=self._own,
            )
        return {zone: gateways[nat_zone] for zone, nat_zone in placement.items()}

    def _private_subnets(
        self, vpc: aws.ec2.Vpc, plan: list[ZoneSubnets], gateways: dict[str, aws.ec2.NatGateway]
    ) -> dict[str, pulumi.Output[str]]:
        """One private subnet per zone, each on its own route table, so that NAT may change per zone."""
        ids: dict[str, pulumi.Output[str]] = {}
        for zone in plan:
            kind = f"private-{zone.zone}"
            name = f"{self._prefix}-{kind}"
            subnet = aws.ec2.Subnet(
                name,
                vpc_id=vpc.id,
                availability_zone=zone.zone,
                cidr_block=zone.private,
                tags=tags.private_subnet(name, self._args.cluster_name, self._args.tags),
                opts=self._own,
            )
            table = self._route_table(vpc, kind)
            association = aws.ec2.RouteTableAssociation(
                name, subnet_id=subnet.id, route_table_id=table.id, opts=self._own
            )
            way_out: list[pulumi.Output[str]] = [association.id]
            if zone.zone in gateways:
                route = aws.ec2.Route(
                    name,
                    route_table_id=table.id,
                    destination_cidr_block="0.0.0.0/0",
                    nat_gateway_id=gateways[zone.zone].id,
                    opts=self._own,
                )
                way_out.append(route.id)
            ids[zone.zone] = outputs.once(subnet.id, *way_out)
        return ids

    def _route_table(self, vpc: aws.ec2.Vpc, kind: str) -> aws.ec2.RouteTable:
        """A route table without routes."""
        name = f"{self._prefix}-{kind}"
        return aws.ec2.RouteTable(
            name, vpc_id=vpc.id, tags=tags.named(name, self._args.tags), opts=self._own
        )
