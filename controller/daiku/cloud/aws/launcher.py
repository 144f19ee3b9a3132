"""From a NodeClaim and the offerings that would do to one running instance.

A launch template holds everything but type and zone; types that differ in what the template must say (image, number of
pods) need templates of their own. A launch can be repeated: the client token is the claim's uid and the number of
definite answers so far, and after a restart an instance that carries the claim's tag is found before another is made.
"""

import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Final

from daiku.cloud import errors as cloud_errors
from daiku.cloud.aws import (
    capacity,
    errors,
    fleet,
    launch_templates,
    node_class,
    offerings,
    user_data,
)
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


@dataclass(slots=True)
class Launcher:
    """Launches instances. Any thread may use it, not two for the same claim at once."""

    session: Session
    templates: LaunchTemplates
    started: datetime
    """When this process began; an older claim may have an instance that nobody wrote down."""
    _answers: dict[str, int] = field(default_factory=dict[str, int])
    """Claim uid -> definite answers so far, in this process."""
    _unsure: dict[str, bool] = field(default_factory=dict[str, bool])
    """Claim uid -> a call of this process got no answer."""
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def launch(self, plan: Plan) -> Instance:
        """The instance of the claim: found, or launched now.

        Raises:
            CloudError: One of its subclasses, as CloudProvider.launch promises.
        """
        uid = plan.claim.meta.uid
        if self._may_exist(plan.claim) and (known := self._find(plan)) is not None:
            return known
        overrides = self._overrides(plan)
        try:
            made = self._create(plan, overrides)
        except cloud_errors.Unreachable:
            self._note(uid, unsure=True)
            raise
        except cloud_errors.CloudError as error:
            if error.code == errors.TOKEN_REUSED and (known := self._find(plan)) is not None:
                return known
            self._note(uid, unsure=False)
            raise
        self._forget(uid)
        option = made.override.option
        return Instance(
            instance_id=made.instance_id,
            instance_type=option.instance_type,
            zone=option.zone,
            capacity_type=option.capacity_type,
            image=made.override.image,
            sold_out=made.sold_out,
        )

    def _create(self, plan: Plan, overrides: Sequence[fleet.Override]) -> fleet.Made:
        claim = plan.claim
        nodepool = claim.meta.labels.get(labels.NODEPOOL, "")
        tags = launch_templates.tags(
            plan.cluster.name,
            plan.node_class,
            {labels.NODEPOOL: nodepool, NODE_CLAIM_TAG: claim.meta.name},
        )
        token = f"{claim.meta.uid}-{self._answers.get(claim.meta.uid, 0)}"
        context = str(plan.node_class.spec.get("context") or "")
        try:
            return fleet.create(self.session, overrides, token=token, tags=tags, context=context)
        except errors.ResourceNotFound:
            # Somebody removed a template behind our back: make it again, once.
            self.templates.forget([o.template for o in overrides])
            again = self._overrides(plan)
            return fleet.create(
                self.session, again, token=f"{token}-again", tags=tags, context=context
            )

    def _overrides(self, plan: Plan) -> list[fleet.Override]:
        subnets = {s.zone: s.id for s in reversed(node_class.subnets(plan.node_class))}
        images = node_class.images(plan.node_class)
        contents: dict[tuple[str, int], dict[str, Any]] = {}
        chosen: list[tuple[LaunchOption, str, tuple[str, int]]] = []
        for option in plan.options:
            facts = plan.types.get(option.instance_type)
            if facts is None or option.zone not in subnets:
                continue
            image = next((i.id for i in images if offerings.boots(i, facts)), "")
            if not image:
                continue
            key = (image, capacity.pods(facts, plan.sizing))
            if key not in contents:
                contents[key] = _content(plan, image, key[1], option.capacity_type)
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
            if self._unsure.get(claim.meta.uid):
                return True
            tried = claim.meta.uid in self._answers
        return not tried and (claim.meta.created is None or claim.meta.created <= self.started)

    def _note(self, uid: str, *, unsure: bool) -> None:
        with self._lock:
            if unsure:
                self._unsure[uid] = True
            else:
                self._unsure.pop(uid, None)
                self._answers[uid] = self._answers.get(uid, 0) + 1

    def _forget(self, uid: str) -> None:
        with self._lock:
            self._unsure.pop(uid, None)
            self._answers.pop(uid, None)


def _content(plan: Plan, image: str, pods_max: int, capacity_type: str) -> dict[str, Any]:
    claim, found = plan.claim, plan.node_class
    boot = user_data.Boot(
        cluster=plan.cluster,
        family=node_class.family(found),
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
    )
    return launch_templates.content(
        found=found,
        cluster=plan.cluster.name,
        image_id=image,
        user_data=user_data.render(boot),
        capacity_type=capacity_type,
        nodepool=claim.meta.labels.get(labels.NODEPOOL, ""),
    )
