"""The cloud: instances that live and die, what is sold out, and a list that is a little behind."""

import json
import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from tests import build
from tests.simulation.clock import Clock
from tests.simulation.story import Story

from daiku.cloud.aws.queue import HIDDEN_SECONDS
from daiku.model.instance_type import Catalogue, InstanceType

Pool = tuple[str, str, str]
LIVE = frozenset({"pending", "running"})
FORGOTTEN_SECONDS = 60.0
"""How long a terminated instance is still listed."""
ZONES = ("zone-a", "zone-b")


@dataclass(slots=True)
class Machine:
    """An instance, and the kubelet on it."""

    id: str
    provider_id: str
    claim: str
    uid: str
    """Of the NodeClaim that it was launched for."""
    token: str
    pool: str
    type: InstanceType
    zone: str
    capacity_type: str
    launched: float
    labels: dict[str, str]
    """What its user data tells the kubelet."""
    taints: list[dict[str, str]]
    state: str = "pending"
    dead: bool = False
    """Its kubelet does not answer."""
    node: str = ""
    """Name of its Node; empty until the kubelet registered it."""
    states: list[tuple[float, str]] = field(default_factory=list)
    """Since when lists show which state."""

    @property
    def is_live(self) -> bool:
        return self.state in LIVE

    @property
    def what(self) -> Pool:
        return self.type.name, self.zone, self.capacity_type


@dataclass(slots=True)
class Message:
    """A message in the interruption queue; it comes again until somebody deletes it."""

    id: str
    body: str
    machine: str
    hidden_until: float = 0.0


class Ec2:
    """Every instance of the account."""

    def __init__(self, clock: Clock, story: Story, rng: random.Random) -> None:
        self.machines: dict[str, Machine] = {}
        self.on_end: Callable[[Machine], None] = lambda _machine: None
        """Called when an instance begins to end."""
        self.sold_out: dict[Pool, bool] = {}
        self.queue: dict[str, Message] = {}
        self.warned: dict[str, float] = {}
        """Machine -> since when the queue says that it will be taken back."""
        self.ends_within = 20.0
        """Seconds that an instance takes to end at most."""
        self._clock, self._story, self._random = clock, story, rng
        self._warnings = 0
        self.types = tuple(
            sorted(
                build.family(sizes=(1, 2, 4, 8), capacity_types=("on-demand", "spot"), zones=ZONES),
                key=lambda t: t.name,
            )
        )

    def catalogue(self, version: int) -> Catalogue:
        return Catalogue(version=version, instance_types={build.REF: self.types})

    def launch(
        self, *, uid: str, token: str, claim: str, pool: str, what: Pool, labels: dict[str, str],
        taints: list[dict[str, str]], actor: str, lag: float,
    ) -> Machine:  # fmt: skip
        """Launch an instance; nothing is looked up here."""
        number = f"i-{len(self.machines) + 1:04d}"
        machine = Machine(
            id=number,
            provider_id=f"aws:///{what[1]}/{number}",
            claim=claim,
            uid=uid,
            token=token,
            pool=pool,
            type=next(t for t in self.types if t.name == what[0]),
            zone=what[1],
            capacity_type=what[2],
            launched=self._clock.seconds,
            labels=labels,
            taints=taints,
        )
        self.machines[number] = machine
        self._story.tell(actor, "launches %s (%s) for %s", number, " ".join(what), claim)
        self._set(machine, "pending", lag)
        self._clock.after(self._random.uniform(0.5, 2), lambda: self._run(machine))
        return machine

    def find(self, provider_id: str) -> Machine | None:
        return self.machines.get(provider_id.rpartition("/")[2])

    def terminate(self, machine: Machine, actor: str, why: str = "") -> None:
        if not machine.is_live:
            return
        self._story.tell(actor, "terminates %s of %s%s", machine.id, machine.claim, why)
        self._set(machine, "shutting-down", 0.0)
        machine.dead = True
        self.on_end(machine)
        self._clock.after(
            self._random.uniform(3, self.ends_within),
            lambda: self._set(machine, "terminated", 0.0),
        )

    def warn(self, machine: Machine) -> None:
        """Tell the queue that a machine will be taken back."""
        event = {
            "version": "0",
            "id": f"event-{len(self.queue)}",
            "detail-type": "EC2 Spot Instance Interruption Warning",
            "source": "aws.ec2",
            "time": self._clock.stamp(),
            "detail": {"instance-id": machine.id, "instance-action": "terminate"},
        }
        self._warnings += 1
        number = f"message-{self._warnings}"
        self.queue[number] = Message(number, json.dumps(event), machine.id)
        self.warned.setdefault(machine.id, self._clock.seconds)
        self._story.tell("ec2", "warns that %s of %s will be taken back", machine.id, machine.claim)

    def receive(self) -> Sequence[Message]:
        """What is in the queue and not hidden; it is hidden now."""
        now = self._clock.seconds
        found = [m for m in self.queue.values() if m.hidden_until <= now]
        for message in found:
            message.hidden_until = now + HIDDEN_SECONDS
        return found

    def listed(self, lag: float) -> Sequence[tuple[Machine, str]]:
        """Instances as a list shows them that is `lag` seconds behind."""
        now = self._clock.seconds
        found: list[tuple[Machine, str]] = []
        for machine in self.machines.values():
            known = [(at, state) for at, state in machine.states if at <= now - lag]
            if known and not (
                known[-1][1] == "terminated" and now - known[-1][0] > FORGOTTEN_SECONDS
            ):
                found.append((machine, known[-1][1]))
        return found

    def _run(self, machine: Machine) -> None:
        if machine.state == "pending":
            self._set(machine, "running", 0.0)

    def _set(self, machine: Machine, state: str, lag: float) -> None:
        machine.state = state
        machine.states.append((self._clock.seconds + lag, state))
