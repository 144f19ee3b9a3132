"""The two security groups of `eks:index:Cluster`: one of the control plane, one of nodes."""

# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false
# pyright: reportUnknownArgumentType=false, reportUnknownLambdaType=false

from typing import Any

import pulumi
import pulumi_aws as aws

_ANYWHERE = ["0.0.0.0/0"]


class SecurityGroups:
    """Groups and rules by which control plane and nodes reach each other."""

    cluster: Any
    """The control plane's group: an output or a resource."""
    nodes: aws.ec2.SecurityGroup
    """The nodes' group, made by `open_to`."""
    ingress_rule: aws.ec2.SecurityGroupRule
    """Lets nodes reach the API server, made by `open_to`."""

    def __init__(self, name: str, given: dict[str, Any], parent: pulumi.Resource) -> None:
        self._name = name
        self._given = given
        self._own = pulumi.ResourceOptions(parent=parent)
        if given.get("clusterSecurityGroup"):
            self.cluster = pulumi.Output.from_input(given["clusterSecurityGroup"])
            return
        self.cluster = self._group("eksClusterSecurityGroup", "clusterSecurityGroupTags", {})
        self._rule(
            "eksClusterInternetEgressRule",
            self.cluster,
            type="egress",
            protocol="-1",
            from_port=0,
            to_port=0,
            cidr_blocks=_ANYWHERE,
            description="Allow internet access.",
        )

    def _group(self, suffix: str, tags_input: str, more: Any) -> aws.ec2.SecurityGroup:
        name = f"{self._name}-{suffix}"
        given = pulumi.Output.all(
            self._given.get("tags") or {}, self._given.get(tags_input) or {}, more
        )
        return aws.ec2.SecurityGroup(
            name,
            vpc_id=self._given.get("vpcId"),
            revoke_rules_on_delete=True,
            tags=given.apply(lambda all_: {"Name": name, **all_[0], **all_[2], **all_[1]}),
            opts=self._own,
        )

    def _rule(self, suffix: str, group: Any, /, **rule: Any) -> aws.ec2.SecurityGroupRule:
        return aws.ec2.SecurityGroupRule(
            f"{self._name}-{suffix}", security_group_id=group.id, opts=self._own, **rule
        )

    def open_to(self, cluster: aws.eks.Cluster) -> None:
        """Make the nodes' group and the rules between it and the control plane."""
        owned = cluster.name.apply(lambda name: {f"kubernetes.io/cluster/{name}": "owned"})
        self.nodes = self._group("nodeSecurityGroup", "nodeSecurityGroupTags", owned)
        self.ingress_rule = self._rule(
            "eksClusterIngressRule",
            self.cluster,
            type="ingress",
            protocol="tcp",
            from_port=443,
            to_port=443,
            source_security_group_id=self.nodes.id,
            description="Allow pods to communicate with the cluster API Server",
        )
        self._rule(
            "eksNodeIngressRule",
            self.nodes,
            type="ingress",
            protocol="-1",
            from_port=0,
            to_port=0,
            self=True,
            description="Allow nodes to communicate with each other",
        )
        for suffix, first, last in (
            ("eksNodeClusterIngressRule", 1025, 65535),
            ("eksExtApiServerClusterIngressRule", 443, 443),
        ):
            self._rule(
                suffix,
                self.nodes,
                type="ingress",
                protocol="tcp",
                from_port=first,
                to_port=last,
                source_security_group_id=self.cluster.id,
                description="Allow the control plane to reach kubelets and pods",
            )
        self._rule(
            "eksNodeInternetEgressRule",
            self.nodes,
            type="egress",
            protocol="-1",
            from_port=0,
            to_port=0,
            cidr_blocks=_ANYWHERE,
            description="Allow internet access.",
        )
