"""Whether enough different instance types are left for a launch to choose from.

Letters in shapes: T instance types.
"""

from collections.abc import Sequence
from typing import Literal

import numpy as np

from daiku.model.instance_type import InstanceType
from daiku.model.requirements import Requirements
from daiku.scheduling.columns import Mask

Policy = Literal["Strict", "BestEffort"]
"""Whether a node is made although fewer values are left than `minValues` asks."""


def minds_min_values(requirements: Requirements) -> bool:
    """Whether any requirement asks for several values."""
    return any(r.min_values is not None for r in requirements)


def keeps_min_values(requirements: Requirements, types: Sequence[InstanceType], kept: Mask) -> bool:
    """Whether the types that are kept differ in as many values as each `minValues` asks.

    Args:
        requirements: What the node has to be.
        types: All types, in the order of T.
        kept: Those that hold its pods, shape (T,).
    """
    for requirement in requirements:
        if requirement.min_values is None:
            continue
        values: dict[str, None] = {}
        for index in map(int, np.flatnonzero(kept)):
            values |= dict.fromkeys(
                (types[index].requirements.get(requirement.key) & requirement).values
            )
        if len(values) < requirement.min_values:
            return False
    return True
