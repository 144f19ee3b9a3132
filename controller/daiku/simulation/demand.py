"""From a few words about a workload to its pods over time: daily curves, chance arrivals, batches.

Chance is drawn from the seed and the workload's name, so that another workload, or another configuration, changes
nothing of it.
"""

import math
import random
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from daiku.model.pod import Pod
from daiku.simulation.scenario import DAY, Arrival

SCALES_SECONDS: Final = 300.0
"""How often a service is scaled along its curve."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Curve:
    """A number that rises and falls once a day, as a cosine."""

    low: float
    high: float
    peak: float = 14 * 3600.0
    """Second of the day at which it is highest."""

    def at(self, second_of_day: float) -> float:
        """Its value."""
        swing = (1 + math.cos((second_of_day - self.peak) / DAY * 2 * math.pi)) / 2
        return self.low + (self.high - self.low) * swing


@dataclass(frozen=True, slots=True, kw_only=True)
class Lifetime:
    """How long pods work."""

    mean: float
    """Seconds."""
    varies: bool
    """Drawn from an exponential distribution; otherwise always the same."""

    def draw(self, chance: random.Random) -> float:
        """Seconds of one pod, at least one."""
        return max(1.0, chance.expovariate(1 / self.mean) if self.varies else self.mean)


def scaled(curve: Curve, lasts: float, second_of_day: float) -> tuple[tuple[float, int], ...]:
    """(second, replicas) along a curve, only where it changes.

    Args:
        curve: Replicas over the day.
        lasts: Seconds of the scenario.
        second_of_day: When it begins.
    """
    found: list[tuple[float, int]] = []
    at = 0.0
    while at < lasts:
        replicas = round(curve.at(second_of_day + at))
        if not found or found[-1][1] != replicas:
            found.append((at, replicas))
        at += SCALES_SECONDS
    return tuple(found)


def by_chance(
    name: str,
    templates: Sequence[Pod],
    per_hour: Curve,
    lifetime: Lifetime,
    *,
    lasts: float,
    second_of_day: float,
    seed: int,
) -> list[Arrival]:
    """Pods that come independently of each other (a Poisson process).

    Args:
        name: The workload.
        templates: Each pod is one of these, with equal chance.
        per_hour: How many come on average.
        lifetime: How long each works.
        lasts: Seconds of the scenario.
        second_of_day: When it begins.
        seed: Of the scenario.
    """
    chance = random.Random(f"{seed} {name}")  # noqa: S311  (a seed, not a secret)
    most, at = max(per_hour.low, per_hour.high) / 3600, 0.0
    found: list[Arrival] = []
    while most > 0:
        at += chance.expovariate(most)
        if at >= lasts:
            break
        if chance.random() * most * 3600 <= per_hour.at(second_of_day + at):
            template = chance.choice(templates)
            drawn = lifetime.draw(chance)
            found.append(Arrival(at=at, workload=name, template=template, lasts=drawn))
    return found


def in_batches(
    name: str,
    templates: Sequence[Pod],
    begins: Sequence[float],
    pods: int,
    lifetime: Lifetime,
    *,
    seed: int,
) -> list[Arrival]:
    """Pods that come all at once, again and again: Jobs and CronJobs."""
    chance = random.Random(f"{seed} {name}")  # noqa: S311  (a seed, not a secret)
    return [
        Arrival(
            at=at,
            workload=name,
            template=templates[number % len(templates)],
            lasts=lifetime.draw(chance),
        )
        for at in begins
        for number in range(pods)
    ]
