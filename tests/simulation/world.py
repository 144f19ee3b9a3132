"""One history of one cluster, from one seed: some minutes in which everything goes wrong, then peace, then judgement.

`History(seed).run()` raises `Violated` when a rule is broken or when peace does not bring what it must.
"""

import random
from collections import Counter
from collections.abc import Callable, Generator
from contextlib import contextmanager
from datetime import datetime, timedelta
from typing import TypeVar

from tests.simulation import apiserver, controllers, peace
from tests.simulation.apiserver import (
    CLAIMS,
    DEPLOYMENTS,
    LEASES,
    NODES,
    PODS,
    POOLS,
    SCALERS,
    ApiServer,
    Change,
    Refused,
    is_finished,
    is_leaving,
    is_ready,
)
from tests.simulation.clock import Clock
from tests.simulation.controllers import Workloads
from tests.simulation.ec2 import Ec2
from tests.simulation.faults import Faults, Mercy
from tests.simulation.invariants import Invariants
from tests.simulation.kubelet import Kubelets
from tests.simulation.people import People
from tests.simulation.process import WATCHED, Process
from tests.simulation.rules import Violated
from tests.simulation.scheduler import Scheduler
from tests.simulation.story import Story
from tests.simulation.surges import Surges
from tests.simulation.volumes import Volumes

from daiku.disruption import evaluation
from daiku.model import labels
from daiku.model.repair import RepairPolicy
from daiku.runtime import clock as runtime_clock
from daiku.settings import Settings

T = TypeVar("T")

STEP = 5.0
"""Seconds between two looks at what is."""
CHAOS_MOST = 600.0
"""Seconds after which there is peace in any case."""
LED = 120.0
"""Seconds of peace after which somebody leads."""
PODS_RUN = 1500.0
"""Seconds of peace after which every pod that can have a place has one."""
SURPLUS_GOES = 900.0
ALL_GOES = 900.0
QUIET = 150.0
"""Seconds without any command at the end."""
CONVERGED = 1800.0
"""Seconds of peace after which drifted nodes are replaced and nothing cheaper is left to be done."""
SETTLED = 70.0
"""Seconds after which what has become true is written down: a NodeClaim whose creation was never answered is believed
in, and counted as a node of its pool, for a minute."""
REPAIRED = (
    RepairPolicy(condition="Ready", status="False", toleration=timedelta(seconds=50)),
    RepairPolicy(condition="Ready", status="Unknown", toleration=timedelta(seconds=10)),
)
"""When a node counts as broken, in every second history."""
DEPTH_MOST = 4
"""Calls that wait inside each other."""


class World:
    """Everything there is."""

    def __init__(self, seed: int, mercy: Mercy) -> None:
        self.seed = seed
        self.random = random.Random(f"world {seed}")
        self.clock = Clock()
        self.story = Story(self.clock)
        self.faults = Faults(seed, mercy)
        self.api = ApiServer(self.clock, self.story)
        self.ec2 = Ec2(self.clock, self.story, self.random)
        self.settings = Settings(
            cluster_name="sim",
            registration_ttl=timedelta(minutes=3),
            launch_ttl=timedelta(minutes=2),
            repair_policies=REPAIRED if seed % 2 else (),
            extra={"StaticCapacity": "true"},
        )
        self.invariants = Invariants(self)
        self.workloads = Workloads(self)
        self.scheduler = Scheduler(self)
        self.volumes = Volumes(self)
        self.surges = Surges(self)
        self.kubelets = Kubelets(self)
        self.ec2.on_end = self.kubelets.watch_over
        self.people = People(self)
        self.processes: list[Process] = []
        self.current: Process | None = None
        self._depth = 0
        self._started = 0
        self.api.listen(self.invariants.watch, PODS, NODES, POOLS, CLAIMS, LEASES)
        self.api.listen(self._tell_processes, *WATCHED)
        self.api.listen(self.kubelets.watch, PODS)
        self.api.listen(self.scheduler.watch, PODS, NODES)
        self.api.listen(self.workloads.watch, PODS, NODES, CLAIMS, POOLS, DEPLOYMENTS)
        self.api.listen(self.volumes.watch, PODS, NODES)
        self.api.listen(self.surges.watch, PODS, DEPLOYMENTS, SCALERS)

    def start_process(self) -> Process:
        self._started += 1
        process = Process(self, f"daiku-{self._started}")
        self.processes = [p for p in self.processes if p.alive] + [process]
        process.start()
        return process

    def start_standby(self) -> None:
        if sum(p.alive for p in self.processes) < 2:
            self.start_process()

    def replace_process(self, _dead: Process) -> None:
        """What a Deployment does: if none is left, another is started."""

        def again() -> None:
            if not any(p.alive for p in self.processes):
                self.start_process()

        self.clock.after(self.random.uniform(0.5, 8), again)

    def forget(self) -> None:
        """It was lived through well. Most of it is let go of here; knots are left to the garbage collector."""
        self.story.forget()
        self.api.forget()

    def let_pass(self, seconds: float) -> None:
        """Somebody waits in a call; the others go on."""
        if self._depth >= DEPTH_MOST or seconds <= 0:
            return
        self._depth += 1
        before, self.current = self.current, None
        try:
            self.clock.run(self.clock.seconds + seconds)
        finally:
            self._depth -= 1
            self.current = before

    def send(self, process: Process, late: float, do: Callable[[], T]) -> T:
        """Have a request arrive, after a while; the answer goes back when it has."""
        if late == 0 or self._depth >= DEPTH_MOST:
            return do()
        answers: list[T] = []
        # It is on its way: not even the death of its sender keeps it from arriving, and on time.
        self.clock.after(late, lambda: answers.append(do()))
        process.wait(late)
        return answers[0]

    def allocatable(self, node: str) -> tuple[int, int]:
        """Millicores and bytes of a Node."""
        has = self.kubelets.by_node[node].type.allocatable
        return has["cpu"], has["memory"]

    def _tell_processes(self, change: Change) -> None:
        for process in self.processes:
            process.look(change.plural)


class History:
    """One run of one world."""

    def __init__(self, seed: int, mercy: Mercy | None = None) -> None:
        self.world = World(seed, mercy or Mercy())
        self.phase = "chaos"

    def run(self) -> None:
        """Live through it.

        Raises:
            Violated: A rule was broken.
        """
        world = self.world
        random.seed(world.seed)  # back-off of the real watchers and pollers is spread by it
        with simulated_time(world):
            self._chaos()
            world.story.tell("world", "peace")
            world.faults.on = False
            world.people.calm()
            self.phase = "somebody leads"
            self._until(LED, self._leaderless, "somebody leads")
            self.phase = "pods run"
            self._until(PODS_RUN, self._pods_without_place, "every pod that can have a place runs")
            self.phase = "surplus goes"
            self._until(SURPLUS_GOES, self._surplus, "nodes without pods go")
            self.phase = "quiet with pods"
            if not any(is_leaving(b) for b in (*world.api.all(CLAIMS), *world.api.all(NODES))):
                self._become_quiet()
            self.phase = "all goes"
            for app in world.workloads.apps.values():
                if not app.daemon:
                    world.workloads.scale(app, 0)
            for name, pool in world.api.objects[POOLS].items():
                if "replicas" in pool["spec"]:
                    world.api.patch(POOLS, name, {"spec": {"replicas": 0}}, "people")
            self._until(ALL_GOES, self._leftovers, "nothing is left after scale to zero")
            self.phase = "quiet at the end"
            self._stay_quiet()

    def _chaos(self) -> None:
        world = self.world
        world.kubelets.join_foreign()
        world.people.set_up()
        world.start_process()
        if world.random.random() < 0.25:
            world.start_process()
        self._plan_people()
        self._plan_trouble()
        while self._is_chaos():
            self._step()

    def _is_chaos(self) -> bool:
        world = self.world
        most = world.faults.mercy.faults_most
        return world.faults.total < most and world.clock.seconds < CHAOS_MOST

    def _plan_people(self) -> None:
        world, every = self.world, 8 / self.world.faults.pace

        def act() -> None:
            if self._is_chaos():
                world.people.act()
                world.clock.after(world.random.expovariate(1 / every), act)

        world.clock.after(world.random.uniform(5, 30), act)

    def _plan_trouble(self) -> None:
        world = self.world
        every = world.faults.seconds(1.5, 6) / world.faults.pace

        def strike() -> None:
            if self._is_chaos():
                kind = world.faults.event()
                if kind:
                    world.story.tell("world", "trouble: %s", kind)
                    world.people.suffer(kind)
                world.clock.after(world.faults.random.expovariate(1 / every), strike)

        world.clock.after(world.faults.seconds(1, 20), strike)

    def _step(self) -> None:
        world = self.world
        world.clock.run(world.clock.seconds + STEP)
        world.workloads.sweep()
        world.invariants.step(STEP)

    def _until(self, most: float, what_is_wrong: Callable[[], list[str]], wanted: str) -> None:
        world = self.world
        end = world.clock.seconds + most
        while wrong := what_is_wrong():
            if world.clock.seconds > end:
                raise Violated(wanted, f"not after {most:.0f} s of peace: {'; '.join(wrong[:6])}")
            self._step()

    def _become_quiet(self) -> None:
        """Moves that are worth it come to an end: no two of them undo each other."""
        world = self.world
        end, since, begun = world.clock.seconds + CONVERGED, world.clock.seconds, -1
        while world.clock.seconds - since < QUIET:
            if world.invariants.begun != begun:
                begun, since = world.invariants.begun, world.clock.seconds
            if world.clock.seconds > end:
                raise Violated("quiet", f"moves go on after {CONVERGED:.0f} s ({self.phase})")
            self._step()
        # Nothing begins any more; then no budget that has room may be the reason.
        wanted = "no node is kept by a budget that has room"
        self._until(SETTLED, lambda: peace.held_by_budgets_with_room(world), wanted)

    def _stay_quiet(self) -> None:
        world = self.world
        self._until(ALL_GOES, lambda: peace.ghosts(world), "nodes of instances that are gone go")
        # What has just become true is still written down; if nobody led meanwhile, by the next leader.
        self._settle()
        if self._leaderless():
            self._until(LED, self._leaderless, "somebody leads")
            self._settle()
        before = world.invariants.begun
        for _ in range(int(QUIET / STEP)):
            self._step()
        begun = world.invariants.begun - before
        if begun:
            raise Violated(
                "quiet",
                f"{begun} commands in {QUIET:.0f} s in which nothing happened ({self.phase})",
            )

    def _settle(self) -> None:
        for _ in range(int(SETTLED / STEP)):
            self._step()

    def _leaderless(self) -> list[str]:
        led = any(p.leads() and p.thaws_in() == 0 for p in self.world.processes)
        return [] if led else ["nobody leads"]

    def _pods_without_place(self) -> list[str]:
        world = self.world
        wrong = [
            f"pod {key} does not run"
            for key, pod in world.api.objects[PODS].items()
            if not (is_ready(pod) or is_finished(pod)) or is_leaving(pod)
        ]
        wrong += peace.ghosts(world)
        wrong += filter(None, map(controllers.unordered, world.api.all(PODS)))
        counts = Counter(map(apiserver.app_of, world.api.all(PODS)))
        for app in world.workloads.apps.values():
            if app.job and app.done < app.replicas:
                wrong.append(f"{app.name} is {app.done} of {app.replicas} times done")
            elif not (app.daemon or app.job) and (count := counts[app.name]) != app.replicas:
                wrong.append(f"{app.name} has {count} of {app.replicas} pods")
        return wrong

    def _surplus(self) -> list[str]:
        world = self.world
        busy = {
            p["spec"].get("nodeName"): True
            for p in world.api.all(PODS)
            if not world.workloads.apps[apiserver.app_of(p)].daemon and not is_finished(p)
        }
        wanted = {c["metadata"]["uid"]: True for c in world.api.all(CLAIMS)}
        orphans = [
            f"instance {m.id} has no NodeClaim"
            for m in world.ec2.machines.values()
            if m.is_live and m.uid not in wanted and not world.invariants.is_drained(m)
        ]
        return (
            orphans
            + peace.wrong_numbers(world)
            + [
                f"node {name} runs nothing"
                for name, node in world.api.objects[NODES].items()
                if name not in busy and name != "ip-system" and peace.may_go(world, node)
            ]
            + [
                f"node {name} is still closed to the pods that it was made for"
                for name, node in world.api.objects[NODES].items()
                if any(t["key"] == labels.AWAITING_PODS for t in node["spec"].get("taints", ()))
            ]
            + [
                f"NodeClaim {c['metadata']['name']} has no node"
                for c in world.api.all(CLAIMS)
                if not c["status"].get("nodeName") and not is_leaving(c)
            ]
            + [
                f"NodeClaim {c['metadata']['name']} still has an expiry"
                for c in world.api.all(CLAIMS)
                if c["spec"]["expireAfter"] != "Never" and not is_leaving(c)
            ]
        )

    def _leftovers(self) -> list[str]:
        world = self.world
        stays = {
            name
            for name, pool in world.api.objects[POOLS].items()
            if any(b["nodes"] in {"0", "0%"} for b in pool["spec"]["disruption"]["budgets"])
        }
        if stays:
            for name in sorted(stays):
                budgets = {"disruption": {"budgets": [{"nodes": "100%"}]}}
                world.api.patch(POOLS, name, {"spec": budgets}, "people")
        return [
            *world.surges.unfinished(),
            *(f"NodeClaim {c['metadata']['name']}" for c in world.api.all(CLAIMS)),
            *(f"Node {name}" for name in world.api.objects[NODES] if name != "ip-system"),
            *(f"instance {m.id}" for m in world.ec2.machines.values() if m.is_live),
        ]


@contextmanager
def simulated_time(world: World) -> Generator[None]:
    """Have the runtime ask the world what time it is, as its only source of time."""

    def now() -> datetime:
        process = world.current
        return world.clock.now(process.offset if process is not None else 0.0)

    before = runtime_clock.now, runtime_clock.monotonic, evaluation.SEVERAL
    runtime_clock.now, runtime_clock.monotonic = now, lambda: world.clock.seconds
    # Clusters here are so small that few repacks make several nodes.
    evaluation.SEVERAL = 1 + world.seed % 2
    try:
        yield
    finally:
        runtime_clock.now, runtime_clock.monotonic, evaluation.SEVERAL = before


__all__ = ["History", "Refused", "World"]
