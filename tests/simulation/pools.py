"""What NodePools promise, checked at every command: limits, disruption budgets, and that what is done for cost pays."""

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from tests.simulation import rules
from tests.simulation.apiserver import CLAIMS, NODES, Json, is_leaving
from tests.simulation.rules import KNOWN, Violated

from daiku import commands
from daiku.disruption import disruption_commands
from daiku.disruption.progress import PATIENCE
from daiku.model import labels

if TYPE_CHECKING:
    from tests.simulation.world import World

PENNY = 1e-9
"""Differences in USD per hour that are not differences."""


@dataclass(slots=True)
class Pools:
    """The promises of all NodePools of one world."""

    world: "World"
    voluntary: dict[str, str] = field(default_factory=dict)
    """NodeClaim uid that the controller itself chose to end -> NodePool."""
    limits: dict[str, list[tuple[float, Json]]] = field(default_factory=dict)
    """NodePool -> its limits over time."""
    budgets: dict[str, list[tuple[float, list[Json]]]] = field(default_factory=dict)
    """NodePool -> its budgets over time."""
    gone: dict[str, float] = field(default_factory=dict)
    """Provider id -> when its Node went."""
    repacks: dict[str, tuple[float, disruption_commands.Record]] = field(default_factory=dict)
    """Repacks by their id, each as it was when it was last seen to be under way, and when that was."""
    replaced: int = 0
    """NodeClaims that went for cost and had a replacement made for them."""

    def see(self, pool: str, spec: Json) -> None:
        """A NodePool says this now."""
        now = self.world.clock.seconds
        known = self.limits.setdefault(pool, [])
        if not known or known[-1][1] != spec.get("limits", {}):
            known.append((now, spec.get("limits", {})))
        said = self.budgets.setdefault(pool, [])
        if not said or said[-1][1] != spec["disruption"]["budgets"]:
            said.append((now, spec["disruption"]["budgets"]))

    def forget(self, uid: str) -> None:
        """A NodeClaim is gone."""
        self.voluntary.pop(uid, None)

    def check_disruption(self, claim: Json) -> None:
        """The controller itself has this NodeClaim go: no budget is crossed."""
        world, now = self.world, self.world.clock.seconds
        uid = claim["metadata"]["uid"]
        pool = claim["metadata"]["labels"][labels.NODEPOOL]
        self.voluntary[uid] = pool
        uids = [each for each, of in self.voluntary.items() if of == pool]
        claims = world.api.all(CLAIMS)
        # What was asked for and refused does not go; what is being terminated counts no more.
        ending = {
            c["metadata"]["uid"]: True
            for c in claims
            if rules.is_ending(c) or not (is_leaving(c) or c["metadata"]["uid"] == uid)
        }
        machines = world.ec2.machines.values()
        going = [m for m in machines if m.uid in uids and m.is_live and m.uid not in ending]
        nodes = [
            n for n in world.api.all(NODES) if n["metadata"]["labels"].get(labels.NODEPOOL) == pool
        ]
        counts = [b for at, b in self.budgets[pool] if now - at < KNOWN] or [
            self.budgets[pool][-1][1]
        ]
        before = [b for at, b in self.budgets[pool] if now - at >= KNOWN]
        allowed = max(rules.allowed(b, len(nodes)) for b in (*counts, *before[-1:]))
        if len(going) > allowed:
            names = ", ".join(m.id for m in going)
            raise Violated(
                "budget", f"NodePool {pool} allows {allowed} of {len(nodes)}, and {names} go"
            )

    def check_cost(self, command: commands.DeleteNodeClaim, claim: Json) -> None:
        """What goes for cost costs more than what was launched in its place, whatever the launch came to.

        Prices do not change here, so what was cheaper when it was decided is cheaper still. A node of the move that has
        gone since is counted as well: it was there when it was decided.
        """
        written = disruption_commands.parse(
            claim["metadata"]["annotations"].get(labels.DISRUPTION_COMMAND)
        )
        if command.reason != "Underutilized" or written is None or not written.replacements:
            return
        self.replaced += 1
        together = self._together(written)
        claims = sorted({name: True for each in together for name in each.claims})
        made = sorted({name: True for each in together for name in each.replacements})
        before, after = sum(map(self._price, claims)), sum(map(self._price, made))
        if after >= before - PENNY:
            raise Violated(
                "price",
                f"{', '.join(claims)} at ${before:.4f}/h go for {', '.join(made)} at ${after:.4f}/h",
            )

    def _together(self, written: disruption_commands.Record) -> list[disruption_commands.Record]:
        """A move and those that were weighed as one with it.

        What repacks lack that are under way at once is bought for all of them, by the one that sends most pods there.
        """
        if written.method != "repack":
            return [written]
        now = self.world.clock.seconds
        annotations = (c["metadata"]["annotations"] for c in self.world.api.all(CLAIMS))
        found = [
            disruption_commands.parse(each.get(labels.DISRUPTION_COMMAND)) for each in annotations
        ]
        self.repacks |= {r.id: (now, r) for r in (*found, written) if r and r.method == "repack"}
        return [r for at, r in self.repacks.values() if now - at < PATIENCE.total_seconds()]

    def check_limits(self, claim: Json) -> None:
        """A new NodeClaim stays within the limits of its NodePool, whichever type it becomes."""
        world, now = self.world, self.world.clock.seconds
        if world.invariants.is_dazed():
            return
        pool = claim["metadata"]["labels"].get(labels.NODEPOOL, "")
        known = self.limits.get(pool, [])
        recent = [limit for at, limit in known if now - at < KNOWN]
        before = [limit for at, limit in known if now - at >= KNOWN]
        choices = [*recent, *before[-1:]]
        types = {t.name: t for t in world.ec2.types}
        used = {"cpu": 0, "nodes": 0}
        machines = world.ec2.machines.values()
        leaving = {n["spec"].get("providerID"): True for n in world.api.all(NODES) if is_leaving(n)}
        # A Node that is deleted takes its NodeClaim along. Until that has arrived, and as long as nobody can know
        # that it was removed by force, it is believed to be on its way out, as it was a moment ago.
        leaving |= {each: True for each, at in self.gone.items() if now - at < KNOWN}
        for each in world.api.all(CLAIMS):
            going = is_leaving(each) or each["status"].get("providerID") in leaving
            if each["metadata"]["labels"].get(labels.NODEPOOL) != pool or going:
                continue
            named = next(
                (r for r in each["spec"]["requirements"] if r["key"] == labels.INSTANCE_TYPE),
                {"values": list(types)},
            )
            launched = [m.type.name for m in machines if m.uid == each["metadata"]["uid"]]
            possible = launched[-1:] or named["values"]
            used["cpu"] += max(types[t].capacity["cpu"] for t in possible)
            used["nodes"] += 1
        for limit in choices:
            if all(used[r] <= rules.amount(r, limit[r]) for r in limit if r in used):
                return
        if choices:
            raise Violated("limits", f"NodePool {pool} with limits {choices} has {used}")

    def _price(self, claim: str) -> float:
        """USD per hour of the last instance that was launched for a NodeClaim of this name; 0 without one."""
        machines = [m for m in self.world.ec2.machines.values() if m.claim == claim]
        return next(
            (
                offer.price_usd_per_hour
                for machine in machines[-1:]
                for offer in machine.type.offerings
                if (offer.zone, offer.capacity_type) == (machine.zone, machine.capacity_type)
            ),
            0.0,
        )
