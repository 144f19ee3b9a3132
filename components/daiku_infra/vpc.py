"""Vpc: a network over several zones, with a private and a public subnet in each.

Which address goes where is decided in subnets.py. A private subnet's id is handed out only with its
routes to the internet and to AWS, so that whatever starts in it can reach AWS, and can to its last
second.
"""

from dataclasses import dataclass, field

import pulumi

from daiku_infra import outputs, subnets, tags, vpc_endpoints
from daiku_infra.flow_logs import FlowLogs, FlowLogsArgs
from daiku_infra.providers import aws
from daiku_infra.subnets import NatGateways, Tier, ZoneSubnets
from daiku_infra.vpc_endpoints import Endpoints, VpcEndpoints, VpcEndpointsArgs

_EVERYWHERE = {"destination_cidr_block": "0.0.0.0/0"}
_EVERYWHERE_V6 = {"destination_ipv6_cidr_block": "::/0"}


@dataclass(frozen=True, slots=True, kw_only=True)
class VpcArgs:
    """What a Vpc is made from."""

    region: str
    """AWS region it is in."""
    cidr_block: str = "10.0.0.0/16"
    """IPv4 range of the whole VPC, /16 to /24. Plain: the subnets follow from it."""
    zones: list[str]
    """Availability zones to span, 1 to 4. Append only: the position decides a zone's addresses."""
    nat_gateways: NatGateways = NatGateways.SINGLE
    """How private subnets reach the internet."""
    pod_cidr_block: str | None = None
    """A further range for pods alone, /16 to /26, such as 100.64.0.0/16."""
    intra_subnets: bool = False
    """Have a subnet in each zone that no gateway reaches, for the control plane and endpoints."""
    ipv6: bool = False
    """Have IPv6 beside IPv4 everywhere; private subnets reach out, and nobody reaches in."""
    endpoints: Endpoints = Endpoints.S3
    """Services of AWS that are reached without leaving the VPC."""
    more_endpoints: list[str] = field(default_factory=list[str])
    """Further services, such as secretsmanager."""
    flow_log_days: int = 0
    """Days that the log of its traffic is kept; 0 for no log."""
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
    intra_subnet_ids: list[pulumi.Output[str]]
    """Ids of the intra subnets, in the order of the zones; empty where there are none."""
    pod_subnet_ids: list[pulumi.Output[str]]
    """Ids of the subnets of pods, in the order of the zones; empty where there are none."""

    def __init__(
        self, name: str, args: VpcArgs, opts: pulumi.ResourceOptions | None = None
    ) -> None:
        """Register the network's resources."""
        super().__init__("daiku:index:Vpc", name, None, opts)
        self._prefix = name
        self._args = args
        self._own = pulumi.ResourceOptions(parent=self)
        plan = subnets.divide(args.cidr_block, args.zones, args.pod_cidr_block)
        self._vpc = aws.ec2.Vpc(
            name,
            cidr_block=args.cidr_block,
            enable_dns_hostnames=True,
            enable_dns_support=True,
            assign_generated_ipv6_cidr_block=args.ipv6 or None,
            tags=tags.named(name, args.tags),
            opts=self._own,
        )
        self.vpc_id = self._vpc.id
        public = self._public_subnets(plan)
        tables = {zone.zone: self._route_table(f"private-{zone.zone}") for zone in plan}
        ways_out = self._ways_out(public, tables)
        intra = self._intra_subnets(plan) if args.intra_subnets else {}
        private = self._behind(tables, {zone.zone: zone.private for zone in plan}, Tier.PRIVATE)
        endpoints = self._endpoints([*tables.values()], [*(intra or private).values()])
        pods = self._pod_subnets(plan, tables)
        self._flow_logs()
        self.public_subnet_ids = [public[zone] for zone in args.zones]
        self.intra_subnet_ids = [intra[zone] for zone in intra]
        self.private_subnet_ids = [
            outputs.once(private[zone], *ways_out[zone], *endpoints) for zone in args.zones
        ]
        self.pod_subnet_ids = [outputs.once(pods[zone], *ways_out[zone]) for zone in pods]
        self.register_outputs(
            {
                "vpcId": self.vpc_id,
                "privateSubnetIds": self.private_subnet_ids,
                "publicSubnetIds": self.public_subnet_ids,
                "intraSubnetIds": self.intra_subnet_ids,
                "podSubnetIds": self.pod_subnet_ids,
            }
        )

    def _public_subnets(self, plan: list[ZoneSubnets]) -> dict[str, pulumi.Output[str]]:
        """One public subnet per zone, all on one route table with the internet gateway."""
        gateway = aws.ec2.InternetGateway(
            self._prefix,
            vpc_id=self.vpc_id,
            tags=tags.named(self._prefix, self._args.tags),
            opts=self._own,
        )
        table = self._route_table("public")
        routes = [self._route("public", table, gateway_id=gateway.id, **_EVERYWHERE).id]
        if self._args.ipv6:
            routes.append(
                self._route("public-ipv6", table, gateway_id=gateway.id, **_EVERYWHERE_V6).id
            )
        ranges = {zone.zone: zone.public for zone in plan}
        ids = self._behind(dict.fromkeys(ranges, table), ranges, Tier.PUBLIC)
        return {zone: outputs.once(subnet, *routes) for zone, subnet in ids.items()}

    def _intra_subnets(self, plan: list[ZoneSubnets]) -> dict[str, pulumi.Output[str]]:
        """One subnet per zone, all on one route table that leads nowhere."""
        ranges = {zone.zone: zone.intra for zone in plan}
        return self._behind(dict.fromkeys(ranges, self._route_table("intra")), ranges, Tier.INTRA)

    def _pod_subnets(
        self, plan: list[ZoneSubnets], tables: dict[str, "aws.ec2.RouteTable"]
    ) -> dict[str, pulumi.Output[str]]:
        """Subnets of pods, on the route tables of their zones' nodes."""
        if not self._args.pod_cidr_block:
            return {}
        ranges = {zone.zone: zone.pods for zone in plan if zone.pods}
        further = aws.ec2.VpcIpv4CidrBlockAssociation(
            f"{self._prefix}-pods",
            vpc_id=self.vpc_id,
            cidr_block=self._args.pod_cidr_block,
            opts=self._own,
        )
        return self._behind(tables, ranges, Tier.PODS, after=[further])

    def _behind(
        self,
        tables: dict[str, "aws.ec2.RouteTable"],
        ranges: dict[str, str],
        tier: Tier,
        after: list[pulumi.Resource] | None = None,
    ) -> dict[str, pulumi.Output[str]]:
        """Subnets of one tier, each in its zone and on its route table."""
        ids: dict[str, pulumi.Output[str]] = {}
        for zone, cidr_block in ranges.items():
            name = f"{self._prefix}-{tier}-{zone}"
            subnet = aws.ec2.Subnet(
                name,
                vpc_id=self.vpc_id,
                availability_zone=zone,
                cidr_block=cidr_block,
                ipv6_cidr_block=self._ipv6_range(zone, tier),
                assign_ipv6_address_on_creation=self._args.ipv6 or None,
                tags=self._subnet_tags(name, tier),
                opts=pulumi.ResourceOptions(parent=self, depends_on=after),
            )
            association = aws.ec2.RouteTableAssociation(
                name, subnet_id=subnet.id, route_table_id=tables[zone].id, opts=self._own
            )
            ids[zone] = outputs.once(subnet.id, association.id)
        return ids

    def _ipv6_range(self, zone: str, tier: Tier) -> pulumi.Output[str] | None:
        if not self._args.ipv6:
            return None
        index = self._args.zones.index(zone)
        return self._vpc.ipv6_cidr_block.apply(
            lambda range_: subnets.ipv6_subnet(range_, index, tier)
        )

    def _subnet_tags(self, name: str, tier: Tier) -> dict[str, str]:
        match tier:
            case Tier.PRIVATE:
                return tags.private_subnet(name, self._args.cluster_name, self._args.tags)
            case Tier.PUBLIC:
                return tags.public_subnet(name, self._args.tags)
            case Tier.PODS:
                return tags.pod_subnet(name, self._args.tags)
            case Tier.INTRA:
                return tags.named(name, self._args.tags)

    def _ways_out(
        self, public: dict[str, pulumi.Output[str]], tables: dict[str, "aws.ec2.RouteTable"]
    ) -> dict[str, list[pulumi.Output[str]]]:
        """Ids of the routes by which each zone's private subnets leave the VPC."""
        routes: dict[str, list[pulumi.Output[str]]] = {zone: [] for zone in tables}
        for zone, gateway in self._nat_gateways(public).items():
            route = self._route(
                f"private-{zone}", tables[zone], nat_gateway_id=gateway.id, **_EVERYWHERE
            )
            routes[zone].append(route.id)
        if self._args.ipv6:
            outward = aws.ec2.EgressOnlyInternetGateway(
                self._prefix,
                vpc_id=self.vpc_id,
                tags=tags.named(self._prefix, self._args.tags),
                opts=self._own,
            )
            for zone, table in tables.items():
                route = self._route(
                    f"private-{zone}-ipv6",
                    table,
                    egress_only_gateway_id=outward.id,
                    **_EVERYWHERE_V6,
                )
                routes[zone].append(route.id)
        return routes

    def _nat_gateways(
        self, public: dict[str, pulumi.Output[str]]
    ) -> dict[str, "aws.ec2.NatGateway"]:
        """The NAT gateway that each zone goes through; empty when it goes through none."""
        zones = self._args.zones
        if self._args.nat_gateways is NatGateways.REGIONAL:
            name = f"{self._prefix}-nat"
            gateway = aws.ec2.NatGateway(
                name,
                vpc_id=self.vpc_id,
                availability_mode="regional",
                connectivity_type="public",
                tags=tags.named(name, self._args.tags),
                # It finds its way out by the VPC's internet gateway.
                opts=pulumi.ResourceOptions(
                    parent=self, depends_on=outputs.before(*public.values())
                ),
            )
            return dict.fromkeys(zones, gateway)
        placement = subnets.nat_zones(self._args.nat_gateways, zones)
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

    def _endpoints(
        self, tables: list["aws.ec2.RouteTable"], subnet_ids: list[pulumi.Output[str]]
    ) -> list[pulumi.Output[str]]:
        """The endpoints that were asked for, in the subnets given."""
        args = self._args
        wanted = vpc_endpoints.services(args.endpoints, args.more_endpoints)
        if not any(wanted.values()):
            return []
        ranges = [args.cidr_block, args.pod_cidr_block]
        made = VpcEndpoints(
            self._prefix,
            VpcEndpointsArgs(
                vpc_id=self.vpc_id,
                region=args.region,
                cidr_blocks=[cidr for cidr in ranges if cidr],
                route_table_ids=[table.id for table in tables],
                subnet_ids=[*subnet_ids],
                gateway_services=wanted["gateway"],
                interface_services=wanted["interface"],
                tags=args.tags,
            ),
            self._own,
        )
        return made.endpoint_ids

    def _flow_logs(self) -> None:
        """The log of the VPC's traffic, where one was asked for."""
        args = self._args
        if not args.flow_log_days:
            return
        FlowLogs(
            self._prefix,
            FlowLogsArgs(
                vpc_id=self.vpc_id,
                cluster_name=args.cluster_name,
                region=args.region,
                retention_days=args.flow_log_days,
                tags=args.tags,
            ),
            self._own,
        )

    def _route(
        self, kind: str, table: "aws.ec2.RouteTable", **route: pulumi.Input[str]
    ) -> "aws.ec2.Route":
        """One route of a table."""
        return aws.ec2.Route(
            f"{self._prefix}-{kind}", route_table_id=table.id, opts=self._own, **route
        )

    def _route_table(self, kind: str) -> "aws.ec2.RouteTable":
        """A route table without routes."""
        name = f"{self._prefix}-{kind}"
        return aws.ec2.RouteTable(
            name, vpc_id=self.vpc_id, tags=tags.named(name, self._args.tags), opts=self._own
        )
