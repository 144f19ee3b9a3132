"""From a NodeClaim and the offerings that would do to one running instance.

A launch template holds everything but type and zone; types that differ in what the template must say (image, number of
pods) need templates of their own. A launch can be repeated: the client token is the claim's uid and the number of
definite answers so far, and after a restart an instance that carries the claim's tag is found before another is made.

As long as EC2 takes calls at once, each claim has a call of its own. When its bucket is empty, equal claims that wait
for their turn go together in one call; their instances are tagged with their claims afterwards
(docs/decisions/0004-launches-share-a-call-when-ec2-is-busy.md).
"""

import contextlib
import dataclasses
import hashlib
import threading
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Final

from daiku.cloud import errors as cloud_errors
from daiku.cloud.aws import errors, fleet, node_class, search, unavailable, wishes
from daiku.cloud.aws.addresses import Addresses, Taken
from daiku.cloud.aws.batching import Batcher
from daiku.cloud.aws.launch_templates import LaunchTemplates
from daiku.cloud.aws.search import NODE_CLAIM_TAG, Instance
from daiku.cloud.aws.session import Session
from daiku.cloud.aws.wishes import Plan, Wish
from daiku.model.nodeclaim import NodeClaim
from daiku.telemetry import metrics

CLAIMS_MAX: Final = 100
"""Claims of one CreateFleet call; so many instances at most may have to be collected after a crash."""
SHARED_SECONDS: Final = 1.0
"""How long a call at least is open to others once the bucket is empty: those whose call just ended get into it too."""
BUSY_SECONDS: Final = 3.0
"""How long after a call that waited the next one waits for others too: else every second call is for one claim."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Order:
    """One CreateFleet call, as it is repeated to the letter when there was no answer."""

    overrides: Sequence[fleet.Override]
    token: str
    tags: Sequence[Mapping[str, str]]
    context: str
    uids: Sequence[str]
    """Claims that it is for; the first instance is the first one's."""
    closed: tuple[fleet.Pool, ...] = ()
    """Pools in zones without a free address, which are not asked for."""
    taken: Taken = field(default_factory=Taken)
    """Addresses that it may use."""

    def send(self, session: Session) -> fleet.Answer:
        """Make the call."""
        return fleet.create(
            session,
            self.overrides,
            token=self.token,
            tags=self.tags,
            context=self.context,
            count=len(self.uids),
        )


@dataclass(slots=True)
class Launcher:
    """Launches instances. Any thread may use it, not two for the same claim at once."""

    session: Session
    templates: LaunchTemplates
    started: datetime
    """When this process began; an older claim may have an instance that nobody wrote down."""
    addresses: Addresses
    _answers: dict[str, int] = field(default_factory=dict[str, int])
    """Claim uid -> definite answers so far, in this process."""
    _unsure: dict[str, Order] = field(default_factory=dict[str, Order])
    """Claim uid -> the call of this process that got no answer."""
    _untagged: dict[str, str] = field(default_factory=dict[str, str])
    """Instance id -> name of its claim, which its tags do not say yet."""
    _busy_until: float = 0.0
    """Until when launches wait for others, by the clock of the pace."""
    _lock: threading.Lock = field(default_factory=threading.Lock)
    _batcher: Batcher[Order | Wish, Plan, Instance] = field(init=False)
    _finder: Batcher[str, str, Instance | None] = field(init=False)

    def __post_init__(self) -> None:
        self._finder = search.make(self.session)
        self._batcher = Batcher(
            name="create_fleet",
            execute=self._execute,
            open_seconds=self._open_seconds,
            items_max=CLAIMS_MAX,
        )

    def _open_seconds(self) -> float:
        wait, now = self.session.pace.reserve("create_fleet"), self.session.pace.monotonic()
        with self._lock:
            if wait <= 0 and now >= self._busy_until:
                return 0.0
            self._busy_until = now + wait + BUSY_SECONDS
            return max(wait, SHARED_SECONDS)

    def launch(self, plan: Plan) -> Instance:
        """The instance of the claim: found, or launched now.

        Raises:
            CloudError: One of its subclasses, as CloudProvider.launch promises.
        """
        is_looked_for = not plan.options or self._may_exist(plan.claim)
        if is_looked_for and (known := self._find(plan)) is not None:
            return known
        if not plan.options:
            raise cloud_errors.InstanceNotFound(
                f"the instance of NodeClaim {plan.claim.meta.name!r}, which was listed, is gone"
            )
        with self._lock:
            unsure = self._unsure.get(plan.claim.meta.uid)
        try:
            return self._batcher.call(unsure or wishes.make(plan, self.templates), plan)
        except cloud_errors.CloudError as error:
            if error.code == errors.TOKEN_REUSED and (known := self._find(plan)) is not None:
                return known
            raise

    def tag_some(self, most: int) -> None:
        """Write on instances that were launched together which claim each is for; the oldest `most` of them.

        Raises:
            CloudError: EC2 refused; they are tagged later.
        """
        with self._lock:
            due = list(self._untagged.items())[:most]
        for instance_id, claim in due:
            tag = {"Key": NODE_CLAIM_TAG, "Value": claim}
            with contextlib.suppress(cloud_errors.InstanceNotFound):
                self.session.call("ec2", "create_tags", Resources=[instance_id], Tags=[tag])
            with self._lock:
                self._untagged.pop(instance_id, None)

    def _find(self, plan: Plan) -> Instance | None:
        return self._finder.call(plan.cluster.name, plan.claim.meta.name)

    def _execute(
        self, key: Order | Wish, plans: Sequence[Plan]
    ) -> Sequence[Instance | cloud_errors.CloudError]:
        """One call for claims of one key; what came of it for each."""
        asked = [plan.claim.meta.uid for plan in plans]
        order = key if isinstance(key, Order) else self._order(key, plans)
        try:
            order, answer = self._send(order, plans[0])
        except _Unanswered as silence:
            with self._lock:
                self._unsure |= dict.fromkeys(silence.order.uids, silence.order)
            return [silence.error] * len(plans)
        except cloud_errors.CloudError as error:
            self.addresses.give_back(order.taken, {})
            self._note(asked)
            return [error] * len(plans)
        sold_out = self._learn(order, answer, plans[0])
        by_uid = dict(zip(order.uids, answer.made, strict=False))
        if len(order.uids) > 1:
            self._remember(by_uid, plans)
        # Others of an order that is repeated will ask for theirs by it, so it stays known.
        self._forget([uid for uid in asked if uid in by_uid])
        self._note([uid for uid in asked if uid not in by_uid])
        refused = fleet.refusal(answer.problems, sold_out, made=len(answer.made))
        return [_instance(by_uid[uid], sold_out) if uid in by_uid else refused for uid in asked]

    def _order(self, wish: Wish, plans: Sequence[Plan]) -> Order:
        uids = [plan.claim.meta.uid for plan in plans]
        tokens = [f"{uid}-{self._answers.get(uid, 0)}" for uid in uids]
        alone = len(plans) == 1
        together = hashlib.sha256("\n".join(tokens).encode()).hexdigest()[:40]
        chosen = self.addresses.choose(wish.subnets)
        placed = _placed(wish.overrides, chosen)
        least: dict[str, int] = {}
        for override in placed:
            least[override.subnet] = min(override.pods, least.get(override.subnet, override.pods))
        return Order(
            overrides=placed,
            token=tokens[0] if alone else together,
            tags=wishes.tags(plans[0], {NODE_CLAIM_TAG: plans[0].claim.meta.name} if alone else {}),
            context=wish.context,
            uids=uids,
            closed=tuple(o.pool for o in wish.overrides if o.option.zone not in chosen),
            taken=self.addresses.take({s: pods * len(plans) for s, pods in least.items()}),
        )

    def _send(self, order: Order, plan: Plan) -> tuple[Order, fleet.Answer]:
        """Make the call of an order; gives the order as it was made in the end.

        Raises:
            _Unanswered: Whether it was made is not known.
            CloudError: EC2 refused the call.
        """
        if not order.overrides:
            zones = sorted({zone for _, zone, _ in order.closed})
            message = f"no subnet of {', '.join(zones)} has a free address"
            raise cloud_errors.InsufficientCapacity(message, sold_out=order.closed)
        try:
            return order, order.send(self.session)
        except cloud_errors.Unreachable as error:
            raise _Unanswered(order, error) from error
        except errors.ResourceNotFound as error:
            if error.code not in errors.TEMPLATE_GONE:
                raise
        # Somebody removed a template behind our back: make it again, once.
        self.templates.forget([o.template for o in order.overrides])
        subnets = {o.option.zone: o.subnet for o in order.overrides}
        made = _placed(wishes.overrides(plan, self.templates), subnets)
        again = dataclasses.replace(order, overrides=made, token=f"{order.token}-again")
        try:
            return again, again.send(self.session)
        except cloud_errors.Unreachable as error:
            raise _Unanswered(again, error) from error

    def _learn(self, order: Order, answer: fleet.Answer, plan: Plan) -> tuple[fleet.Pool, ...]:
        """Remember what an answer says of subnets; gives the pools that are not to be had."""
        used = Counter(made.override.subnet for made in answer.made)
        taken = order.taken.addresses
        each = {s: count // len(order.uids) for s, count in taken.items()}
        self.addresses.give_back(order.taken, {s: n * each.get(s, 0) for s, n in used.items()})
        self.addresses.full(unavailable.full_subnets(answer.problems))
        still_open = self.addresses.choose(node_class.subnets(plan.node_class))
        full = [o.pool for o in order.overrides if o.option.zone not in still_open]
        zone_ids = {s.zone: s.zone_id for s in node_class.subnets(plan.node_class)}
        for problem in answer.problems:
            reason = errors.meaning(problem.code, problem.message).reason
            for zone, capacity_type in {
                (o.option.zone, o.option.capacity_type) for o in problem.overrides
            }:
                metrics.LAUNCH_FAILURES.labels(
                    zone, zone_ids.get(zone, ""), capacity_type, reason
                ).inc()
        known = unavailable.pools(answer.problems, plan.types, nothing_made=not answer.made)
        return tuple(dict.fromkeys((*known, *full, *order.closed)))

    def _remember(self, by_uid: Mapping[str, fleet.Made], plans: Sequence[Plan]) -> None:
        names = {plan.claim.meta.uid: plan.claim.meta.name for plan in plans}
        with self._lock:
            self._untagged |= {
                made.instance_id: names[uid] for uid, made in by_uid.items() if uid in names
            }

    def _may_exist(self, claim: NodeClaim) -> bool:
        with self._lock:
            if claim.meta.uid in self._unsure:
                return True
            tried = claim.meta.uid in self._answers
        return not tried and (claim.meta.created is None or claim.meta.created <= self.started)

    def _note(self, uids: Sequence[str]) -> None:
        """These got a definite no."""
        with self._lock:
            for uid in uids:
                self._unsure.pop(uid, None)
                self._answers[uid] = self._answers.get(uid, 0) + 1

    def _forget(self, uids: Sequence[str]) -> None:
        with self._lock:
            for uid in uids:
                self._unsure.pop(uid, None)
                self._answers.pop(uid, None)


class _Unanswered(Exception):
    """A call got no answer."""

    def __init__(self, order: Order, error: cloud_errors.Unreachable) -> None:
        super().__init__(str(error))
        self.order, self.error = order, error


def _placed(
    overrides: Sequence[fleet.Override], subnets: Mapping[str, str]
) -> tuple[fleet.Override, ...]:
    """The overrides in zones that have a subnet: zone -> subnet."""
    return tuple(
        dataclasses.replace(o, subnet=subnets[o.option.zone])
        for o in overrides
        if o.option.zone in subnets
    )


def _instance(made: fleet.Made, sold_out: tuple[fleet.Pool, ...]) -> Instance:
    option = made.override.option
    return Instance(
        instance_id=made.instance_id,
        instance_type=option.instance_type,
        zone=option.zone,
        capacity_type=option.capacity_type,
        image=made.override.image,
        reservation=made.override.reservation.id if made.override.reservation else "",
        sold_out=sold_out,
    )
