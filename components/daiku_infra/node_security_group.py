"""NodeSecurityGroup: a security group for nodes alone, with rules that say who may reach what.

The group that EKS makes for a cluster lets everything in it reach everything in it, control plane included.
That is enough for most. Where nodes are to be told apart from the control plane, this is the group of the
nodes, and the one that carries the discovery tag: nodes reach each other, the control plane reaches the
kubelet, metrics-server and webhooks, nodes reach the API server, and nothing else comes in.

Source: the ports that terraform-aws-eks and the controllers' own manuals name.
"""

from dataclasses import dataclass, field

import pulumi

from daiku_infra import naming, outputs, tags
from daiku_infra.providers import aws

CONTROL_PLANE_PORTS = {
    443: "webhooks and aggregated APIs",
    4443: "metrics-server of its own chart",
    6443: "prometheus-adapter",
    8443: "webhooks on their usual port",
    9443: "webhooks of controllers such as the load balancers'",
    10250: "kubelet: logs, exec, metrics",
    10251: "metrics-server as an add-on of EKS",
}
"""TCP ports of nodes and pods that the control plane connects to, and why."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeSecurityGroupArgs:
    """What a NodeSecurityGroup is made from."""

    cluster_name: str
    """The cluster whose node classes find it by tag."""
    vpc_id: pulumi.Input[str]
    """The VPC it is in."""
    cluster_security_group_id: pulumi.Input[str]
    """The group that EKS made for the control plane."""
    webhook_ports: list[int] = field(default_factory=list[int])
    """Further TCP ports that the control plane connects to."""
    tags: dict[str, str] = field(default_factory=dict[str, str])
    """Tags that every resource carries."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeSecurityArgs:
    """Which security groups nodes are in."""

    own: bool = False
    """A group of the nodes' own, instead of the one that they share with the control plane."""
    webhook_ports: list[int] = field(default_factory=list[int])
    """Further TCP ports of pods that the control plane connects to; for a group of their own."""
    group_ids: list[str] = field(default_factory=list[str])
    """Groups of yours that every node is in as well, by id."""


class NodeSecurityGroup(pulumi.ComponentResource):
    """The security group of the nodes of one cluster."""

    security_group_id: pulumi.Output[str]
    """Its id, once its rules are there."""

    def __init__(
        self, name: str, args: NodeSecurityGroupArgs, opts: pulumi.ResourceOptions | None = None
    ) -> None:
        """Register the group and its rules."""
        super().__init__("daiku:index:NodeSecurityGroup", name, None, opts)
        self._prefix = name
        self._args = args
        self._own = pulumi.ResourceOptions(parent=self)
        named = tags.named(naming.node_security_group(args.cluster_name), args.tags)
        group = aws.ec2.SecurityGroup(
            name,
            name=naming.node_security_group(args.cluster_name),
            description=f"Nodes of the cluster {args.cluster_name}",
            vpc_id=args.vpc_id,
            tags={**named, **tags.discovery(args.cluster_name)},
            opts=self._own,
        )
        ports = {**dict.fromkeys(args.webhook_ports, "webhook"), **CONTROL_PLANE_PORTS}
        rules = [
            self._ingress("nodes", group.id, group.id, "node to node"),
            *(
                self._ingress(
                    f"control-plane-{port}", group.id, args.cluster_security_group_id, what, port
                )
                for port, what in sorted(ports.items())
            ),
            self._ingress(
                "api", args.cluster_security_group_id, group.id, "nodes to the API server", 443
            ),
            *self._egress(group.id),
        ]
        self.security_group_id = outputs.once(group.id, *rules)
        self.register_outputs({"securityGroupId": self.security_group_id})

    def _ingress(
        self,
        suffix: str,
        group: pulumi.Input[str],
        source: pulumi.Input[str],
        why: str,
        port: int | None = None,
    ) -> pulumi.Output[str]:
        """Let one group into another, by one TCP port or by all of everything."""
        return aws.vpc.SecurityGroupIngressRule(
            f"{self._prefix}-{suffix}",
            security_group_id=group,
            referenced_security_group_id=source,
            ip_protocol="tcp" if port else "-1",
            from_port=port,
            to_port=port,
            description=why,
            tags=self._args.tags,
            opts=self._own,
        ).id

    def _egress(self, group: pulumi.Input[str]) -> list[pulumi.Output[str]]:
        """Let nodes out: images, AWS and what pods ask for."""
        everywhere = {"ipv4": ("0.0.0.0/0", None), "ipv6": (None, "::/0")}
        return [
            aws.vpc.SecurityGroupEgressRule(
                f"{self._prefix}-out-{family}",
                security_group_id=group,
                ip_protocol="-1",
                cidr_ipv4=ipv4,
                cidr_ipv6=ipv6,
                description="anywhere",
                tags=self._args.tags,
                opts=self._own,
            ).id
            for family, (ipv4, ipv6) in everywhere.items()
        ]
