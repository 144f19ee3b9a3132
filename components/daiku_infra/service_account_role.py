"""ServiceAccountRole: a role that exactly one ServiceAccount may assume.

Two ways lead there, and one argument chooses. With IRSA the pod's token is shown to AWS, and the
trust policy compares its subject and audience for equality: with a pattern, or without the audience,
any pod that may create tokens could be somebody else. With Pod Identity an agent on the node vouches
for the pod, EKS keeps the association, and the trust policy compares the session's tags.
"""

from dataclasses import dataclass, field
from enum import StrEnum

import pulumi

from daiku_infra import naming, outputs, policies, roles
from daiku_infra.cluster_ref import ClusterRef
from daiku_infra.providers import aws


class Identity(StrEnum):
    """How a pod comes to its role."""

    IRSA = "irsa"
    """By its ServiceAccount's token and the cluster's OIDC provider. Works everywhere."""
    POD_IDENTITY = "podIdentity"
    """By EKS' agent, an add-on that must be on the node. Not on Fargate and Windows."""


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
    identity: Identity = Identity.IRSA
    """How the pod comes to the role."""
    associate: bool = True
    """Make the Pod Identity association; not for an add-on of EKS, which makes its own."""


class ServiceAccountRole(pulumi.ComponentResource):
    """A role for one ServiceAccount."""

    role_arn: pulumi.Output[str]
    """ARN of the role, known once it has its policies and the ServiceAccount can have it."""

    def __init__(
        self, name: str, args: ServiceAccountRoleArgs, opts: pulumi.ResourceOptions | None = None
    ) -> None:
        """Register the role's resources."""
        super().__init__("daiku:index:ServiceAccountRole", name, None, opts)
        cluster = args.cluster
        purpose = f"{args.namespace}-{args.service_account}"
        role = roles.AttachedRole(
            name,
            role_name=naming.role(cluster.name, cluster.region, purpose),
            trust=_trust(args),
            policy_arns=args.policy_arns,
            role_tags=cluster.tags,
            parent=self,
        )
        self.role_arn = role.arn
        if args.identity is Identity.POD_IDENTITY and args.associate:
            association = aws.eks.PodIdentityAssociation(
                name,
                cluster_name=cluster.existing_name,
                namespace=args.namespace,
                service_account=args.service_account,
                role_arn=role.arn,
                tags=cluster.tags,
                opts=pulumi.ResourceOptions(parent=self),
            )
            self.role_arn = outputs.once(role.arn, association.id)
        self.register_outputs({"roleArn": self.role_arn})


def _trust(args: ServiceAccountRoleArgs) -> pulumi.Input[str]:
    """Who may assume the role, as JSON."""
    cluster = args.cluster
    if args.identity is Identity.POD_IDENTITY:
        return policies.render(
            policies.pod_identity_trust(
                cluster=cluster.name,
                namespace=args.namespace,
                service_account=args.service_account,
            )
        )
    return pulumi.Output.all(cluster.oidc_provider_arn, cluster.oidc_issuer).apply(
        lambda known: policies.render(
            policies.service_account_trust(
                provider_arn=known[0],
                issuer=known[1],
                namespace=args.namespace,
                service_account=args.service_account,
            )
        )
    )
