"""A backup of etcd is restored: objects are what they were some seconds ago, and only the cloud knows better.

As etcd's documentation asks for it (`etcdutl snapshot restore --bump-revision --mark-compacted`): versions go on from
far above, so that none is used twice, and whoever watches is told that what it knows is too old. What has no object
does not go back: instances, kubelets, what people want.
"""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tests.simulation.world import World

BUMP = 1000
"""By how much versions jump."""


class Backup:
    """All objects at one moment."""

    def __init__(self, world: "World") -> None:
        self._world = world
        self._objects = {plural: dict(there) for plural, there in world.api.objects.items()}
        self._bound = dict(world.invariants.bound)
        self._tainted = dict(world.invariants.tainted)

    def restore(self) -> None:
        """Have the API server begin anew with these objects."""
        world = self._world
        if not world.faults.on:
            return
        world.story.tell("etcd", "goes back to what it was")
        world.invariants.restored = world.clock.seconds
        world.api.restore(self._objects, BUMP)
        # What was true of these objects then is true again.
        world.invariants.bound = dict(self._bound)
        world.invariants.tainted = dict(self._tainted)
        world.kubelets.report()
        world.volumes.reconcile()
        world.workloads.reconcile()
