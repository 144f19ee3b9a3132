"""NodePools: which nodes this stack wants, as NodePool and EC2NodeClass objects.

On destroy a NodePool is gone only when its last node is, then its node class goes, then the
controller that drained them.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, cast

import pulumi

from daiku_infra import manifests, node_pool_rules, objects, outputs
from daiku_infra.api_types import NodeClassSpec, NodePoolSpec
from daiku_infra.cluster_ref import ClusterRef

READY_TIMEOUT = "2m"
"""How long an update waits for the controller to say that it can use a node class or NodePool."""
DRAIN_TIMEOUT = "30m"
"""How long a destroy waits for the nodes of one NodePool to be drained and terminated."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeClassArgs:
    """One EC2NodeClass."""

    name: str
    """Its name."""
    spec: NodeClassSpec
    """Its spec, in the words of the API. Selector terms and the instance profile may be absent."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NodePoolArgs:
    """One NodePool."""

    name: str
    """Its name."""
    spec: NodePoolSpec
    """Its spec, in the words of the API."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NodePoolsArgs:
    """What NodePools are made from."""

    cluster: ClusterRef
    """The cluster. The Kubernetes provider is given in the options."""
    controller: pulumi.Input[str]
    """The controller that keeps them: Autoscaler.controller. They go before it."""
    instance_profile_name: pulumi.Input[str]
    """Instance profile of node classes that name neither a profile nor a role."""
    node_classes: list[NodeClassArgs]
    """How nodes are made."""
    node_pools: list[NodePoolArgs]
    """Which nodes there may be."""


class NodePoolsError(pulumi.RunError):
    """The API would refuse what is asked for; the message lists every mistake in it."""


class NodePools(pulumi.ComponentResource):
    """The NodePools of a stack."""

    names: list[pulumi.Output[str]]
    """Names of the NodePools."""

    def __init__(
        self, name: str, args: NodePoolsArgs, opts: pulumi.ResourceOptions | None = None
    ) -> None:
        """See that the API takes the objects, then register them."""
        if mistakes := "\n".join(f"  - {place}: {problem}" for place, problem in _mistakes(args)):
            raise NodePoolsError(
                f"the NodePools of {args.cluster.name} cannot be made:\n{mistakes}"
            )
        super().__init__("daiku:index:NodePools", name, None, opts)
        after_controller = outputs.before(args.controller, args.cluster.security_group_id)
        timeouts = pulumi.CustomTimeouts(
            create=READY_TIMEOUT, update=READY_TIMEOUT, delete=DRAIN_TIMEOUT
        )
        classes = [
            objects.KubernetesObject(
                f"{name}-class-{node_class.name}",
                manifests.node_class(
                    node_class.name,
                    cast("dict[str, Any]", node_class.spec),
                    cluster=args.cluster.name,
                    profile=args.instance_profile_name,
                    common_tags=args.cluster.tags,
                    security_group_ids=args.cluster.node_security_group_ids,
                ),
                pulumi.ResourceOptions(
                    parent=self, depends_on=after_controller, custom_timeouts=timeouts
                ),
            )
            for node_class in args.node_classes
        ]
        pools = [
            objects.KubernetesObject(
                f"{name}-pool-{pool.name}",
                manifests.node_pool(pool.name, cast("dict[str, Any]", pool.spec)),
                pulumi.ResourceOptions(
                    parent=self,
                    depends_on=[*classes, *after_controller],
                    custom_timeouts=timeouts,
                ),
            )
            for pool in args.node_pools
        ]
        self.names = [pool.metadata["name"] for pool in pools]
        self.register_outputs({"names": self.names})


def _mistakes(args: NodePoolsArgs) -> Iterator[tuple[str, str]]:
    """What the API would refuse. A NodePool may refer to a node class that somebody else makes."""
    for node_class in args.node_classes:
        for place, problem in node_pool_rules.problems_of_class(node_class.spec):
            yield f"node class {node_class.name}: {place}", problem
    for pool in args.node_pools:
        for place, problem in node_pool_rules.problems_of_pool(pool.spec):
            yield f"NodePool {pool.name}: {place}", problem
