"""The part of a stack file that is about the network: a VPC to make, or one to use. No Pulumi in here."""

import ipaddress
from dataclasses import dataclass

from daiku_infra import subnets
from daiku_infra.existing_vpc import ExistingVpcArgs
from daiku_infra.reading import Section
from daiku_infra.subnets import NatGateways
from daiku_infra.vpc import VpcArgs
from daiku_infra.vpc_endpoints import Endpoints

RETENTION_DAYS = (
    1, 3, 5, 7, 14, 30, 60, 90, 120, 150, 180, 365, 400, 545, 731, 1096, 1827, 2192, 2557, 2922,
    3288, 3653,
)  # fmt: skip
"""How long CloudWatch can keep logs."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Network:
    """One of the two is given."""

    vpc: VpcArgs | None
    """The VPC to make."""
    existing: ExistingVpcArgs | None
    """The VPC to use."""


def read(
    section: Section, *, region: str, cluster_name: str, common_tags: dict[str, str]
) -> Network:
    """Read the network, and note what is wrong with it.

    Args:
        section: The whole configuration.
        region: AWS region of the stack.
        cluster_name: Its cluster.
        common_tags: Tags that everything carries.
    """
    vpc = VpcArgs(
        region=region,
        cluster_name=cluster_name,
        tags=common_tags,
        zones=section.texts(
            "zones", pattern=rf"{region or '.+'}[a-z]", example="us-west-2a, us-west-2b"
        ),
        cidr_block=section.text("vpcCidr", default="10.0.0.0/16", example="10.0.0.0/16"),
        pod_cidr_block=section.text("podCidr", default="", example="100.64.0.0/16") or None,
        nat_gateways=NatGateways(
            section.choice(
                "natGateways",
                default=NatGateways.SINGLE,
                options=[option.value for option in NatGateways],
            )
        ),
        intra_subnets=section.flag("intraSubnets", default=False),
        ipv6=section.flag("ipv6", default=False),
        endpoints=Endpoints(
            section.choice(
                "vpcEndpoints",
                default=Endpoints.S3,
                options=[option.value for option in Endpoints],
            )
        ),
        more_endpoints=section.texts(
            "moreVpcEndpoints", pattern=r"[a-z0-9.-]+", example="secretsmanager, autoscaling"
        ),
        flow_log_days=retention(section, "flowLogDays", default=0, or_none=True),
    )
    if (existing := _existing(section, cluster_name)) is not None:
        if vpc.zones or vpc.pod_cidr_block:
            section.note("existingVpc", "a VPC is either used or made: leave out zones and podCidr")
        return Network(vpc=None, existing=existing)
    _check(section, vpc)
    return Network(vpc=vpc, existing=None)


def ranges(section: Section, key: str) -> list[str]:
    """Read a list of IPv4 ranges."""
    found = section.texts(key, example="203.0.113.0/24")
    for cidr in found:
        try:
            ipaddress.IPv4Network(cidr)
        except ValueError as error:
            section.note(key, f"{cidr!r} is not an IPv4 range ({error})")
    return found


def retention(section: Section, key: str, *, default: int, or_none: bool = False) -> int:
    """Read a number of days that CloudWatch takes; 0 for none where that is allowed."""
    days = section.whole(key, default=default, low=0, high=RETENTION_DAYS[-1])
    if days not in RETENTION_DAYS and not (days == 0 and or_none):
        allowed = ", ".join(map(str, ((0,) if or_none else ()) + RETENTION_DAYS))
        section.note(key, f"CloudWatch cannot keep logs for {days} days; write one of {allowed}")
    return days


def _existing(section: Section, cluster_name: str) -> ExistingVpcArgs | None:
    """The VPC to use, where one is named."""
    if not section.mapping("existingVpc"):
        return None

    def read_it(inner: Section) -> ExistingVpcArgs:
        def subnet_ids(key: str) -> list[str]:
            return inner.texts(key, pattern=r"subnet-[0-9a-f]+", example="subnet-0123456789abcdef0")

        private = subnet_ids("privateSubnetIds")
        if len(private) < 2:
            inner.note(
                "privateSubnetIds",
                f"an EKS cluster spans at least 2 zones, and {len(private)} subnets are listed",
            )
        return ExistingVpcArgs(
            vpc_id=inner.text("vpcId", pattern=r"vpc-[0-9a-f]+", example="vpc-0123456789abcdef0"),
            private_subnet_ids=private,
            public_subnet_ids=subnet_ids("publicSubnetIds"),
            intra_subnet_ids=subnet_ids("intraSubnetIds"),
            cluster_name=cluster_name,
        )

    return section.section("existingVpc", read_it)


def _check(section: Section, vpc: VpcArgs) -> None:
    """Zones and ranges must be divisible, EKS wants two zones, and nodes must reach AWS."""
    if len(vpc.zones) < 2:
        section.note(
            "zones",
            f"an EKS cluster spans at least 2 zones, and {len(vpc.zones)} are listed; "
            f"write a list such as [{vpc.region}a, {vpc.region}b]",
        )
    else:
        try:
            subnets.divide(vpc.cidr_block, vpc.zones, vpc.pod_cidr_block)
        except subnets.AddressPlanError as error:
            section.note("vpcCidr", str(error))
    if vpc.nat_gateways is NatGateways.NONE and vpc.endpoints is not Endpoints.PRIVATE:
        section.note(
            "natGateways",
            "without NAT gateways nodes reach neither EKS nor ECR: set vpcEndpoints to private, or "
            "natGateways to single",
        )
