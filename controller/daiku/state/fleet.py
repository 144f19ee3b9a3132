"""What the cloud has said: which instances there are, what was launched, what it refused, and what it will take back.

All of it may be lost in a restart: NodeClaims name their instances, and the cloud's list names the NodeClaims of the
others.
"""

from collections.abc import Container, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Final

from daiku import commands, events
from daiku.cloud import errors
from daiku.cloud.errors import CloudError
from daiku.cloud.provider import Instance, LaunchedInstance
from daiku.model import interruption, labels
from daiku.model.nodeclaim import NodeClaim
from daiku.state.interruptions import InterruptionIndex
from daiku.state.registrations import is_young
from daiku.state.soldout import SoldOut

Traits = tuple[str, tuple[str, ...], bool]
"""Subnet, security groups, and whether it runs in its reservation."""
_NO_TRAITS: Final[Traits] = "", (), False


@dataclass(slots=True)
class Fleet:
    """The cloud's side of a cluster. Part of `Cluster`."""

    instances: events.InstancesListed | None = None
    """The last list; None before the first."""
    gone: frozenset[str] = frozenset()
    """Provider ids that the cloud denied knowing when it was told to end them."""
    launched: dict[str, LaunchedInstance] = field(default_factory=dict[str, LaunchedInstance])
    """NodeClaim name -> its instance, until the NodeClaim itself says so."""
    failures: dict[str, CloudError] = field(default_factory=dict[str, CloudError])
    """NodeClaim name -> why the last launch came to nothing."""
    sold_out: SoldOut = field(default_factory=SoldOut)
    interruptions: InterruptionIndex = field(default_factory=InterruptionIndex)
    _found: dict[str, str] = field(default_factory=dict[str, str])
    """NodeClaim name -> provider id, from the last list; replaced and never changed."""
    _traits: dict[str, "Traits"] | None = None
    """Provider id -> what the last list said that decisions look at, of those that run; None before the first."""

    def see_list(self, listed: events.InstancesListed, claims: Iterable[NodeClaim]) -> bool:
        """The cloud listed what there is; whether that can change a decision.

        Most lists only say that some time has passed. That matters for instances without a NodeClaim, for NodeClaims
        without an instance, and for those that were launched into a reservation and are not in it.
        """
        self.instances = listed
        live = [each for each in listed.instances if not each.terminating]
        # Of several that carry one name the first by its id.
        ordered = sorted(live, key=lambda each: each.provider_id, reverse=True)
        self._found = {each.node_claim: each.provider_id for each in ordered if each.node_claim}
        before, self._traits = self._traits, {each.provider_id: _traits(each) for each in live}
        named = {claim.provider_id: claim for claim in claims}
        if before is None or self._traits.keys() != named.keys():
            return True
        return any(
            traits != before.get(each, _NO_TRAITS)
            or named[each].meta.labels.get(labels.CAPACITY_TYPE) == labels.RESERVED
            for each, traits in self._traits.items()
        )

    def see_launch(self, launch: events.Launched, claims: Container[str]) -> None:
        """An instance was launched; of a NodeClaim that was removed meanwhile it is an orphan."""
        if launch.node_claim in claims:
            self.launched[launch.node_claim] = launch.instance
        self.failures.pop(launch.node_claim, None)
        self.sold_out.add(launch.instance.sold_out)

    def see_failure(self, claim: str, error: CloudError) -> None:
        """A launch came to nothing."""
        self.failures[claim] = error
        if isinstance(error, errors.InsufficientCapacity):
            self.sold_out.add(error.sold_out)

    def refused(self, command: commands.Launch, error: CloudError) -> None:
        """A launch of this process came to nothing."""
        self.see_failure(command.node_claim.meta.name, error)
        if isinstance(error, errors.InsufficientCapacity) and not error.sold_out:
            # The cloud does not say which pools: all that were tried, or the next claim tries them again.
            self.sold_out.add((o.instance_type, o.zone, o.capacity_type) for o in command.options)

    def denied(
        self, command: commands.TerminateInstance, failed: events.Failed, claim: object
    ) -> None:
        """The cloud does not know an instance that it was told to end; of a young one that says nothing."""
        young = isinstance(claim, NodeClaim) and is_young(claim, failed.finished)
        if isinstance(failed.error, errors.InstanceUnknown) and young:
            return
        self.gone |= {command.provider_id}
        if self.instances is not None:
            # The last list does not know yet, and would have it ended once more.
            self.instances = replace(
                self.instances,
                instances=tuple(
                    replace(each, terminating=True)
                    if each.provider_id == command.provider_id
                    else each
                    for each in self.instances.instances
                ),
            )

    def warn(self, warning: events.Interrupted, claims: Iterable[NodeClaim]) -> None:
        """The cloud warns about an instance."""
        if not self.interruptions.add(warning) or warning.kind != interruption.SPOT:
            return
        for claim in claims:
            if claim.provider_id.endswith(f"/{warning.instance_id}"):
                # Where one instance is taken back, the next one is not safe either.
                known = claim.meta.labels
                place = known.get(labels.INSTANCE_TYPE, ""), known.get(labels.ZONE, "")
                self.sold_out.add([(*place, labels.SPOT)])

    def forget(self, claim: str) -> None:
        """A NodeClaim names its instance itself now, or is gone."""
        self.launched.pop(claim, None)
        self.failures.pop(claim, None)

    def keep(self, known: Iterable[str]) -> None:
        """Forget that instances are gone which nothing names any more; `known` are provider ids that something does."""
        if self.gone:
            launched = (instance.provider_id for instance in self.launched.values())
            self.gone = self.gone.intersection((*known, *launched, *self._found.values()))

    def unnamed(self) -> Mapping[str, str]:
        """Instances that were launched for NodeClaims which may not name them: NodeClaim name -> provider id.

        A NodeClaim that a restored backup knows as it was before its launch has one in the cloud's list, perhaps with
        a Node full of pods; so has one whose launch was not written down before a crash. A list may be older than the
        last launch: one of it that is gone is not the one.
        """
        if not (self.gone or self.launched):
            return self._found
        found = {name: each for name, each in self._found.items() if each not in self.gone}
        return {**found, **{name: each.provider_id for name, each in self.launched.items()}}


def _traits(instance: Instance) -> Traits:
    return instance.subnet, instance.security_groups, instance.reserved
