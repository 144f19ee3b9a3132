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
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Final

from daiku.cloud import errors as cloud_errors
from daiku.cloud.aws import (
    capacity,
    compatibility,
    errors,
    fleet,
    launch_templates,
    node_class,
    user_data,
)
from daiku.cloud.aws.batching import Batcher
from daiku.cloud.aws.capacity import Sizing
from daiku.cloud.aws.cluster import Cluster
from daiku.cloud.aws.instance_types import Facts
from daiku.cloud.aws.launch_templates import LaunchTemplates
from daiku.cloud.aws.session import Session
from daiku.model import labels
from daiku.model.instance_type import LaunchOption
from daiku.model.nodeclaim import NodeClaim
from daiku.model.nodeclass import NodeClass

NODE_CLAIM_TAG: Final = "karpenter.sh/nodeclaim"
CLAIMS_MAX: Final = 100
"""Claims of one CreateFleet call; so many instances at most may have to be collected after a crash."""
SHARED_SECONDS: Final = 1.0
"""How long a call at least is open to others once the bucket is empty: those whose call just ended get into it too."""
BUSY_SECONDS: Final = 3.0
"""How long after a call that waited the next one waits for others too: else every second call is for one claim."""
ALIVE: Final = ("pending", "running", "stopping", "stopped")


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """Everything a launch is made of."""

    claim: NodeClaim
    node_class: NodeClass
    sizing: Sizing
    options: Sequence[LaunchOption]
    types: Mapping[str, Facts]
    cluster: Cluster


@dataclass(frozen=True, slots=True, kw_only=True)
class Instance:
    """The instance of a claim."""

    instance_id: str
    instance_type: str
    zone: str
    capacity_type: str
    image: str
    sold_out: tuple[fleet.Pool, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Wish:
    """What a claim asks of EC2; claims of equal wishes can be launched by one call."""

    overrides: tuple[fleet.Override, ...]
    tags: tuple[tuple[str, str], ...]
    context: str


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Order:
    """One CreateFleet call, as it is repeated to the letter when there was no answer."""

    overrides: Sequence[fleet.Override]
    token: str
    tags: Sequence[Mapping[str, str]]
    context: str
    uids: Sequence[str]
    """Claims that it is for; the first instance is the first one's."""

    def send(self, session: Session) -> list[fleet.Made]:
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
    _answers: dict[str, int] = field(default_factory=dict[str, int])
    """Claim uid -> definite answers so far, in this process."""
    _unsure: dict[str, Order] = field(default_factory=dict[str, Order])
    """Claim uid -> the call of this process that got no answer."""
    _untagged: dict[str, str] = field(default_factory=dict[str, str])
    """Instance id -> name of its claim, which its tags do not say yet."""
    _busy_until: float = 0.0
    """Until when launches wait for others, by the clock of the pace."""
    _lock: threading.Lock = field(default_factory=threading.Lock)
    _batcher: Batcher[Order | Wish, Plan, fleet.Made] = field(init=False)

    def __post_init__(self) -> None:
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
        if self._may_exist(plan.claim) and (known := self._find(plan)) is not None:
            return known
        uid = plan.claim.meta.uid
        with self._lock:
            unsure = self._unsure.get(uid)
        try:
            made = self._batcher.call(unsure or self._wish(plan), plan)
        except cloud_errors.CloudError as error:
            if error.code == errors.TOKEN_REUSED and (known := self._find(plan)) is not None:
                return known
            raise
        option = made.override.option
        return Instance(
            instance_id=made.instance_id,
            instance_type=option.instance_type,
            zone=option.zone,
            capacity_type=option.capacity_type,
            image=made.override.image,
            sold_out=made.sold_out,
        )

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

    def _wish(self, plan: Plan) -> Wish:
        return Wish(
            overrides=tuple(self._overrides(plan)),
            tags=tuple((t["Key"], t["Value"]) for t in _tags(plan)),
            context=_context(plan),
        )

    def _execute(
        self, key: Order | Wish, plans: Sequence[Plan]
    ) -> Sequence[fleet.Made | cloud_errors.CloudError]:
        """One call for claims of one key; what came of it for each."""
        asked = [plan.claim.meta.uid for plan in plans]
        order = key if isinstance(key, Order) else self._order(key, plans)
        try:
            made = self._send(order, plans[0])
        except cloud_errors.Unreachable as error:
            with self._lock:
                self._unsure |= dict.fromkeys(order.uids, order)
            return [error] * len(plans)
        except cloud_errors.CloudError as error:
            self._note(asked)
            return [error] * len(plans)
        by_uid = dict(zip(order.uids, made, strict=False))
        if len(order.uids) > 1:
            self._remember(by_uid, plans)
        # Others of an order that is repeated will ask for theirs by it, so it stays known.
        self._forget([uid for uid in asked if uid in by_uid])
        self._note([uid for uid in asked if uid not in by_uid])
        return [by_uid.get(plan.claim.meta.uid) or fleet.too_few(made) for plan in plans]

    def _order(self, wish: Wish, plans: Sequence[Plan]) -> Order:
        uids = [plan.claim.meta.uid for plan in plans]
        tokens = [f"{uid}-{self._answers.get(uid, 0)}" for uid in uids]
        alone = len(plans) == 1
        together = hashlib.sha256("\n".join(tokens).encode()).hexdigest()[:40]
        return Order(
            overrides=wish.overrides,
            token=tokens[0] if alone else together,
            tags=_tags(plans[0], {NODE_CLAIM_TAG: plans[0].claim.meta.name} if alone else {}),
            context=wish.context,
            uids=uids,
        )

    def _send(self, order: Order, plan: Plan) -> list[fleet.Made]:
        try:
            return order.send(self.session)
        except errors.ResourceNotFound:
            # Somebody removed a template behind our back: make it again, once.
            self.templates.forget([o.template for o in order.overrides])
            again = dataclasses.replace(
                order, overrides=self._overrides(plan), token=f"{order.token}-again"
            )
            return again.send(self.session)

    def _remember(self, by_uid: Mapping[str, fleet.Made], plans: Sequence[Plan]) -> None:
        names = {plan.claim.meta.uid: plan.claim.meta.name for plan in plans}
        with self._lock:
            self._untagged |= {
                made.instance_id: names[uid] for uid, made in by_uid.items() if uid in names
            }

    def _overrides(self, plan: Plan) -> list[fleet.Override]:
        subnets = {s.zone: s.id for s in reversed(node_class.subnets(plan.node_class))}
        images = node_class.images(plan.node_class)
        wants_efa = plan.claim.requests.get(capacity.EFA, 0) > 0
        contents: dict[tuple[str, int, int], dict[str, Any]] = {}
        chosen: list[tuple[LaunchOption, str, tuple[str, int, int]]] = []
        for option in plan.options:
            facts = plan.types.get(option.instance_type)
            if facts is None or option.zone not in subnets:
                continue
            image = next((i.id for i in images if compatibility.boots(i, facts)), "")
            if not image:
                continue
            key = (
                image,
                capacity.pods(facts, plan.sizing),
                facts.efa_max if wants_efa else 0,
            )
            if key not in contents:
                contents[key] = _content(plan, *key, option.capacity_type)
            chosen.append((option, subnets[option.zone], key))
        if not chosen:
            raise cloud_errors.InsufficientCapacity(
                f"none of {len(plan.options)} offerings of NodeClaim {plan.claim.meta.name!r} has an image "
                f"and a subnet in EC2NodeClass {plan.node_class.meta.name!r}"
            )
        nodepool = plan.claim.meta.labels.get(labels.NODEPOOL, "")
        made = self.templates.ensure(list(contents.values()), plan.node_class, nodepool)
        names = dict(zip(contents, made, strict=True))
        return [
            fleet.Override(option=o, subnet=subnet, image=key[0], template=names[key])
            for o, subnet, key in chosen
        ]

    def _find(self, plan: Plan) -> Instance | None:
        filters = [
            {"Name": f"tag:{NODE_CLAIM_TAG}", "Values": [plan.claim.meta.name]},
            {"Name": "tag:eks:eks-cluster-name", "Values": [plan.cluster.name]},
            {"Name": "instance-state-name", "Values": list(ALIVE)},
        ]
        for page in self.session.pages("ec2", "describe_instances", Filters=filters):
            for reservation in page["Reservations"]:
                for found in reservation["Instances"]:
                    spot = found.get("InstanceLifecycle") == "spot"
                    return Instance(
                        instance_id=found["InstanceId"],
                        instance_type=found["InstanceType"],
                        zone=found["Placement"]["AvailabilityZone"],
                        capacity_type=labels.SPOT if spot else labels.ON_DEMAND,
                        image=found.get("ImageId", ""),
                    )
        return None

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


def _tags(plan: Plan, more: Mapping[str, str] | None = None) -> list[dict[str, str]]:
    nodepool = plan.claim.meta.labels.get(labels.NODEPOOL, "")
    own = {labels.NODEPOOL: nodepool, **(more or {})}
    return launch_templates.tags(plan.cluster.name, plan.node_class, own)


def _context(plan: Plan) -> str:
    return str(plan.node_class.spec.get("context") or "")


def _content(
    plan: Plan, image: str, pods_max: int, efas: int, capacity_type: str
) -> dict[str, Any]:
    claim, found = plan.claim, plan.node_class
    boot = user_data.Boot(
        cluster=plan.cluster,
        family=node_class.family(found).name,
        user_data=str(found.spec.get("userData") or ""),
        labels={
            **claim.meta.labels,
            labels.CAPACITY_TYPE: capacity_type,
            labels.DO_NOT_SYNC_TAINTS: "true",
        },
        taints=(*claim.taints, *claim.startup_taints),
        kubelet=node_class.kubelet(found),
        pods_max=pods_max,
        raid0=plan.sizing.raid0,
        image_version=node_class.bottlerocket_version(found),
    )
    return launch_templates.content(
        found=found,
        cluster=plan.cluster.name,
        image_id=image,
        user_data=user_data.render(boot),
        capacity_type=capacity_type,
        nodepool=claim.meta.labels.get(labels.NODEPOOL, ""),
        efas=efas,
        is_ipv6=plan.cluster.is_ipv6,
    )
