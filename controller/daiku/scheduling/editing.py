"""A problem asked again with other pods and fewer nodes, without building it anew.

The arrays of a problem are made once for all pods that may ever be asked about. An edit takes the classes of the pods
in question out of them, closes some nodes to all pods, and takes off what those nodes counted for.

Letters in shapes: C pod classes, N existing nodes.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from daiku.scheduling.classes import Counted
from daiku.scheduling.problem import Problem
from daiku.scheduling.topology import counts


def edited(
    whole: Problem,
    pods: Mapping[int, tuple[str, ...]],
    *,
    closed: NDArray[np.intp],
    gone: Sequence[int],
) -> Problem:
    """`whole` with only `pods` to be placed.

    Args:
        whole: The problem of all pods, whose nodes are as if each of those that run stayed.
        pods: Class, as it is before it gives up preferences -> its pods to be placed, in order.
        closed: Indices of existing nodes that take no pod.
        gone: Positions in `Snapshot.state_nodes` of nodes that are as if they had never been.
    """
    chosen = np.flatnonzero(np.isin(whole.origin, np.array(sorted(pods), dtype=np.int64)))
    place = np.full(len(whole.origin) + 1, -1, dtype=np.int64)
    place[chosen] = np.arange(len(chosen))
    origins = whole.origin[chosen].tolist()
    rows: list[int] = chosen.tolist()
    hostable = whole.nodes.hostable[chosen]
    hostable[:, closed] = False
    topology = whole.topology
    if topology is not None:
        topology = replace(
            counts.without(topology, gone),
            rules=tuple(topology.rules[row] for row in rows),
            host_rules=tuple(topology.host_rules[row] for row in rows),
        )
    return replace(
        whole,
        counted=tuple(
            Counted(pod_class=whole.counted[row].pod_class, pods=pods[origin])
            for row, origin in zip(rows, origins, strict=True)
        ),
        requests=np.ascontiguousarray(whole.requests[:, chosen]),
        counts=np.array(
            [len(pods[o]) if o == row else 0 for row, o in zip(rows, origins, strict=True)],
            dtype=np.int64,
        ),
        nodes=replace(whole.nodes, hostable=hostable),
        templates=tuple(
            replace(template, hostings=tuple(template.hostings[row] for row in rows))
            for template in whole.templates
        ),
        origin=place[whole.origin[chosen]],
        relaxed=place[whole.relaxed[chosen]],
        topology=topology,
    )
