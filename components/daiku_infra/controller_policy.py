"""ControllerPolicy: the managed policies that say what a cluster's controller may do in AWS."""

from dataclasses import dataclass

import pulumi

from daiku_infra import controller_statements, naming, policies
from daiku_infra.cluster_ref import ClusterRef
from daiku_infra.controller_statements import PolicyName
from daiku_infra.providers import aws


@dataclass(frozen=True, slots=True, kw_only=True)
class ControllerPolicyArgs:
    """What a ControllerPolicy is made from."""

    cluster: ClusterRef
    """The cluster whose nodes it is about."""
    node_role_arn: pulumi.Input[str]
    """The one role that it may hand to instances."""
    queue_arn: pulumi.Input[str]
    """The one queue that it may read."""


class ControllerPolicy(pulumi.ComponentResource):
    """What a controller may do, scoped by the tags of its cluster."""

    policy_arns: list[pulumi.Output[str]]
    """ARNs of the managed policies."""

    def __init__(
        self, name: str, args: ControllerPolicyArgs, opts: pulumi.ResourceOptions | None = None
    ) -> None:
        """Register the policies."""
        super().__init__("daiku:index:ControllerPolicy", name, None, opts)
        cluster = args.cluster
        documents = pulumi.Output.all(args.node_role_arn, args.queue_arn).apply(
            lambda known: controller_statements.controller_documents(
                controller_statements.Scope(
                    partition=cluster.partition,
                    region=cluster.region,
                    account=cluster.account_id,
                    cluster=cluster.name,
                    node_role_arn=known[0],
                    queue_arn=known[1],
                )
            )
        )
        self.policy_arns = [
            aws.iam.Policy(
                f"{name}-{purpose}",
                name=naming.policy(cluster.name, cluster.region, f"controller-{purpose}"),
                policy=documents.apply(lambda known, key=purpose: policies.managed(known[key])),
                tags=cluster.tags,
                opts=pulumi.ResourceOptions(parent=self),
            ).arn
            for purpose in PolicyName
        ]
        self.register_outputs({"policyArns": self.policy_arns})
