"""A Deployment whose pods ask for a surge: its object, and what must be true of its ready pods."""

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from tests.simulation import rules
from tests.simulation.apiserver import (
    DEPLOYMENTS,
    PODS,
    SCALERS,
    Change,
    Json,
    app_of,
    is_leaving,
    is_ready,
)  # fmt: skip
from tests.simulation.clock import seconds_of

from daiku.model import labels, units
from daiku.surge import carry, hold

if TYPE_CHECKING:
    from tests.simulation.controllers import App
    from tests.simulation.world import World

HASH = "7f9c"
LATELY = 30.0
"""Who was ready this long ago may still be believed to be."""
KNOWN = hold.FRESH.total_seconds() + LATELY
"""An autoscaler that is gone may be believed in for this long: by what was read of it, and until something is done."""


def body(app: "App") -> Json:
    """The Deployment of `app`; nobody rolls it out here, so its status is always that of a settled one."""
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": app.name},
        "spec": {"replicas": app.replicas},
        "status": {"observedGeneration": 1},
    }


def is_under_way(deployment: Json) -> bool:
    return labels.SURGING in (deployment["metadata"].get("labels") or {})


@dataclass(slots=True)
class Surges:
    """What a controller may not do to pods that ask for a surge."""

    world: "World"
    lost: dict[str, dict[str, float]] = field(default_factory=dict)
    """App -> uid of a pod that served once -> when it ceased to."""
    evicted: int = 0
    """Pods of it that were asked to leave while another one served."""
    finished: int = 0
    """Surges that came to an end."""
    scaled: dict[str, float] = field(default_factory=dict)
    """App -> when an autoscaler of it was last seen to be there or to go."""

    def watch(self, change: Change) -> None:
        """A pod or a Deployment changed."""
        old, new = change.old, change.new
        if change.plural == SCALERS:
            self.scaled[change.key.partition("/")[2]] = self.world.clock.seconds
        if change.plural == DEPLOYMENTS and old is not None and new is not None:
            self.finished += is_under_way(old) and not is_under_way(new)
        if change.plural != PODS or old is None:
            return
        app = self.world.workloads.apps[app_of(old)]
        if app.surge and serves(old) and (new is None or not serves(new)):
            lost = self.lost.setdefault(app.name, {})
            lost[old["metadata"]["uid"]] = self.world.clock.seconds

    def check(self, pod: Json, node: Json, claim: Json | None) -> str:
        """Why `pod` may not be asked to leave `node` now; empty when it may."""
        world, now = self.world, self.world.clock.seconds
        app = world.workloads.apps[app_of(pod)]
        if not app.surge or not serves(pod) or claim is None or not self._is_by_choice(claim):
            return ""
        # Whoever deletes the Node, and not its NodeClaim, has chosen for the controller, however old the NodeClaim is.
        ends = [b["metadata"].get("deletionTimestamp") for b in (node, claim)]
        if all(ends) and seconds_of(ends[0]) < seconds_of(ends[1]):
            return ""
        # A pod that is not ready keeps nothing up and leaves without a surge; one that has been ready for a moment may
        # still be believed not to be.
        if now - ready_since(pod) < rules.KNOWN:
            return ""
        uid = pod["metadata"]["uid"]
        others = [
            p for p in world.api.all(PODS)
            if app_of(p) == app.name and p["metadata"]["uid"] != uid and serves(p)
        ]  # fmt: skip
        lately = (
            u for u, at in self.lost.get(app.name, {}).items() if u != uid and now - at < LATELY
        )
        if others or any(lately):
            self.evicted += 1
            return ""
        if f"default/{app.name}" in world.api.objects[SCALERS]:
            return ""
        deployment = world.api.get(DEPLOYMENTS, f"default/{app.name}")
        stopped = labels.SURGE_STOPPED in (deployment["metadata"].get("annotations") or {})
        waited = now - seconds_of(claim["metadata"].get("deletionTimestamp", world.clock.stamp()))
        if now - self.scaled.get(app.name, -KNOWN) < KNOWN:
            return ""
        if stopped or waited >= carry.TIMEOUT.total_seconds() - LATELY:
            return ""
        name = node["metadata"]["name"]
        return f"pod {pod['metadata']['name']} is asked to leave {name}, and no other of {app.name} is ready"

    def scale_one(self) -> None:
        """An autoscaler, or a person, changes the replicas in the middle of a surge."""
        rng = self.world.faults.random
        for key, deployment in list(self.world.api.objects[DEPLOYMENTS].items()):
            if is_under_way(deployment):
                wanted = {"spec": {"replicas": rng.choice((1, 1, 2, 3))}}
                self.world.api.patch(DEPLOYMENTS, key, wanted, "autoscaler")

    def autoscale(self) -> None:
        """A HorizontalPodAutoscaler comes, changes the replicas now and then, and goes."""
        world, rng = self.world, self.world.faults.random
        ends = world.clock.seconds + rng.uniform(20, 120)
        for key, deployment in world.api.objects[DEPLOYMENTS].items():
            if key in world.api.objects[SCALERS]:
                continue
            name = deployment["metadata"]["name"]
            target = {"apiVersion": "apps/v1", "kind": "Deployment", "name": name}
            body = {
                "apiVersion": "autoscaling/v2",
                "kind": "HorizontalPodAutoscaler",
                "metadata": {"name": name},
                "spec": {"scaleTargetRef": target, "minReplicas": 1, "maxReplicas": 3},
            }
            world.api.create(SCALERS, body, "people", "default")
            self._look_at_load(key, ends)

    def _look_at_load(self, key: str, ends: float) -> None:
        """One look of an autoscaler at its Deployment, every 15 s."""
        world, now = self.world, self.world.clock.seconds
        if world.api.find(SCALERS, key) is None:
            return
        if now >= ends or not world.faults.on:
            world.api.delete(SCALERS, key, "people")
            return
        wanted = {"spec": {"replicas": world.faults.random.choice((1, 1, 2, 3))}}
        world.api.patch(DEPLOYMENTS, key, wanted, "autoscaler")
        world.clock.after(15.0, lambda: self._look_at_load(key, ends))

    def unfinished(self) -> list[str]:
        """Surges that nobody has brought to an end."""
        found = self.world.api.objects[DEPLOYMENTS].items()
        return [f"the surge of {key} is not over" for key, d in found if is_under_way(d)]

    def _is_by_choice(self, claim: Json) -> bool:
        told = claim["status"].get("conditions", ())
        if any(c["type"] == "DisruptionReason" and c["status"] == "True" for c in told):
            return True
        meta, lasts = claim["metadata"], claim["spec"].get("expireAfter", "Never")
        if lasts == "Never" or "deletionTimestamp" not in meta:
            return False
        length = units.parse_duration(lasts).total_seconds()
        return (
            seconds_of(meta["deletionTimestamp"]) - seconds_of(meta["creationTimestamp"]) >= length
        )


def ready_since(pod: Json) -> float:
    """Since when a pod that is ready has been so."""
    (ready,) = [c for c in pod["status"]["conditions"] if c["type"] == "Ready"]
    return seconds_of(ready["lastTransitionTime"])


def serves(pod: Json) -> bool:
    return is_ready(pod) and not is_leaving(pod)
