"""A launch that is only asked for: would EC2 let us make a machine of this node class?

Three calls are tried as a launch would make them, with DryRun where EC2 launches something: a policy that is missing is
told in the class's condition, not by NodeClaims that come and go. The verdict is kept for as long as nothing changes
that it depends on, half an hour at most; any annotation on the class asks anew.

Source: Karpenter's validation of EC2NodeClasses by dry run.
"""

import functools
import hashlib
import json
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any, Final

from daiku import reasons
from daiku.cloud import errors as cloud_errors
from daiku.cloud.aws import (
    compatibility,
    launch_templates,
    network_interfaces,
    node_class,
    user_data,
)
from daiku.cloud.aws.answers import parts
from daiku.cloud.aws.instance_types import Facts
from daiku.cloud.aws.launch_templates import LaunchTemplates
from daiku.cloud.aws.session import Session
from daiku.cloud.aws.user_data import Boot
from daiku.lifecycle.node_class_drift import HASH, HASH_VERSION, RESOLVED_GROUP
from daiku.model import labels
from daiku.model.nodeclass import NodeClass
from daiku.model.requirements import Requirements
from daiku.reason import Reason

VERDICT_FOR: Final = timedelta(minutes=30)
REFUSAL_FOR: Final = timedelta(minutes=10)
"""How long a no is believed: a person may be mending it."""
WOULD_SUCCEED: Final = "DryRunOperation"
USUAL_TYPES: Final = (("m5.large", "amd64"), ("m6g.large", "arm64"))
"""Tried before others: every region has them."""
PROFILE_MISSING: Final = "Invalid IAM Instance Profile name"
TOO_LONG: Final = "User data is limited to"
WRONG: Final = (
    "InvalidAMIID",
    "InvalidBlockDeviceMapping",
    "InvalidSnapshot",
    "InvalidUserData",
)
"""Beginnings of codes that no other type or subnet would mend."""

RESOLVED: Final = ("amis", "securityGroups", "subnets")
"""Parts of the status that a launch is made of."""
OURS: Final = frozenset({HASH, HASH_VERSION, RESOLVED_GROUP})
"""Annotations that a person does not write to have a class tried again."""

AUTH_CHECKS: Final[Mapping[str, Reason]] = {
    "CreateLaunchTemplate": reasons.CREATE_TEMPLATE_DENIED,
    "CreateFleet": reasons.CREATE_FLEET_DENIED,
    "RunInstances": reasons.RUN_INSTANCES_DENIED,
}
"""Call that is tried -> what the class says when it is not permitted."""
Verdict = tuple[Reason, str] | None
"""(reason, sentence) of a no; None: EC2 would."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """What is tried: a node class with its status as it is now, and what a machine of it is made of."""

    found: NodeClass
    boot: Boot
    types: Mapping[str, Facts]
    pools: Sequence[Requirements] = ()
    """What its NodePools require; a type that they would not take is not tried if there is another."""

    @property
    def key(self) -> str:
        """Changes with everything that the verdict depends on."""
        found = self.found
        theirs = sorted((k, v) for k, v in found.meta.annotations.items() if k not in OURS)
        # Subnets are listed by free addresses, an order that every launch may change and that means nothing here.
        chosen = [sorted(each["id"] for each in parts(found.status, name)) for name in RESOLVED]
        profile = found.status.get("instanceProfile")
        read = [found.spec, chosen, profile, theirs, self.boot.cluster.version]
        return hashlib.sha256(json.dumps(read, sort_keys=True, default=str).encode()).hexdigest()


@dataclass(slots=True)
class Trials:
    """Verdicts on node classes. Any thread may use it."""

    session: Session
    templates: LaunchTemplates
    now: Callable[[], datetime]
    _known: dict[str, tuple[str, Verdict, datetime]] = field(
        default_factory=dict[str, tuple[str, Verdict, datetime]]
    )
    """Node class uid -> what it was about, the verdict, and until when it holds."""
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def verdict(self, case: Case) -> Verdict:
        """Whether EC2 would make a machine; None when it would.

        Raises:
            CloudError: EC2 could not say: throttled, or no answer.
        """
        uid, key, now = case.found.meta.uid, case.key, self.now()
        with self._lock:
            known = self._known.get(uid)
        if known is not None and known[0] == key and now < known[2]:
            return known[1]
        made = self._try(case)
        with self._lock:
            self._known[uid] = (key, made, now + (VERDICT_FOR if made is None else REFUSAL_FOR))
        return made

    def forget(self, uid: str) -> None:
        """The node class is gone."""
        with self._lock:
            self._known.pop(uid, None)

    def _try(self, case: Case) -> Verdict:
        chosen = choose(case)
        if chosen is None:
            return _bootless(case) if case.types else None
        kind, image = chosen
        found = case.found
        content = launch_templates.content(
            found=found,
            cluster=case.boot.cluster.name,
            image_id=image,
            user_data=user_data.render(case.boot),
            capacity_type=labels.ON_DEMAND,
            nodepool=found.meta.name,
            is_ipv6=case.boot.cluster.is_ipv6,
            region=self.session.region,
        )
        made: list[str] = []
        refusal = _judged(
            "CreateLaunchTemplate",
            found,
            lambda: made.extend(self.templates.ensure([content], found, found.meta.name)),
        )
        if not made:
            return refusal
        (name,) = made
        try:
            return self._fleet(case, kind, name) or self._instance(case, kind, name)
        finally:
            self.templates.remove(name)

    def _fleet(self, case: Case, kind: str, template: str) -> Verdict:
        subnet = node_class.subnets(case.found)[0]
        specification = {"LaunchTemplateName": template, "Version": "$Latest"}
        override = {"InstanceType": kind, "SubnetId": subnet.id}
        return _judged(
            "CreateFleet",
            case.found,
            lambda: self.session.call(
                "ec2",
                "create_fleet",
                DryRun=True,
                Type="instant",
                TargetCapacitySpecification={
                    "TotalTargetCapacity": 1,
                    "DefaultTargetCapacityType": labels.ON_DEMAND,
                },
                LaunchTemplateConfigs=[
                    {"LaunchTemplateSpecification": specification, "Overrides": [override]}
                ],
                TagSpecifications=_tagged(case, "instance", "volume", "fleet"),
            ),
        )

    def _instance(self, case: Case, kind: str, template: str) -> Verdict:
        """The first subnet that would do; the first one's answer when none would."""
        verdicts: list[Verdict] = []
        for subnet in node_class.subnets(case.found):
            interfaces = network_interfaces.requests(
                case.found, efas=0, is_ipv6=case.boot.cluster.is_ipv6
            )
            ask = functools.partial(
                self.session.call,
                "ec2",
                "run_instances",
                DryRun=True,
                MinCount=1,
                MaxCount=1,
                InstanceType=kind,
                LaunchTemplate={"LaunchTemplateName": template, "Version": "$Latest"},
                NetworkInterfaces=[{**each, "SubnetId": subnet.id} for each in interfaces],
                TagSpecifications=_tagged(case, "instance", "volume"),
            )
            verdicts.append(_judged("RunInstances", case.found, ask))
            if verdicts[-1] is None:
                return None
        return verdicts[0]


def choose(case: Case) -> tuple[str, str] | None:
    """The type that is tried, and its image: one that a NodePool would take, without GPUs, small, well known."""
    images = node_class.images(case.found)
    if not case.types:
        # Not fetched yet: of these two every region has the one that the image boots.
        return next(
            ((n, i.id) for n, arch in USUAL_TYPES for i in images if _is_for(i, arch)), None
        )
    ranked: list[tuple[tuple[Any, ...], Facts, str]] = []
    for facts in case.types.values():
        image = next((i.id for i in images if compatibility.boots(i, facts)), "")
        if not image or compatibility.obstacle(facts, case.found):
            continue
        wanted = not case.pools or any(_takes(pool, facts) for pool in case.pools)
        usual = facts.name in dict(USUAL_TYPES)
        rank = (
            not wanted,
            bool(facts.accelerators),
            not usual,
            facts.vcpus,
            facts.memory_mib,
            facts.name,
        )
        ranked.append((rank, facts, image))
    if not ranked or all(rank[0] for rank, _, _ in ranked):
        return None
    _, facts, image = min(ranked, key=lambda each: each[0])
    return facts.name, image


def _bootless(case: Case) -> Verdict:
    images = node_class.images(case.found)
    kinds = "; ".join(f"{i.id} ({i.requirements})" for i in images)
    found = (
        f"none of {len(case.types)} instance types of the region can be made so, boots {kinds} and may be used by "
        "a NodePool of the class"
    )
    remedy = "select images of an architecture that the NodePools allow, or ask less of the machine"
    return reasons.NO_INSTANCE_TYPES, f"{found}: {remedy}"


def _is_for(image: node_class.Image, architecture: str) -> bool:
    return image.requirements.get(labels.ARCH).has(architecture)


def _takes(pool: Requirements, facts: Facts) -> bool:
    return all(pool.get(key).has(value) for key, value in facts.labels.items())


def _judged(name: str, found: NodeClass, ask: Callable[[], object]) -> Verdict:
    """What came of asking EC2 for `name`.

    Raises:
        CloudError: EC2 could not say.
    """
    try:
        ask()
    except cloud_errors.CloudError as error:
        return _refusal(name, error, found)
    return None


def _refusal(name: str, error: cloud_errors.CloudError, found: NodeClass) -> Verdict:
    if error.code == WOULD_SUCCEED:
        return None
    if isinstance(error, cloud_errors.Throttled | cloud_errors.Unreachable):
        raise error
    text = str(error)
    if isinstance(error, cloud_errors.Denied):
        return (
            AUTH_CHECKS[name],
            f"Controller isn't authorized to call ec2:{name}: {_who_denies(text)} ({error.code}: {text})",
        )
    if PROFILE_MISSING in text:
        if found.spec.get("instanceProfile"):
            given = found.spec["instanceProfile"]
            return (
                reasons.INSTANCE_PROFILE_NOT_FOUND,
                f"spec.instanceProfile {given!r} is not known to EC2 ({error.code}): create it, or name another",
            )
        # The profile that we just made is not known everywhere yet.
        raise cloud_errors.Unreachable(text, code=error.code)
    if TOO_LONG in text:
        return (
            reasons.USER_DATA_TOO_LONG,
            f"spec.userData is too long for EC2 ({error.code}): shorten it",
        )
    if error.code.startswith(WRONG):
        return (
            reasons.LAUNCH_REFUSED,
            f"EC2 would refuse every machine of this class ({error.code}): {text}",
        )
    return None


def _who_denies(text: str) -> str:
    if "permissions boundary" in text:
        return "the permissions boundary of its role does not allow it: widen the boundary"
    if "service control policy" in text:
        return "a service control policy of the organization denies it: change that policy"
    return "no policy of its role allows it: attach the controller's policies to the role"


def _tagged(case: Case, *kinds: str) -> list[dict[str, Any]]:
    name = case.found.meta.name
    known = launch_templates.tags(case.boot.cluster.name, case.found, {labels.NODEPOOL: name})
    return [{"ResourceType": kind, "Tags": known} for kind in kinds]
