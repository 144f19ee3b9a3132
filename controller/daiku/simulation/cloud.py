"""The simulated cloud: what it sells at which price, which instances run, and what they have cost.

It launches the cheapest option that is not sold out, as EC2 does with the strategies that are asked for here, and
bills by the second at the price of the moment.
"""

import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from daiku.cloud import errors
from daiku.cloud.provider import LaunchedInstance
from daiku.model import labels
from daiku.model.instance_type import Catalogue, InstanceType, LaunchOption, NodeClassRef
from daiku.model.nodeclaim import NodeClaim
from daiku.simulation.scenario import Scenario

SCHEME: Final = "simulated://"
NOTICE_SECONDS: Final = 120.0
"""From a spot interruption's warning to its end."""


@dataclass(slots=True, kw_only=True)
class Machine:
    """An instance that runs."""

    id: str
    claim: str
    node_class: NodeClassRef
    kind: InstanceType
    zone: str
    capacity_type: str
    pool: str
    usd_per_hour: float

    @property
    def provider_id(self) -> str:
        """As Node and NodeClaim name it."""
        return f"{SCHEME}{self.zone}/{self.id}"


class Cloud:
    """Every instance, and the prices."""

    def __init__(self, scenario: Scenario, catalogue: Catalogue) -> None:
        self.machines: dict[str, Machine] = {}
        """Those that run, by provider id."""
        self.catalogue = catalogue
        """With the prices of the moment."""
        self.spent: dict[tuple[str, str], float] = {}
        """(NodePool, capacity type) -> USD so far."""
        self._scenario = scenario
        self._listed = catalogue
        self._at = 0.0
        self._launches = 0

    @property
    def usd_per_hour(self) -> float:
        """What runs costs so much."""
        return sum(machine.usd_per_hour for machine in self.machines.values())

    def bill(self, at: float) -> None:
        """Bring what was spent up to second `at`."""
        hours = (at - self._at) / 3600
        if hours > 0:
            for machine in self.machines.values():
                key = machine.pool, machine.capacity_type
                self.spent[key] = self.spent.get(key, 0.0) + machine.usd_per_hour * hours
        self._at = at

    def reprice(self, at: float) -> None:
        """Prices change, of instances that run too; spot prices do, and a what-if may ask it of others."""
        self.bill(at)
        begun = [c for c in self._scenario.price_changes if c.at <= at]

        def factor(instance_type: str, zone: str, capacity_type: str) -> float:
            said = [c.factor for c in begun if c.pools.has(instance_type, zone, capacity_type)]
            return said[-1] if said else 1.0

        self.catalogue = _repriced(self._listed, self.catalogue.version + 1, factor)
        for machine in self.machines.values():
            machine.usd_per_hour = self._price(machine)

    def launch(
        self, claim: NodeClaim, options: Sequence[LaunchOption], at: float
    ) -> tuple[Machine, LaunchedInstance]:
        """Launch the cheapest option that is there.

        Raises:
            InsufficientCapacity: Everything that was asked for is sold out.
        """
        windows = [w for w in self._scenario.sold_out if w.begins <= at < w.ends]
        none_left: list[tuple[str, str, str]] = []
        chosen: LaunchOption | None = None
        for option in sorted(options, key=lambda o: o.price_usd_per_hour):
            what = option.instance_type, option.zone, option.capacity_type
            if any(w.pools.has(*what) for w in windows):
                none_left.append(what)
            elif chosen is None:
                chosen = option
        if chosen is None:
            raise errors.InsufficientCapacity("sold out", sold_out=tuple(none_left))
        self.bill(at)
        machine = self._machine(claim, chosen)
        self.machines[machine.provider_id] = machine
        cheaper = none_left if chosen is not options[0] else []
        return machine, _launched(machine, tuple(cheaper))

    def end(self, provider_id: str, at: float) -> Machine | None:
        """End an instance; None when it does not run."""
        self.bill(at)
        return self.machines.pop(provider_id, None)

    def interrupted_after(self, machine: Machine) -> float | None:
        """Seconds until the cloud says that it takes the instance back; None: it does not."""
        rate = self._scenario.interrupted_per_hour
        if machine.capacity_type != labels.SPOT or rate <= 0:
            return None
        drawn = random.Random(f"{self._scenario.seed} {machine.id}")  # noqa: S311  (a seed, not a secret)
        return drawn.expovariate(rate / 3600)

    def _machine(self, claim: NodeClaim, option: LaunchOption) -> Machine:
        self._launches += 1
        types = self._listed.instance_types[claim.node_class]
        machine = Machine(
            id=f"i-{self._launches:06d}",
            claim=claim.meta.name,
            node_class=claim.node_class,
            kind=next(t for t in types if t.name == option.instance_type),
            zone=option.zone,
            capacity_type=option.capacity_type,
            pool=claim.nodepool,
            usd_per_hour=0.0,
        )
        machine.usd_per_hour = self._price(machine)
        return machine

    def _price(self, machine: Machine) -> float:
        types = self.catalogue.instance_types[machine.node_class]
        kind = next(t for t in types if t.name == machine.kind.name)
        return next(
            o.price_usd_per_hour
            for o in kind.offerings
            if (o.zone, o.capacity_type) == (machine.zone, machine.capacity_type)
        )


def _repriced(
    listed: Catalogue, version: int, factor: Callable[[str, str, str], float]
) -> Catalogue:
    """The catalogue with every price times its factor."""
    known: Mapping[NodeClassRef, tuple[InstanceType, ...]] = {
        ref: tuple(
            replace(
                kind,
                offerings=tuple(
                    replace(
                        o,
                        price_usd_per_hour=o.price_usd_per_hour
                        * factor(kind.name, o.zone, o.capacity_type),
                    )
                    for o in kind.offerings
                ),
            )
            for kind in kinds
        )
        for ref, kinds in listed.instance_types.items()
    }
    return Catalogue(version=version, instance_types=known)


def _launched(machine: Machine, sold_out: tuple[tuple[str, str, str], ...]) -> LaunchedInstance:
    fixed = {
        labels.INSTANCE_TYPE: machine.kind.name,
        labels.ZONE: machine.zone,
        labels.CAPACITY_TYPE: machine.capacity_type,
        labels.NODEPOOL: machine.pool,
    }
    return LaunchedInstance(
        provider_id=machine.provider_id,
        instance_type=machine.kind.name,
        zone=machine.zone,
        capacity_type=machine.capacity_type,
        image_id="",
        labels={
            **machine.kind.requirements.single_values(),
            **{k: v for k, v in fixed.items() if v},
        },
        annotations={},
        capacity=machine.kind.capacity,
        allocatable=machine.kind.allocatable,
        sold_out=sold_out,
    )
