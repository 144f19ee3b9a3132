"""ExistingVpc: a network that somebody else made, marked so that node classes find its subnets.

Nothing of it is made or removed here but the discovery tags of the subnets that nodes may be in.
"""

from dataclasses import dataclass, field

import pulumi

from daiku_infra import outputs, tags
from daiku_infra.providers import aws


@dataclass(frozen=True, slots=True, kw_only=True)
class ExistingVpcArgs:
    """What an ExistingVpc is made from."""

    vpc_id: str
    """Id of the VPC."""
    private_subnet_ids: list[str]
    """Subnets of nodes, in at least two zones. Plain: each one is tagged by a resource of its own."""
    public_subnet_ids: list[str] = field(default_factory=list[str])
    """Subnets of internet-facing load balancers."""
    intra_subnet_ids: list[str] = field(default_factory=list[str])
    """Subnets of the control plane; the private ones serve as well."""
    cluster_name: str
    """The cluster whose node classes find the private subnets by tag."""


class ExistingVpc(pulumi.ComponentResource):
    """A network for one cluster, of which only tags are ours."""

    vpc_id: pulumi.Output[str]
    """Id of the VPC."""
    private_subnet_ids: list[pulumi.Output[str]]
    """Ids of the private subnets, each known once node classes find it."""
    public_subnet_ids: list[pulumi.Output[str]]
    """Ids of the public subnets."""
    intra_subnet_ids: list[pulumi.Output[str]]
    """Ids of the control plane's subnets."""

    def __init__(
        self, name: str, args: ExistingVpcArgs, opts: pulumi.ResourceOptions | None = None
    ) -> None:
        """Register the tags."""
        super().__init__("daiku:index:ExistingVpc", name, None, opts)
        self.vpc_id = pulumi.Output.from_input(args.vpc_id)
        self.private_subnet_ids = [
            outputs.once(
                subnet,
                aws.ec2.Tag(
                    f"{name}-{subnet}",
                    resource_id=subnet,
                    key=tags.DISCOVERY,
                    value=args.cluster_name,
                    opts=pulumi.ResourceOptions(parent=self),
                ).id,
            )
            for subnet in args.private_subnet_ids
        ]
        self.public_subnet_ids = [pulumi.Output.from_input(i) for i in args.public_subnet_ids]
        self.intra_subnet_ids = [pulumi.Output.from_input(i) for i in args.intra_subnet_ids]
        self.register_outputs(
            {
                "vpcId": self.vpc_id,
                "privateSubnetIds": self.private_subnet_ids,
                "publicSubnetIds": self.public_subnet_ids,
                "intraSubnetIds": self.intra_subnet_ids,
            }
        )
