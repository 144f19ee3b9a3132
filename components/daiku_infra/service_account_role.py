"""ServiceAccountRole: a role that exactly one ServiceAccount may assume (IRSA).

The trust policy compares the token's subject and audience for equality. With a pattern, or without
the audience, any pod that may create tokens could be somebody else.
"""

from dataclasses import dataclass, field

import pulumi

from daiku_infra import naming, policies, roles
from daiku_infra.cluster_ref import ClusterRef


@dataclass(frozen=True, slots=True, kw_only=True)
class ServiceAccountRoleArgs:
    """What a ServiceAccountRole is made from."""

    cluster: ClusterRef
    """The cluster of the ServiceAccount."""
    namespace: str
    """Its namespace."""
    service_account: str
    """Its name."""
    policy_arns: list[pulumi.Input[str]] = field(default_factory=list[pulumi.Input[str]])
    """Managed policies that say what it may do. Plain: their number is known at preview."""


class ServiceAccountRole(pulumi.ComponentResource):
    """A role for one ServiceAccount."""

    role_arn: pulumi.Output[str]
    """ARN of the role, for the annotation eks.amazonaws.com/role-arn; known with all policies attached."""

    def __init__(
        self, name: str, args: ServiceAccountRoleArgs, opts: pulumi.ResourceOptions | None = None
    ) -> None:
        """Register the role's resources."""
        super().__init__("daiku:index:ServiceAccountRole", name, None, opts)
        cluster = args.cluster
        trust = pulumi.Output.all(cluster.oidc_provider_arn, cluster.oidc_issuer).apply(
            lambda known: policies.render(
                policies.service_account_trust(
                    provider_arn=known[0],
                    issuer=known[1],
                    namespace=args.namespace,
                    service_account=args.service_account,
                )
            )
        )
        purpose = f"{args.namespace}-{args.service_account}"
        role = roles.AttachedRole(
            name,
            role_name=naming.role(cluster.name, cluster.region, purpose),
            trust=trust,
            policy_arns=args.policy_arns,
            role_tags=cluster.tags,
            parent=self,
        )
        self.role_arn = role.arn
        self.register_outputs({"roleArn": self.role_arn})
