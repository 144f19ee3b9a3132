"""One new node of each instance type, filled with pods in several mixes of cpu and memory.

A node is worth most when neither runs out long before the other, and which pods do that depends on the type. So each
type is filled several times, with the room that a pod takes measured by its share of cpu, of memory, or of both.

Letters in shapes: R resources, M classes that may share a node, T instance types, K types times mixes.
"""

from typing import Final

import numpy as np

from daiku.scheduling import columns
from daiku.scheduling.columns import Floats, Ints

MIXES: Final = (0.0, 0.25, 0.5, 0.75, 1.0)
"""Weights of cpu against memory by which pods are preferred."""


def fill(room: Ints, requests: Ints, counts: Ints, values: Floats, axes: tuple[int, int]) -> Ints:
    """Fill one node of each type in each mix, most worth for its room first; pods of each class, shape (M, K).

    Args:
        room: What each type offers, shape (R, T).
        requests: What each class asks for, shape (R, M).
        counts: Pods there are of each class, shape (M,).
        values: What a pod of each class is worth, shape (M,).
        axes: Rows of cpu and memory.
    """
    ways, types = len(MIXES), room.shape[1]
    shares = requests[:, :, None] / np.maximum(room, 1)[:, None, :]
    weight = np.ones((len(room), ways))
    for axis, of_axis in zip(axes, (np.array(MIXES), 1 - np.array(MIXES)), strict=True):
        if axis >= 0:
            weight[axis] = of_axis
    size = np.einsum("rl,rmt->mlt", weight, shares).reshape(requests.shape[1], ways * types)
    order = np.argsort(-values[:, None] / np.maximum(size, 1e-12), axis=0, kind="stable")
    left = np.tile(room, ways)
    filled = np.zeros((requests.shape[1], ways * types), dtype=np.int64)
    every = np.arange(ways * types, dtype=np.intp)
    divisors = np.where(requests > 0, requests, 1)
    free = np.where(requests > 0, 0, columns.AMOUNT_MAX)
    for chosen in order:
        fits = (left // divisors[:, chosen] + free[:, chosen]).min(axis=0)
        taken = np.clip(fits, 0, counts[chosen])
        left -= requests[:, chosen] * taken
        filled[chosen, every] = taken
    return filled
