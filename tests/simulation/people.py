"""What people, workloads and the world do to the cluster: scale, restart, delete by hand, take machines away."""

from typing import TYPE_CHECKING, Any

from tests.simulation.apiserver import (
    CLAIMS,
    CLASSES,
    NODES,
    PODS,
    POOLS,
    SCALERS,
    Json,
    is_leaving,
)
from tests.simulation.controllers import App
from tests.simulation.ec2 import Machine
from tests.simulation.restore import Backup

from daiku.model import labels

if TYPE_CHECKING:
    from tests.simulation.world import World

GIB = 2**30
TOLERATIONS = [{"key": "dedicated", "operator": "Exists"}]


def node_pool(name: str, **spec: Any) -> Json:
    """A NodePool on the wire."""
    template = spec.pop("template")
    return {
        "apiVersion": "karpenter.sh/v1",
        "kind": "NodePool",
        "metadata": {"name": name},
        "spec": {
            "template": {
                "metadata": {"labels": {}},
                "spec": {
                    "nodeClassRef": {
                        "group": "karpenter.kwok.sh",
                        "kind": "KWOKNodeClass",
                        "name": "default",
                    },
                    "expireAfter": "Never",
                    **template,
                },
            },
            **spec,
        },
    }


class People:
    """Everybody who is not a controller."""

    def __init__(self, world: "World") -> None:
        self._world = world
        self._api, self._random = world.api, world.random
        self.actions = 0

    def set_up(self) -> None:
        """The cluster as it is before the controller comes."""
        rng, api = self._random, self._api
        body = {"apiVersion": "karpenter.kwok.sh/v1alpha1", "kind": "KWOKNodeClass"}
        api.create(CLASSES, body | {"metadata": {"name": "default"}, "spec": {}}, "people")
        self.set_class_ready("True")
        for name, weight in (("general", 0), ("dedicated", 10)):
            api.create(POOLS, self._pool(name, weight), "people")
        if rng.random() < 0.25:
            api.create(POOLS, self._static_pool(rng.randint(0, 3)), "people")
        workloads = self._world.workloads
        if rng.random() < 0.5:
            workloads.add(
                App("agent", 100, GIB // 8, daemon=True, tolerations=[{"operator": "Exists"}])
            )
        ordered = {labels.SCALE_IN_BY_NODE: "true"} if rng.random() < 0.5 else {}
        workloads.add(
            App("web", rng.choice((300, 900, 1500)), GIB, rng.randint(2, 8), annotations=ordered)
        )
        workloads.add(
            App(
                "api",
                rng.choice((500, 1200)),
                GIB,
                rng.randint(2, 4),
                min_available=rng.randint(1, 2),
                budgets=rng.choice((1, 1, 1, 1, 2)),
            )
        )
        wish = rng.choice(("true", "40s", "3m"))
        dont = {"karpenter.sh/do-not-disrupt": wish}
        workloads.add(App("batch", 700, 2 * GIB, rng.randint(0, 2), annotations=dont, grace=5))
        workloads.add(
            App("data", 400, GIB, rng.randint(0, 3), volume=True, grace=rng.choice((0, 5)))
        )
        workloads.add(
            App("shop", rng.choice((300, 900)), GIB, 1, surge=True, grace=rng.choice((0, 5)),
                min_available=rng.choice((None, 1)))
        )  # fmt: skip
        workloads.add(App("job", 600, GIB, rng.randint(0, 3), job=True))
        special = {"karpenter.sh/nodepool": "dedicated"} if rng.random() < 0.5 else {}
        critical = rng.choice(("", "system-cluster-critical"))
        workloads.add(
            App("special", 1000, GIB, rng.randint(0, 4), tolerations=TOLERATIONS, node_selector=special,
                priority_class=critical, grace=rng.choice((0, 10, 60)))
        )  # fmt: skip

    def act(self) -> None:
        """Somebody does something ordinary."""
        mercy = self._world.faults.mercy
        if self.actions >= mercy.actions_most:
            return
        self.actions += 1
        rng, workloads = self._random, self._world.workloads
        # A surge is scaled by its own fault, and by nobody else: it is about the last replica.
        apps = [a for a in workloads.apps.values() if not (a.daemon or a.surge)]
        if rng.random() < 0.1:
            self._world.story.tell("people", "scale everything to 0")
            for each in apps:
                workloads.scale(each, 0)
            return
        if self._api.find(POOLS, "fixed") is not None and rng.random() < 0.15:
            self._api.patch(POOLS, "fixed", {"spec": {"replicas": rng.randint(0, 4)}}, "people")
            return
        app = rng.choice(apps)
        wanted = rng.choice((0, 0, 1, 2, 3, 5, 8)) if rng.random() < 0.7 else app.replicas
        self._world.story.tell("people", "scale %s from %s to %s", app.name, app.replicas, wanted)
        workloads.scale(app, wanted)

    def suffer(self, kind: str) -> None:
        """Something goes wrong outside of any call."""
        world, rng = self._world, self._world.faults.random
        match kind:
            case "pool sold out":
                whats = [
                    (t.name, o.zone, o.capacity_type) for t in world.ec2.types for o in t.offerings
                ]
                few = rng.sample(whats, rng.randint(1, len(whats) // 2))
                world.ec2.sold_out |= dict.fromkeys(few, True)
                world.clock.after(
                    rng.uniform(20, 120),
                    lambda: [world.ec2.sold_out.pop(w, None) for w in few] and None,
                )
            case "instance terminated by hand" | "spot reclaimed":
                self._end_one(kind)
            case "kubelet dies":
                alive = [
                    m for m in world.ec2.machines.values() if m.is_live and m.node and not m.dead
                ]
                if alive:
                    world.kubelets.die(rng.choice(alive), rng.uniform(10, 200))
            case "node deleted by hand":
                self._delete_one(NODES)
            case "claim deleted by hand":
                self._delete_one(CLAIMS)
            case "pod deleted by hand":
                self._delete_one(PODS)
            case "claim removed by force":
                self._delete_one(CLAIMS, by_force=True)
            case "node removed by force":
                self._delete_one(NODES, by_force=True)
            case "node class not ready":
                self.set_class_ready("False")
                world.clock.after(rng.uniform(5, 40), lambda: self.set_class_ready("True"))
            case "limits changed":
                limits = rng.choice(
                    ({"cpu": "8"}, {"cpu": "16", "nodes": "4"}, {"nodes": "3"}, None)
                )
                self._edit_pool({"limits": limits})
            case "pool changed":
                self._edit_pool(self._change())
            case "pool deleted":
                self._delete_pool()
            case "history compacted":
                self._api.compact()
            case "etcd restored":
                world.clock.after(world.faults.seconds(1, 12), Backup(world).restore)
            case "crash":
                leaders = [p for p in world.processes if p.alive]
                if leaders:
                    rng.choice(leaders).crash("killed")
            case "two leaders":
                self._pause_leader()
            case "clock jumps":
                process = rng.choice([p for p in world.processes if p.alive] or [None])
                if process is not None:
                    process.offset = rng.uniform(-12, 12)
                    world.story.tell(
                        process.name, "its clock is wrong by %.1f s now", process.offset
                    )
            case "surge scaled":
                world.surges.scale_one()
            case "autoscaler comes":
                world.surges.autoscale()
            case _:
                raise AssertionError(kind)

    def set_class_ready(self, status: str) -> None:
        """Write the node class's condition."""
        at = self._world.clock.stamp()
        ready = {"type": "Ready", "status": status, "reason": "x", "lastTransitionTime": at}
        self._api.patch(CLASSES, "default", {"status": {"conditions": [ready]}}, "people", "status")

    def calm(self) -> None:
        """Mend what people broke: no limits, no expiry, no autoscaler, every kubelet and every NodePool back."""
        world = self._world
        world.ec2.sold_out.clear()
        # Until an instance has ended the controller only asks again.
        world.ec2.ends_within = 6.0
        for number in world.ec2.warned:
            world.ec2.terminate(world.ec2.machines[number], "ec2", " (taken back)")
        for process in world.processes:
            process.offset = 0.0
        self.set_class_ready("True")
        for scaler in tuple(self._api.objects[SCALERS]):
            self._api.delete(SCALERS, scaler, "people")
        for name, weight in (("general", 0), ("dedicated", 10)):
            if self._api.find(POOLS, name) is None:
                self._api.create(POOLS, self._pool(name, weight), "people")
            lasting = {"template": {"spec": {"expireAfter": "Never"}}, "limits": None}
            self._api.patch(POOLS, name, {"spec": lasting}, "people")
        for machine in world.ec2.machines.values():
            if machine.node:
                world.kubelets.revive(machine)

    def _pool(self, name: str, weight: int) -> Json:
        rng = self._random
        spot = rng.choice((["on-demand"], ["on-demand", "spot"], ["spot"]))
        requirements = [{"key": "karpenter.sh/capacity-type", "operator": "In", "values": spot}]
        template: Json = {"requirements": requirements}
        if name == "dedicated":
            template["taints"] = [{"key": "dedicated", "effect": "NoSchedule", "value": "x"}]
        if rng.random() < 0.3:
            template["terminationGracePeriod"] = rng.choice(("30s", "90s"))
        if rng.random() < 0.5:
            template["expireAfter"] = rng.choice(("90s", "2m", "5m"))
        budget = rng.choice(("100%", "1", "50%", "2"))
        limits = rng.choice((None, None, {"cpu": "24"}, {"cpu": "12"}, {"nodes": "5"}))
        after = rng.choice(("0s", "5s", "30s"))
        policy = rng.choice(("WhenEmpty", "WhenEmptyOrUnderutilized"))
        return node_pool(
            name,
            template=template,
            weight=weight,
            disruption={"consolidateAfter": after, "consolidationPolicy": policy, "budgets": [{"nodes": budget}]},
            **({"limits": limits} if limits else {}),
        )  # fmt: skip

    def _static_pool(self, replicas: int) -> Json:
        spot = [{"key": "karpenter.sh/capacity-type", "operator": "In", "values": ["on-demand"]}]
        return node_pool(
            "fixed", template={"requirements": spot}, replicas=replicas,
            disruption={"consolidateAfter": "0s", "budgets": [{"nodes": "100%"}]},
        )  # fmt: skip

    def _change(self) -> Json:
        rng = self._world.faults.random
        return rng.choice(
            (
                {"disruption": {"budgets": [{"nodes": rng.choice(("0", "1", "3", "20%"))}]}},
                {"disruption": {"consolidateAfter": rng.choice(("0s", "10s"))}},
                {"template": {"metadata": {"labels": {"team": rng.choice(("a", "b"))}}}},
                {"template": {"spec": {"terminationGracePeriod": rng.choice((None, "20s"))}}},
            )
        )

    def _edit_pool(self, spec: Json) -> None:
        names = [name for name in self._api.objects[POOLS] if name != "fixed"]
        if names:
            name = self._world.faults.random.choice(names)
            self._api.patch(POOLS, name, {"spec": spec}, "people")

    def _delete_pool(self) -> None:
        """A NodePool is deleted, and made again later."""
        name = self._world.faults.random.choice(("general", "dedicated"))
        if self._api.find(POOLS, name) is None:
            return
        self._api.delete(POOLS, name, "people")

        def again() -> None:
            if self._api.find(POOLS, name) is None:
                self._api.create(POOLS, self._pool(name, 0), "people")

        self._world.clock.after(self._world.faults.seconds(10, 60), again)

    def _end_one(self, kind: str) -> None:
        spot = kind == "spot reclaimed"
        live: list[Machine] = [
            m
            for m in self._world.ec2.machines.values()
            if m.is_live and (not spot or m.capacity_type == "spot")
        ]
        if live:
            faults, ec2 = self._world.faults, self._world.ec2
            machine = faults.random.choice(live)
            if not spot:
                ec2.terminate(machine, "people", f" ({kind})")
                return
            for _ in range(2 if faults.strike("warning repeated") else 1):
                delay = faults.seconds(10, 90) if faults.strike("warning late") else 0.0
                self._world.clock.after(delay, lambda: ec2.warn(machine) if faults.on else None)

            def take_back() -> None:
                # In peace nothing is taken back that was not when peace came.
                if faults.on:
                    ec2.terminate(machine, "ec2", " (taken back)")

            self._world.clock.after(faults.seconds(100, 120), take_back)

    def _delete_one(self, plural: str, *, by_force: bool = False) -> None:
        """Delete an object; by force: and take its finalizers away, whatever they hold."""
        there = [
            key
            for key, body in self._api.objects[plural].items()
            if not is_leaving(body) and key != "ip-system"
        ]
        if not there:
            return
        key = self._world.faults.random.choice(there)
        self._api.delete(plural, key, "people")
        if by_force and self._api.find(plural, key) is not None:
            self._api.patch(plural, key, {"metadata": {"finalizers": None}}, "people")

    def _pause_leader(self) -> None:
        """The leader's machine stands still for longer than its Lease; a standby takes over."""
        world = self._world
        leader = next((p for p in world.processes if p.leads()), None)
        if leader is None:
            return
        world.start_standby()
        leader.freezes_with_work = world.faults.seconds(18, 45)
