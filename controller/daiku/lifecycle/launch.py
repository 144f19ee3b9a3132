"""From a NodeClaim to an instance.

The NodeClaim exists first; its uid is the launch's token, so asking twice gets the same instance. What can be launched
is ranked here, in full: the cloud provider is told what to try, and in which order.

What the cloud answers decides what happens next. No capacity, or a node class that cannot launch: the claim is given up
and its pods are planned again, without what was sold out. Anything else: the same launch again, after a pause.

Source: Karpenter's nodeclaim.lifecycle, launch.
"""

from typing import Final

from daiku import reasons
from daiku.cloud import errors
from daiku.commands import DeleteNodeClaim, Launch
from daiku.lifecycle import choice
from daiku.lifecycle.draft import Draft
from daiku.model import resources
from daiku.model.instance_type import Catalogue, InstanceType, LaunchOption, Offering
from daiku.model.nodeclaim import NodeClaim
from daiku.model.requirements import Requirements
from daiku.reason import Reason
from daiku.scheduling import expected
from daiku.settings import Settings
from daiku.state.snapshot import Snapshot

_MESSAGE_MOST: Final = 300


def advance(draft: Draft, snapshot: Snapshot, catalogue: Catalogue, settings: Settings) -> None:
    """Bring the NodeClaim nearer to having an instance."""
    claim = draft.claim
    name = claim.meta.name
    launched = snapshot.launched.get(name)
    if claim.provider_id:
        draft.set("Launched", "True")
    elif launched is not None:
        # A label may be left of an instance that went before its launch was written down.
        draft.labels |= launched.labels
        draft.annotations |= launched.annotations
        draft.provider_id = launched.provider_id
        draft.image_id = launched.image_id
        draft.capacity = launched.capacity
        draft.allocatable = launched.allocatable
        draft.set("Launched", "True")
    else:
        _ask(draft, snapshot, catalogue, settings)


def options(
    claim: NodeClaim, snapshot: Snapshot, catalogue: Catalogue, settings: Settings
) -> tuple[LaunchOption, ...]:
    """What would do for `claim` and can be had, cheapest first, all of one capacity type."""
    found: list[choice.Option] = []
    for instance_type in expected.types_of(claim, catalogue):
        if not resources.fits(claim.requests, instance_type.allocatable):
            continue
        found += [
            (instance_type, _option(instance_type, offering))
            for offering in instance_type.offerings
            if offering.available
            and (instance_type.name, offering.zone, offering.capacity_type) not in snapshot.sold_out
            and _suits(claim.requirements, offering.requirements)
        ]
    return choice.choose(
        found,
        claim.requirements,
        settings.instance_types_per_launch_max,
        strict=settings.min_values_policy == "Strict",
    )


def _ask(draft: Draft, snapshot: Snapshot, catalogue: Catalogue, settings: Settings) -> None:
    claim = draft.claim
    node_class = snapshot.node_classes.get(claim.node_class)
    failure = snapshot.launch_failures.get(claim.meta.name)
    if node_class is None or not node_class.ready or isinstance(failure, errors.NodeClassNotReady):
        why = (
            str(failure)
            if failure is not None
            else f"{claim.node_class.kind} {claim.node_class.name} is not ready"
        )
        _give_up(draft, reasons.ENDED_NODE_CLASS_NOT_READY, reasons.NODE_CLASS_NOT_READY, why)
        return
    if isinstance(failure, errors.InsufficientCapacity):
        _give_up(
            draft,
            reasons.ENDED_INSUFFICIENT_CAPACITY,
            reasons.INSUFFICIENT_CAPACITY_ERROR,
            str(failure),
        )
        return
    if failure is not None:
        draft.set("Launched", "Unknown", failure.reason, _cut(str(failure)))
    hold = snapshot.holds.get(f"Launch/{claim.meta.name}")
    # A launch that was not written down, or that a restored backup knows nothing of: its instance is to be found.
    runs = bool(snapshot.instance_of(claim))
    unneeded = claim.meta.name in snapshot.unneeded and not runs
    if unneeded and (hold is None or hold.until is not None):
        _give_up(
            draft,
            reasons.ENDED_UNNEEDED,
            reasons.UNNEEDED,
            reasons.means(reasons.ENDED_UNNEEDED),
        )
        return
    if hold is not None:
        if hold.until is not None:
            draft.wakes.append(hold.until)
        elif failure is None:
            draft.defer()
        return
    if claim.node_class not in catalogue.instance_types:
        draft.set(
            "Launched",
            "Unknown",
            reasons.CATALOGUE_MISSING,
            reasons.means(reasons.CATALOGUE_MISSING),
        )
        return
    ranked = () if runs else options(claim, snapshot, catalogue, settings)
    if ranked or runs:
        draft.commands.append(Launch(node_claim=claim, options=ranked))
        if failure is None:
            draft.defer()
    else:
        asked = _cut(str(claim.requirements))
        _give_up(
            draft,
            reasons.ENDED_INSUFFICIENT_CAPACITY,
            reasons.INSUFFICIENT_CAPACITY_ERROR,
            f"no offering can be had now for {asked}",
        )


def _give_up(draft: Draft, reason: Reason, event: Reason, message: str) -> None:
    meta = draft.claim.meta
    draft.announce("Warning", event, f"NodeClaim {meta.name} is given up: {message}")
    draft.commands.append(DeleteNodeClaim(name=meta.name, uid=meta.uid, reason=reason))
    draft.ended = True


def _option(instance_type: InstanceType, offering: Offering) -> LaunchOption:
    return LaunchOption(
        instance_type=instance_type.name,
        zone=offering.zone,
        capacity_type=offering.capacity_type,
        price_usd_per_hour=offering.price_usd_per_hour,
    )


def _suits(asked: Requirements, offering: Requirements) -> bool:
    """Whether an offering meets what is asked of the labels that it decides."""
    return not asked.intersects(offering)


def _cut(message: str) -> str:
    return message if len(message) <= _MESSAGE_MOST else message[:_MESSAGE_MOST] + "..."
