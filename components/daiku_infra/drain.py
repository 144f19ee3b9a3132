"""Drain: goes first on destroy, and takes with it what is in nobody's state: the nodes.

Nodes are made by the controller, so no state file knows them. Were the controller or the cluster
deleted under them, they would run and be billed for ever, and their interfaces would hold the VPC.
This resource makes nothing. Its deletion, which needs no program to run, empties the NodePools, waits,
and then removes whatever still carries the cluster's tags. What it does is in draining.py.
"""

from dataclasses import dataclass

import pulumi
from pulumi import dynamic

from daiku_infra import rbac
from daiku_infra.cluster_ref import ClusterRef
from daiku_infra.drain_provider import DrainProvider


@dataclass(frozen=True, slots=True, kw_only=True)
class DrainArgs:
    """What a Drain is made from."""

    cluster: ClusterRef
    """The cluster whose nodes go."""
    before: list[pulumi.Input[str]]
    """Names of its NodePools, from NodePools.names: all that stands behind them outlives this."""
    deadline_minutes: int = 15
    """How long pods are given to leave, before nodes are taken by force."""
    namespace: str = "kube-system"
    """Namespace of the controller, whose Lease tells whether it lives."""
    aws_profile: str | None = None
    """Profile of the AWS configuration to use; that of the environment when absent."""


class Drain(dynamic.Resource):
    """The end of a cluster's nodes. It has no outputs."""

    def __init__(
        self, name: str, args: DrainArgs, opts: pulumi.ResourceOptions | None = None
    ) -> None:
        """Register it."""
        cluster = args.cluster
        super().__init__(
            DrainProvider(),
            name,
            {
                "cluster": cluster.name,
                "region": cluster.region,
                "kubeconfig": cluster.kubeconfig,
                "node_pools": args.before,
                "deadline_seconds": args.deadline_minutes * 60,
                "namespace": args.namespace,
                "lease": rbac.LEASE,
                "aws_profile": args.aws_profile or "",
            },
            pulumi.ResourceOptions.merge(
                opts,
                pulumi.ResourceOptions(
                    additional_secret_outputs=["kubeconfig"],
                    custom_timeouts=pulumi.CustomTimeouts(delete=f"{args.deadline_minutes + 20}m"),
                ),
            ),
        )
