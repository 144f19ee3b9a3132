"""What must be true whatever happens, checked on what is, not on what the controller believes.

Each check runs where its rule could be broken: at a write, at a launch, at a termination, when an object goes. What
nobody could have known in time (a pod bound a moment ago, a limit changed a moment ago) is excused by a bound,
which is named.
"""

import itertools
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from tests.simulation import rules
from tests.simulation.apiserver import (
    CLAIMS,
    ETCD,
    LEASES,
    NODES,
    PODS,
    POOLS,
    Change,
    Json,
    app_of,
    is_finished,
    is_leaving,
)
from tests.simulation.clock import seconds_of
from tests.simulation.pools import Pools
from tests.simulation.rules import KNOWN, Violated
from tests.simulation.scheduler import tolerates

from daiku import commands
from daiku.kube import lease
from daiku.model import labels, units
from daiku.model.nodeclaim import NodeClaim

if TYPE_CHECKING:
    from tests.simulation.ec2 import Machine
    from tests.simulation.process import Process
    from tests.simulation.world import World

COLLECTED = 200.0
"""Seconds of a working leader after which an instance without a NodeClaim must be gone: grace, one list, retries."""
HEEDED = 60.0
"""Seconds of a working leader after which a warning has been heeded."""
STUCK = 60.0
"""A pod that should have ended this long ago is not waited for."""
SLACK = 2.0
"""Times on the wire are whole seconds."""
VOLUNTARY = frozenset({"Empty", "Drifted", "Underutilized"})
DISRUPTED = {"key": labels.DISRUPTED_TAINT, "effect": "NoSchedule"}


@dataclass(slots=True)
class Invariants:
    """All rules of one world."""

    world: "World"
    pools: Pools = field(init=False)
    bound: dict[str, float] = field(default_factory=dict)
    """Pod uid -> since when it is bound."""
    tainted: dict[str, float] = field(default_factory=dict)
    """Node -> since when pods are kept away from it."""
    alone: dict[str, float] = field(default_factory=dict)
    """Instance -> seconds of a working leader it has been without a NodeClaim."""
    doubled: dict[str, float] = field(default_factory=dict)
    """NodeClaim uid -> seconds of a working leader with two live instances."""
    ignored: dict[str, float] = field(default_factory=dict)
    """Instance -> seconds of a working leader in which nobody heeded that it will be taken back."""
    restored: float = float("-inf")
    """When a backup of etcd was restored last."""
    trusted: str = ""
    """Who held the Lease when it went back to what it was; until somebody writes it again."""
    forgotten: str = ""
    """Who held the Lease when a restore last took it away, or took renewals back."""
    begun: int = 0
    """How many were begun; announcements do not count."""

    def __post_init__(self) -> None:
        self.pools = Pools(self.world)

    def watch(self, change: Change) -> None:
        """An object changed."""
        now = self.world.clock.seconds
        old, new = change.old, change.new
        if change.plural in {CLAIMS, POOLS} and change.actor.startswith("daiku"):
            self._check_note(change)
        if change.plural == PODS:
            self._watch_pod(old, new, now)
        elif change.plural == NODES:
            if new is None:
                self.tainted.pop(change.key, None)
                self.pools.gone[(old or {})["spec"].get("providerID", "")] = now
            elif any(t["key"] == labels.DISRUPTED_TAINT for t in new["spec"].get("taints") or ()):
                self.tainted.setdefault(change.key, now)
            else:
                self.tainted.pop(change.key, None)
            if (
                change.actor.startswith("daiku")
                and "karpenter.sh/nodepool" not in (new or old or {})["metadata"]["labels"]
            ):
                raise Violated("foreign node", f"{change.actor} wrote {change.key}")
        elif change.plural == POOLS and new is not None:
            self.pools.see(change.key, new["spec"])
        elif change.plural == LEASES:
            self.trusted = (self.trusted or _holder(old)) if change.actor == ETCD else ""
            if change.actor == ETCD:
                self.forgotten = self.trusted
        elif change.plural == CLAIMS:
            if new is None and old is not None and change.actor != ETCD:
                self.pools.forget(old["metadata"]["uid"])
                if change.actor != "people":
                    # Whatever becomes of an instance whose claim people removed is their doing.
                    self._check_end(old)
            elif old is None and new is not None and change.actor.startswith("daiku"):
                self.pools.check_limits(new)

    def check_writer(self, writer: "Process", what: str) -> None:
        """Only the holder of the Lease writes."""
        there = self.world.api.objects[LEASES].get("kube-system/karpenter-leader-election")
        holder = self.trusted or _holder(there)
        known = (holder, self.forgotten if self._is_fresh() else "")
        if writer.lease.identity not in known and not self._is_void(holder):
            raise Violated("leader", f"{writer.name} writes {what}, and {holder or 'nobody'} leads")

    def _is_void(self, holder: str) -> bool:
        """Whether the Lease, restored a moment ago, names somebody who cannot act.

        Who stood still in the middle of a renewal writes, on waking, on the Lease as it was read before. After a
        restore that may be what is there again, and the write is taken. It gives nobody the right to act: a renewal
        counts from when it began, and whoever took over did so later than 10 s after that, when it counted no more.
        So the one who took over is still the only one who acts, until it reads that it is not the holder, and ends.
        """
        acting = (p for p in self.world.processes if p.leads())
        return self._is_fresh() and all(p.lease.identity != holder for p in acting)

    def _is_fresh(self) -> bool:
        """Whether a backup was restored so lately that who led then may believe that it still does.

        Of a Lease that is not there nobody can know that it was held: another one takes it at once. Nor does anybody
        know of renewals that were taken back before they were read: it runs out early.
        """
        return self.world.clock.seconds - self.restored < lease.DURATION_SECONDS

    def check_command(self, process: "Process", command: commands.Command) -> None:
        """A command is begun."""
        if not isinstance(command, commands.Announce) and process.lease.is_held():
            self.begun += 1
        self.world.story.tell(process.name, "%s", rules.Words(command))
        match command:
            case _ if self.is_dazed():
                pass
            case commands.Evict() | commands.DeletePod() if process.lease.is_held():
                self._check_eviction(process, command)
            case commands.DeleteNodeClaim() if (
                command.reason in VOLUNTARY and process.lease.is_held()
            ):
                self._check_disruption(command)
            case _:
                pass

    def check_deletion(self, process: "Process", pod: str) -> None:
        """A pod is about to be deleted, which asks no PodDisruptionBudget: its deadline must be why."""
        if not isinstance(process.command, commands.DeletePod):
            told = rules.Words(process.command) if process.command is not None else "nothing"
            raise Violated(
                "pdb", f"{process.name} deletes pod {pod} and does not evict it ({told})"
            )

    def check_launch(self, process: "Process", claim: NodeClaim) -> None:
        """An instance is about to be made."""
        live = [
            m.id for m in self.world.ec2.machines.values() if m.uid == claim.meta.uid and m.is_live
        ]
        if live:
            raise Violated(
                "two instances", f"{process.name} launches for {claim.meta.name}, which has {live}"
            )

    def check_termination(self, process: "Process", machine: "Machine") -> None:
        """A live instance is about to be ended: its pods must have left, or their time is over."""
        world, now = self.world, self.world.clock.seconds
        node = world.api.objects[NODES].get(machine.node)
        if not machine.is_live or machine.dead or node is None:
            return
        claim = self._claim(machine.uid)
        deadline = rules.deadline(claim)
        since = self.tainted.get(machine.node)
        for pod in self._pods(machine.node):
            if not self._must_leave(pod, now):
                continue
            bound = self.bound.get(pod["metadata"]["uid"], now)
            late = (since is not None and bound >= since) or now - bound < KNOWN or self.is_dazed()
            over = deadline is not None and now + SLACK + abs(process.offset) >= deadline
            if not late and not over:
                name = pod["metadata"]["name"]
                raise Violated(
                    "pod lost", f"{process.name} terminates {machine.id}, and pod {name} runs on it"
                )
        over = deadline is not None and now + SLACK + abs(process.offset) >= deadline
        torn = world.volumes.torn(machine.node, now)
        if torn and not over and not self.is_dazed():
            raise Violated("volume", f"{process.name} terminates {machine.id}, which holds {torn}")

    def step(self, seconds: float) -> None:
        """Some time has passed."""
        world = self.world
        leads = any(p.leads() and p.thaws_in() == 0 for p in world.processes)
        claims = {c["metadata"]["uid"]: True for c in world.api.all(CLAIMS)}
        live: dict[str, list[str]] = {}
        for machine in world.ec2.machines.values():
            if not machine.is_live:
                self.alone.pop(machine.id, None)
                continue
            live.setdefault(machine.uid, []).append(machine.id)
            if machine.uid in claims:
                self.alone.pop(machine.id, None)
            elif leads and not self.is_drained(machine):
                self._count(
                    self.alone, machine.id, seconds, "orphan", f"{machine.id} has no NodeClaim"
                )
            if leads and machine.id in world.ec2.warned and self._is_kept(machine):
                why = f"{machine.id} will be taken back, and its NodeClaim stays"
                self._count(self.ignored, machine.id, seconds, "warning", why, most=HEEDED)
        for uid, ids in live.items():
            if len(ids) > 1 and leads:
                self._count(
                    self.doubled, uid, seconds, "two instances", f"{ids} are of one NodeClaim"
                )
            elif len(ids) == 1:
                self.doubled.pop(uid, None)

    def is_dazed(self) -> bool:
        """Whether a backup was restored a moment ago, so that nobody can know what is."""
        return self.world.clock.seconds - self.restored < KNOWN

    def is_drained(self, machine: "Machine") -> bool:
        """Its Node is going, and waits for its pods: nothing may end it before."""
        node = self.world.api.objects[NODES].get(machine.node)
        return node is not None and is_leaving(node) and not machine.dead

    def _is_kept(self, machine: "Machine") -> bool:
        claim = self._claim(machine.uid)
        return claim is not None and not is_leaving(claim)

    def _count(
        self,
        times: dict[str, float],
        key: str,
        seconds: float,
        rule: str,
        why: str,
        *,
        most: float = COLLECTED,
    ) -> None:
        times[key] = times.get(key, 0.0) + seconds
        if times[key] > most:
            raise Violated(rule, f"{why} for {times[key]:.0f} s with a leader")

    def _check_note(self, change: Change) -> None:
        """A write of the controller leaves alone what somebody else has written since it read the object.

        A note that is not there any more may come back: a restored backup gives versions a second time.
        """
        if change.old is not None and change.new is not None:
            before, after = rules.note(change.old), rules.note(change.new)
            if before and before != after:
                raise Violated(
                    "overwritten", f"{change.actor} makes note {before} of {change.key} {after!r}"
                )

    def _watch_pod(self, old: Json | None, new: Json | None, now: float) -> None:
        if new is None:
            assert old is not None
            self.bound.pop(old["metadata"]["uid"], None)
        elif new["spec"].get("nodeName"):
            self.bound.setdefault(new["metadata"]["uid"], now)

    def _check_end(self, claim: Json) -> None:
        """A NodeClaim is gone: nothing of it may be left."""
        meta = claim["metadata"]
        named = claim["status"].get("providerID")
        live = [
            m.id
            for m in self.world.ec2.machines.values()
            if m.uid == meta["uid"]
            and m.is_live
            # One that a restored backup knows nothing of is an orphan, and has an orphan's time.
            and not (named and named != m.provider_id and m.launched < self.restored)
        ]
        if live:
            raise Violated("claim lost", f"NodeClaim {meta['name']} is gone, and {live} still run")

    def _check_eviction(self, process: "Process", command: Any) -> None:
        """Only pods of a node that is going are asked; those that must not be disrupted only past their deadline."""
        world, now = self.world, self.world.clock.seconds
        pod = world.api.find(PODS, f"{command.namespace}/{command.name}")
        if pod is None or pod["metadata"]["uid"] != command.uid:
            return
        name = pod["metadata"]["name"]
        node = world.api.find(NODES, pod["spec"].get("nodeName", ""))
        claim = None if node is None else self._claim_of(node)
        if node is not None and not is_leaving(node) and (claim is None or not is_leaving(claim)):
            raise Violated(
                "eviction", f"pod {name} is asked to leave {node['metadata']['name']}, which stays"
            )
        if node is not None and node["metadata"]["name"] not in self.tainted:
            raise Violated(
                "eviction",
                f"pod {name} is asked to leave {node['metadata']['name']} without the taint",
            )
        deadline = rules.deadline(claim)
        slack = SLACK + abs(process.offset)
        over = (
            deadline is not None
            and now + slack >= deadline - pod["spec"]["terminationGracePeriodSeconds"]
        )
        if isinstance(command, commands.DeletePod) and not over:
            raise Violated(
                "deadline", f"pod {name} is deleted, and its deadline is {deadline} at {now}"
            )
        if not over and self._forbids(pod, slack):
            raise Violated("do-not-disrupt", f"pod {name} is asked to leave")
        if node is not None and not over and (why := world.surges.check(pod, node, claim)):
            raise Violated("surge", why)

    def _forbids(self, pod: Json, slack: float) -> bool:
        wish = pod["metadata"]["annotations"].get(labels.DO_NOT_DISRUPT, "")
        if wish in {"", "false"}:
            return False
        bound = self.bound.get(pod["metadata"]["uid"], self.world.clock.seconds)
        since = self.world.clock.seconds - bound
        return wish == "true" or since + slack < units.parse_duration(wish).total_seconds()

    def _check_disruption(self, command: commands.DeleteNodeClaim) -> None:
        """The controller itself chose to end a NodeClaim: it may, and what it calls empty is empty."""
        world, now = self.world, self.world.clock.seconds
        claim = world.api.find(CLAIMS, command.name)
        if claim is None or claim["metadata"]["uid"] != command.uid or is_leaving(claim):
            return
        node = claim["status"].get("nodeName", "")
        # Pods of a Node that was removed by hand are nobody's any more, and its claim goes whatever is said of it.
        if command.reason == "Empty" and world.api.find(NODES, node) is not None:
            for pod in self._pods(node):
                old = now - self.bound.get(pod["metadata"]["uid"], now) > KNOWN
                daemon = any(o["kind"] == "DaemonSet" for o in pod["metadata"]["ownerReferences"])
                if old and not daemon and not is_leaving(pod) and not is_finished(pod):
                    raise Violated(
                        "empty",
                        f"{command.name} is called empty, and runs {pod['metadata']['name']}",
                    )
        self.pools.check_disruption(claim)
        self.pools.check_cost(command, claim)

    def _must_leave(self, pod: Json, now: float) -> bool:
        if is_finished(pod) or any(
            o["kind"] == "DaemonSet" for o in pod["metadata"]["ownerReferences"]
        ):
            return False
        if tolerates(self.world.workloads.apps[app_of(pod)].tolerations, DISRUPTED):
            return False
        return (
            not is_leaving(pod)
            or now < seconds_of(pod["metadata"]["deletionTimestamp"]) + STUCK - SLACK
        )

    def _pods(self, node: str) -> list[Json]:
        return [p for p in self.world.api.all(PODS) if node and p["spec"].get("nodeName") == node]

    def _claim(self, uid: str) -> Json | None:
        return next((c for c in self.world.api.all(CLAIMS) if c["metadata"]["uid"] == uid), None)

    def _claim_of(self, node: Json) -> Json | None:
        """The NodeClaim of a Node; by EC2's tags if a restored backup knows it as it was before its launch."""
        provider_id = node["spec"].get("providerID", "")
        claims = self.world.api.all(CLAIMS)
        machine = self.world.ec2.find(provider_id)
        uid = machine.uid if machine is not None else ""
        named = (c for c in claims if c["status"].get("providerID") == provider_id)
        tagged = (
            c for c in claims if c["metadata"]["uid"] == uid and not c["status"].get("providerID")
        )
        return next(itertools.chain(named, tagged), None)


def _holder(lease: Json | None) -> str:
    return lease["spec"]["holderIdentity"] if lease is not None else ""
