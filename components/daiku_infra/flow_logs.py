"""FlowLogs: who spoke with whom in a VPC, kept in CloudWatch for some days."""

from dataclasses import dataclass, field

import pulumi

from daiku_infra import naming, policies, tags
from daiku_infra.providers import aws


@dataclass(frozen=True, slots=True, kw_only=True)
class FlowLogsArgs:
    """What FlowLogs are made from."""

    vpc_id: pulumi.Input[str]
    """The VPC whose traffic is logged."""
    cluster_name: str
    """The cluster it is for: names follow from it."""
    region: str
    """Its AWS region."""
    retention_days: int
    """Days to keep, one of those that CloudWatch takes."""
    tags: dict[str, str] = field(default_factory=dict[str, str])
    """Tags that every resource carries."""


class FlowLogs(pulumi.ComponentResource):
    """The log of one VPC."""

    log_group_name: pulumi.Output[str]
    """Name of the log group."""

    def __init__(
        self, name: str, args: FlowLogsArgs, opts: pulumi.ResourceOptions | None = None
    ) -> None:
        """Register the log, its group, and the role that writes to that group alone."""
        super().__init__("daiku:index:FlowLogs", name, None, opts)
        own = pulumi.ResourceOptions(parent=self)
        group = aws.cloudwatch.LogGroup(
            f"{name}-flows",
            name=f"/aws/vpc/{args.cluster_name}/flows",
            retention_in_days=args.retention_days,
            tags=args.tags,
            opts=own,
        )
        role = aws.iam.Role(
            f"{name}-flows",
            name=naming.role(args.cluster_name, args.region, "flow-logs"),
            assume_role_policy=policies.render(
                policies.service_trust("vpc-flow-logs.amazonaws.com")
            ),
            tags=args.tags,
            opts=own,
        )
        rights = aws.iam.RolePolicy(
            f"{name}-flows",
            name="write",
            role=role.name,
            policy=group.arn.apply(lambda arn: policies.render(policies.log_writer(arn))),
            opts=own,
        )
        aws.ec2.FlowLog(
            f"{name}-flows",
            vpc_id=args.vpc_id,
            traffic_type="ALL",
            log_destination_type="cloud-watch-logs",
            log_destination=group.arn,
            iam_role_arn=role.arn,
            max_aggregation_interval=600,
            tags=tags.named(f"{name}-flows", args.tags),
            opts=pulumi.ResourceOptions(parent=self, depends_on=[rights]),
        )
        self.log_group_name = group.name
        self.register_outputs({"logGroupName": self.log_group_name})
