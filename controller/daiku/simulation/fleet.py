"""What instances do by themselves: they boot, join as Nodes, are taken back, and are listed by the cloud."""

import random
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Final

from daiku import commands, events
from daiku.cloud import errors
from daiku.cloud.provider import Instance, LaunchedInstance
from daiku.events import Event
from daiku.model import interruption, labels
from daiku.model.condition import Condition
from daiku.model.meta import Meta
from daiku.model.node import Node
from daiku.model.nodeclaim import NodeClaim
from daiku.model.pod import Pod
from daiku.model.taints import UNREGISTERED
from daiku.simulation.agenda import Agenda
from daiku.simulation.cloud import NOTICE_SECONDS, Cloud, Machine
from daiku.simulation.ledger import Ledger
from daiku.simulation.scenario import Reclaim, Scenario
from daiku.simulation.store import Store
from daiku.simulation.workloads import Workloads

LAUNCH_SECONDS: Final = 2.0
"""From the call to the cloud to its answer."""
LIST_SECONDS: Final = 60.0
"""Between two lists of the cloud's instances."""


class Fleet:
    """The instances of the cluster and their kubelets."""

    def __init__(
        self,
        *,
        scenario: Scenario,
        agenda: Agenda,
        cloud: Cloud,
        store: Store,
        workloads: Workloads,
        ledger: Ledger,
        tell: Callable[[Event], None],
        daemons: Mapping[str, Pod],
    ) -> None:
        self._scenario, self._agenda, self._cloud = scenario, agenda, cloud
        self._store, self._workloads, self._ledger = store, workloads, ledger
        self._tell, self._daemons = tell, daemons
        self._born: dict[str, Instance] = {}
        for at in sorted({c.at for c in scenario.price_changes}):
            agenda.put(at, self._reprice)
        for reclaim in scenario.reclaims:
            agenda.put(reclaim.at, lambda r=reclaim: self._reclaim(r))
        agenda.put(LIST_SECONDS, self._list)

    def launch(self, command: commands.Launch) -> None:
        """The call has gone out; its answer comes."""
        self._agenda.after(LAUNCH_SECONDS, lambda: self._answer(command))

    def terminate(self, provider_id: str) -> None:
        """End an instance.

        Raises:
            InstanceNotFound: It is gone, which is what was asked for.
        """
        self._cloud.end(provider_id, self._agenda.at)
        self._born.pop(provider_id, None)
        raise errors.InstanceNotFound(f"instance {provider_id} is gone")

    def bury(self, name: str, node: Node) -> None:
        """A Node is gone, and with it what ran there."""
        if node.is_ready:
            self._ledger.joined(node, -1)
        for key in list(self._workloads.on.pop(name, {})):
            again = not self._workloads.running[key].pod.is_daemon
            self._workloads.remove(key, self._agenda.at, self._agenda.now, again=again)

    def _answer(self, command: commands.Launch) -> None:
        claim, agenda = command.node_claim, self._agenda
        try:
            machine, launched = self._cloud.launch(claim, command.options, agenda.at)
        except errors.CloudError as error:
            self._ledger.sold_out += 1
            self._tell(events.LaunchFailed(claim.meta.name, error))
            self._tell(events.Failed(command, error, agenda.now))
            return
        self._ledger.launched += 1
        self._born[machine.provider_id] = Instance(
            provider_id=machine.provider_id,
            node_claim=claim.meta.name,
            nodepool=claim.nodepool,
            launched=agenda.now,
            terminating=False,
        )
        self._tell(events.Launched(claim.meta.name, launched))
        self._tell(events.Done(command, agenda.now))
        boot = max(0.0, self._scenario.boot - LAUNCH_SECONDS)
        agenda.after(boot, lambda: self._join(claim, machine, launched))
        interrupted = self._cloud.interrupted_after(machine)
        if interrupted is not None:
            agenda.after(interrupted, lambda: self._warn(machine))

    def _join(self, claim: NodeClaim, machine: Machine, launched: LaunchedInstance) -> None:
        """The kubelet of an instance registers its Node, with what its user data says."""
        if machine.provider_id not in self._cloud.machines:
            return
        name, now = f"ip-{machine.id}", self._agenda.now
        node = Node(
            meta=Meta(
                name=name,
                uid=f"node-{machine.id}",
                labels={**claim.meta.labels, **launched.labels, labels.HOSTNAME: name},
                created=now,
            ),
            provider_id=machine.provider_id,
            taints=(UNREGISTERED, *claim.taints),
            capacity=launched.capacity,
            allocatable=launched.allocatable,
            conditions=(Condition(type="Ready", status="True", last_transition=now),),
        )
        self._store.put(node)
        self._ledger.joined(node)
        self._workloads.dress(node, self._daemons, now)

    def _warn(self, machine: Machine) -> None:
        """The cloud says that it takes an instance back, and two minutes later it does."""
        if machine.provider_id not in self._cloud.machines:
            return
        self._ledger.interrupted += 1
        self._tell(events.Interrupted(machine.id, interruption.SPOT))
        self._agenda.after(NOTICE_SECONDS, lambda: self._take(machine))

    def _take(self, machine: Machine) -> None:
        """An instance ends under its pods."""
        agenda, name = self._agenda, f"ip-{machine.id}"
        if self._cloud.end(machine.provider_id, agenda.at) is None:
            return
        self._born.pop(machine.provider_id, None)
        node = self._store.nodes.get(name)
        if node is None:
            return
        self._ledger.joined(node, -1)
        for key in list(self._workloads.on.get(name, {})):
            each = self._workloads.running[key]
            self._ledger.killed += not each.pod.is_daemon
            self._workloads.remove(key, agenda.at, agenda.now, again=not each.pod.is_daemon)
        gone = Condition(type="Ready", status="Unknown", last_transition=agenda.now)
        self._store.put(replace(node, conditions=(gone,)))
        # What the cloud's own controller does with the Node of an instance that is no more.
        self._store.delete_node(name, agenda.now)

    def _reclaim(self, reclaim: Reclaim) -> None:
        """The cloud takes a share of its spot instances back."""
        meant = [
            m
            for m in self._cloud.machines.values()
            if m.capacity_type == labels.SPOT
            and reclaim.pools.has(m.kind.name, m.zone, m.capacity_type)
        ]
        drawn = random.Random(f"{self._scenario.seed} {reclaim.at}")  # noqa: S311  (a seed, not a secret)
        for machine in drawn.sample(meant, round(reclaim.share * len(meant))):
            self._warn(machine)

    def _reprice(self) -> None:
        self._cloud.reprice(self._agenda.at)
        self._tell(events.CatalogueRefreshed(self._cloud.catalogue))

    def _list(self) -> None:
        self._tell(events.InstancesListed(tuple(self._born.values()), self._agenda.now))
        self._agenda.after(LIST_SECONDS, self._list)
