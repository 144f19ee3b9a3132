"""The cloud as one controller process reaches it: the provider with everything that can go wrong.

It keeps the contract: a launch that is repeated for the same claim finds what the first one made, and after any
error but Unreachable nothing was launched. What EC2 does and the contract allows is here: a denial of what was
launched a moment ago, lists that are behind, an answer that never comes.
"""

from collections.abc import Callable, Sequence
from datetime import timedelta
from typing import TYPE_CHECKING, TypeVar

from tests.simulation.network import LATE_MOST

from daiku.api import encode
from daiku.cloud import errors
from daiku.cloud.aws.queue import Received
from daiku.cloud.provider import Instance, LaunchedInstance
from daiku.model import labels
from daiku.model.instance_type import Catalogue, LaunchOption
from daiku.model.nodeclaim import NodeClaim
from daiku.model.nodeclass import NodeClass

if TYPE_CHECKING:
    from tests.simulation.ec2 import Machine
    from tests.simulation.process import Process

T = TypeVar("T")

YOUNG = 15.0
"""How long EC2 may deny knowing what it has just launched."""


class Cloud:
    """CloudProvider of one process."""

    name = "simulated"
    node_class_kind = "KWOKNodeClass"

    def __init__(self, process: "Process") -> None:
        self._process = process
        self._world = process.world
        self._ec2 = process.world.ec2

    def catalogue(self, node_classes: Sequence[NodeClass], version: int) -> Catalogue:
        self._process.check()
        if self._world.faults.strike("cloud throttles"):
            raise errors.Throttled("RequestLimitExceeded", code="RequestLimitExceeded")
        types = self._ec2.catalogue(version).instance_types
        ready = [c.ref for c in node_classes if c.ready and c.meta.deleted is None]
        return Catalogue(version=version, instance_types={r: types[r] for r in ready if r in types})

    def launch(
        self, node_claim: NodeClaim, node_class: NodeClass, options: Sequence[LaunchOption]
    ) -> LaunchedInstance:
        if not node_class.ready:
            raise errors.NodeClassNotReady(node_class.why_not_ready)
        if self._world.faults.strike("cloud refuses"):
            raise errors.LaunchRefused("InvalidParameterValue", code="InvalidParameterValue")
        return self._call(lambda: self._launch(node_claim, options))

    def terminate(self, provider_id: str) -> None:
        def do() -> None:
            machine = self._ec2.find(provider_id)
            if machine is None or machine.state == "terminated":
                raise errors.InstanceNotFound(f"{provider_id} is terminated")
            age = self._world.clock.seconds - machine.launched
            if age < YOUNG and self._world.faults.strike("cloud denies a young instance"):
                raise errors.InstanceUnknown(f"{provider_id} does not exist")
            self._world.invariants.check_termination(self._process, machine)
            self._ec2.terminate(machine, self._process.name)

        self._call(do)

    def list_instances(self) -> Sequence[Instance]:
        faults = self._world.faults
        lag = faults.seconds(1, 10) if faults.strike("cloud list is stale") else 0.0

        def do() -> Sequence[Instance]:
            return [
                Instance(
                    provider_id=machine.provider_id,
                    node_claim=machine.claim,
                    nodepool=machine.pool,
                    launched=self._world.clock.now() - self._since(machine),
                    terminating=state in {"shutting-down", "terminated"},
                )
                for machine, state in self._ec2.listed(lag)
            ]

        return self._call(do, writes=False)

    def receive(self) -> Sequence[Received]:
        """What `daiku.cloud.aws.queue.Queue.receive` gives."""
        found = self._call(self._ec2.receive, writes=False)
        return [Received(message_id=m.id, receipt=m.id, body=m.body) for m in found]

    def settle(self, message: str) -> None:
        """Delete a message of the queue; if that fails it comes again."""
        try:
            self._call(lambda: self._ec2.queue.pop(message, None), writes=False)
        except errors.CloudError:
            return

    def _since(self, machine: "Machine") -> timedelta:
        return timedelta(seconds=self._world.clock.seconds - machine.launched)

    def _launch(self, claim: NodeClaim, options: Sequence[LaunchOption]) -> LaunchedInstance:
        uid = claim.meta.uid
        known = [m for m in self._ec2.machines.values() if m.uid == uid and m.is_live]
        sold_out = tuple(
            what
            for o in options
            if self._ec2.sold_out.get(what := (o.instance_type, o.zone, o.capacity_type))
        )
        if known:
            return self._launched(known[0], ())
        if not options:
            raise errors.InstanceNotFound("what was listed is gone")
        left = [o for o in options if (o.instance_type, o.zone, o.capacity_type) not in sold_out]
        if not left:
            raise errors.InsufficientCapacity("no capacity", sold_out=sold_out)
        best = left[0]
        self._world.invariants.check_launch(self._process, claim)
        faults = self._world.faults
        machine = self._ec2.launch(
            uid=uid,
            token=uid,
            claim=claim.meta.name,
            pool=claim.nodepool,
            what=(best.instance_type, best.zone, best.capacity_type),
            labels={**claim.meta.labels, labels.CAPACITY_TYPE: best.capacity_type},
            taints=[
                *(encode.taint(t) for t in (*claim.taints, *claim.startup_taints)),
                {"key": labels.UNREGISTERED_TAINT, "effect": "NoExecute"},
            ],
            actor=self._process.name,
            lag=faults.seconds(1, 10) if faults.strike("cloud list is stale") else 0.0,
        )
        self._world.kubelets.boot(machine)
        return self._launched(machine, sold_out)

    def _launched(
        self, machine: "Machine", sold_out: tuple[tuple[str, str, str], ...]
    ) -> LaunchedInstance:
        return LaunchedInstance(
            provider_id=machine.provider_id,
            instance_type=machine.type.name,
            zone=machine.zone,
            capacity_type=machine.capacity_type,
            image_id="ami-1",
            labels={
                labels.INSTANCE_TYPE: machine.type.name,
                labels.ZONE: machine.zone,
                labels.CAPACITY_TYPE: machine.capacity_type,
                labels.ARCH: "amd64",
                labels.OS: "linux",
                labels.NODEPOOL: machine.pool,
            },
            annotations={},
            capacity=machine.type.capacity,
            allocatable=machine.type.allocatable,
            sold_out=sold_out,
        )

    def _call(self, do: Callable[[], T], *, writes: bool = True) -> T:
        """One request to the cloud and its answer."""
        process, world, faults = self._process, self._world, self._world.faults
        process.check()
        if faults.strike("cloud throttles"):
            raise errors.Throttled("RequestLimitExceeded", code="RequestLimitExceeded")
        if faults.strike("cloud request lost"):
            process.wait(faults.seconds(1, 20))
            process.check()
            raise errors.Unreachable("no answer")
        late = faults.seconds(0.2, LATE_MOST) if faults.strike("cloud request late") else 0.0
        done, failure = world.send(process, late, lambda: self._do(do, writes=writes))
        if process.command and faults.strike("crash in a call"):
            process.crash("in a call to the cloud")
        if faults.strike("cloud reply late"):
            process.wait(faults.seconds(0.5, 15))
        process.check()
        if faults.strike("cloud reply lost"):
            raise errors.Unreachable("no answer")
        if failure is not None:
            raise failure
        return done  # type: ignore[return-value]

    def _do(
        self, do: Callable[[], T], *, writes: bool
    ) -> tuple[T | None, errors.CloudError | None]:
        if writes:
            self._world.invariants.check_writer(self._process, "the cloud")
        try:
            return do(), None
        except errors.CloudError as error:
            return None, error
