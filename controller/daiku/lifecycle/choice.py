"""Which of the offerings that would do a launch is given: one capacity type, and not more types than are useful.

Reserved capacity is paid for, so it goes first; spot goes before on-demand, but not where it costs more. What few want,
bare metal and machines with accelerators, is left out as long as anything else would do. The cheapest
types are kept, unless the NodeClaim asks for variety: then as many more kinds as it asks for.

Source: Karpenter AWS, pkg/providers/instance/filter (exotic, spot) and Truncate of its instance types.
"""

from collections.abc import Mapping, Sequence
from typing import Final

from daiku.model import labels
from daiku.model.instance_type import InstanceType, LaunchOption
from daiku.model.requirements import Requirements

_ORDER: Final = (labels.RESERVED, labels.SPOT, labels.ON_DEMAND)
"""Which capacity type is taken when a NodeClaim allows several."""
_ACCELERATORS: Final = (
    "nvidia.com/gpu",
    "amd.com/gpu",
    "habana.ai/gaudi",
    "aws.amazon.com/neuron",
    "aws.amazon.com/neuroncore",
)

Option = tuple[InstanceType, LaunchOption]


def is_exotic(instance_type: InstanceType) -> bool:
    """Whether a type is bare metal or has accelerators."""
    _, _, size = instance_type.name.partition(".")
    return "metal" in size or any(instance_type.capacity.get(r) for r in _ACCELERATORS)


def choose(
    found: Sequence[Option], asked: Requirements, types_most: int, *, strict: bool
) -> tuple[LaunchOption, ...]:
    """What to launch, cheapest first, all of one capacity type; empty when nothing would do.

    Args:
        found: Everything that would do.
        asked: What the NodeClaim asks for, `minValues` included.
        types_most: How many instance types a launch can be given.
        strict: Nothing would do when `minValues` cannot be kept.
    """
    minds_values = any(r.min_values is not None for r in asked)
    plain = [(t, o) for t, o in found if not is_exotic(t)]
    usual = plain if plain and not minds_values else list(found)
    by_type = {c: [(t, o) for t, o in usual if o.capacity_type == c] for c in _ORDER}
    chosen = next((kind for kind in _ORDER if by_type[kind]), None)
    if chosen is None:
        return ()
    kept = by_type[chosen]
    on_demand = min((o.price_usd_per_hour for _, o in by_type[labels.ON_DEMAND]), default=None)
    if chosen == labels.SPOT and on_demand is not None and not minds_values:
        # Spot that costs more than the cheapest on-demand instance that would do is no bargain.
        bargains = [(t, o) for t, o in kept if o.price_usd_per_hour <= on_demand]
        kept = bargains or by_type[labels.ON_DEMAND]
    ordered = sorted(kept, key=lambda each: _rank(each[1]))
    types = list({t.name: t for t, _ in ordered}.values())
    needed = _needed(types, asked)
    if needed is None or len(needed) > types_most:
        if strict:
            return ()
        needed = dict[str, InstanceType]()
    names = dict.fromkeys(needed)
    names |= dict.fromkeys(
        [t.name for t in types if t.name not in names][: types_most - len(names)]
    )
    return tuple(o for _, o in ordered if o.instance_type in names)


def _rank(option: LaunchOption) -> tuple[float, str, str]:
    return option.price_usd_per_hour, option.instance_type, option.zone


def _needed(
    types: Sequence[InstanceType], asked: Requirements
) -> Mapping[str, InstanceType] | None:
    """The cheapest types that together have as many values as each `minValues` asks; None: all together have not."""
    needed: dict[str, InstanceType] = {}
    for requirement in asked:
        if requirement.min_values is None:
            continue
        values = {v for t in needed.values() for v in t.requirements.get(requirement.key).values}
        for instance_type in types:
            if len(values) >= requirement.min_values:
                break
            own = (instance_type.requirements.get(requirement.key) & requirement).values
            if not values.issuperset(own):
                values.update(own)
                needed[instance_type.name] = instance_type
        if len(values) < requirement.min_values:
            return None
    return needed
