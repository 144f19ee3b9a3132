"""Nodes of static NodePools that a forecast counts on although they are not there yet.

A NodePool with `replicas` gets its nodes whatever pods ask for. Which of the types that it allows each will be is the
cloud's choice; here it is the one that costs the least.
"""

from collections.abc import Sequence

from daiku.events import Object
from daiku.model import labels, resources
from daiku.model.condition import Condition
from daiku.model.instance_type import Catalogue, InstanceType, Offering
from daiku.model.meta import Meta
from daiku.model.node import Node
from daiku.model.nodepool import NodePool
from daiku.provisioning import static
from daiku.scheduling import offers
from daiku.scheduling.problem import template_requirements
from daiku.settings import Settings


def missing(
    objects: Sequence[Object], catalogue: Catalogue, settings: Settings, notes: list[str]
) -> dict[str, tuple[Node, float]]:
    """The nodes that static NodePools lack: name -> node and its price in USD per hour.

    Args:
        objects: Everything that there is.
        catalogue: What can be bought.
        settings: How the controller is set up: without the gate StaticCapacity there will be no such nodes.
        notes: Takes a line for each pool whose nodes cannot be had.
    """
    if not settings.is_on(static.GATE):
        return {}
    there: dict[str, int] = {}
    for each in objects:
        if isinstance(each, Node):
            pool = each.meta.labels.get(labels.NODEPOOL, "")
            there[pool] = there.get(pool, 0) + 1
    found: dict[str, tuple[Node, float]] = {}
    for pool in objects:
        if not isinstance(pool, NodePool) or pool.replicas is None or pool.invalid:
            continue
        most = (pool.limits or {}).get(resources.NODES, pool.replicas)
        wanted = min(pool.replicas, most) - there.get(pool.meta.name, 0)
        bought = _cheapest(pool, catalogue) if wanted > 0 else None
        if bought is not None:
            for number in range(wanted):
                name = f"{pool.meta.name}-static-{number}"
                found[name] = _node(pool, name, *bought), bought[1].price_usd_per_hour
        elif wanted > 0:
            notes.append(f"NodePool {pool.meta.name}: nothing that it allows can be bought")
    return found


def _cheapest(pool: NodePool, catalogue: Catalogue) -> tuple[InstanceType, Offering] | None:
    asked = template_requirements(pool)
    types = catalogue.instance_types.get(pool.template.node_class, ())
    found = [o for o in offers.that_would_do(types, asked) if o[1].available]
    return min(found, key=lambda o: (o[1].price_usd_per_hour, o[0].name, o[1].zone), default=None)


def _node(pool: NodePool, name: str, bought: InstanceType, offering: Offering) -> Node:
    known = (
        bought.requirements & offering.requirements & template_requirements(pool)
    ).single_values()
    return Node(
        meta=Meta(
            name=name,
            labels={
                **known,
                **pool.template.labels,
                labels.ZONE: offering.zone,
                labels.CAPACITY_TYPE: offering.capacity_type,
                labels.HOSTNAME: name,
                labels.REGISTERED: "true",
                labels.INITIALIZED: "true",
            },
        ),
        taints=pool.template.taints,
        capacity=bought.capacity,
        allocatable=bought.allocatable,
        conditions=(Condition(type="Ready", status="True"),),
    )
