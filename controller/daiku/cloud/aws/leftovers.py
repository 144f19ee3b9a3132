"""What a controller has made in AWS for one cluster: found by its tags, listed, and removed.

Nodes are in nobody's state file. Whatever happens to the controller and to the API server, the tags on
what it made still say whose it is; so this is how a destroy knows that it is done, and how a person
asks what is still billed. Volumes of PersistentVolumeClaims are listed and never removed: they hold data.
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Final

from daiku.cloud import errors
from daiku.cloud.aws.session import Json, Session

NODEPOOL: Final = "karpenter.sh/nodepool"
NODE_CLASS: Final = "karpenter.k8s.aws/ec2nodeclass"
CLAIM_NAME: Final = "kubernetes.io/created-for/pvc/name"
CNI_CLUSTER: Final = "cluster.k8s.amazonaws.com/name"
_GONE = ("NotFound", "NoSuchEntity", "NotFoundException")
_LIVE_STATES = ("pending", "running", "stopping", "stopped")
_AT_ONCE = 200
"""Instances that one TerminateInstances may name."""


class Kind(StrEnum):
    """What can be left over, in the order in which it has to go."""

    INSTANCE = "instance"
    INTERFACE = "network interface"
    VOLUME = "volume"
    LAUNCH_TEMPLATE = "launch template"
    INSTANCE_PROFILE = "instance profile"
    DATA_VOLUME = "volume of a PersistentVolumeClaim"


@dataclass(frozen=True, slots=True, kw_only=True, order=True)
class Leftover:
    """One thing that carries the tags of a cluster's controller."""

    kind: Kind
    """What it is."""
    identifier: str
    """Its id, or its name where AWS knows it by that."""
    owner: str = ""
    """NodePool, node class or claim that it was made for."""

    @property
    def removable(self) -> bool:
        """Whether removing it loses nothing that somebody stored."""
        return self.kind is not Kind.DATA_VOLUME


def find(session: Session, cluster: str) -> list[Leftover]:
    """List what the cluster's controller made and what is still there, in the order in which it has to go.

    Raises:
        CloudError: AWS could not be asked.
    """
    owned = f"kubernetes.io/cluster/{cluster}"
    found = [
        *_instances(session, owned),
        *_interfaces(session, owned, cluster),
        *_volumes(session, owned),
        *_launch_templates(session, owned),
        *_profiles(session, cluster),
    ]
    order = list(Kind)
    return sorted(found, key=lambda item: (order.index(item.kind), item.identifier))


def remove(session: Session, items: Iterable[Leftover]) -> dict[Leftover, str]:
    """Remove what can be removed; give what AWS says against the rest. What is gone already is no error."""
    wanted = [item for item in items if item.removable]
    instances = [item for item in wanted if item.kind is Kind.INSTANCE]
    refused: dict[Leftover, str] = {}
    for start in range(0, len(instances), _AT_ONCE):
        some = instances[start : start + _AT_ONCE]
        ids = [item.identifier for item in some]
        if problem := _tried(
            lambda ids=ids: session.call("ec2", "terminate_instances", InstanceIds=ids)
        ):
            refused |= dict.fromkeys(some, problem)
    for item in wanted:
        if item.kind is Kind.INSTANCE:
            continue
        if problem := _tried(lambda item=item: _remove_one(session, item)):
            refused[item] = problem
    return refused


def _tried(call: Callable[[], object]) -> str:
    """Do it; give what AWS says against it, "" where it is done or was done before."""
    try:
        call()
    except errors.CloudError as error:
        return "" if any(word in error.code for word in _GONE) else str(error)
    return ""


def _remove_one(session: Session, item: Leftover) -> None:
    match item.kind:
        case Kind.INTERFACE:
            session.call("ec2", "delete_network_interface", NetworkInterfaceId=item.identifier)
        case Kind.VOLUME:
            session.call("ec2", "delete_volume", VolumeId=item.identifier)
        case Kind.LAUNCH_TEMPLATE:
            session.call("ec2", "delete_launch_template", LaunchTemplateId=item.identifier)
        case Kind.INSTANCE_PROFILE:
            _remove_profile(session, item.identifier)
        case Kind.INSTANCE | Kind.DATA_VOLUME:
            pass


def _remove_profile(session: Session, name: str) -> None:
    """A profile goes only without its role."""
    profile = session.call("iam", "get_instance_profile", InstanceProfileName=name)
    for role in profile["InstanceProfile"].get("Roles", ()):
        session.call(
            "iam",
            "remove_role_from_instance_profile",
            InstanceProfileName=name,
            RoleName=role["RoleName"],
        )
    session.call("iam", "delete_instance_profile", InstanceProfileName=name)


def _instances(session: Session, owned: str) -> Iterator[Leftover]:
    filters = [
        _having(f"tag:{owned}", "owned"),
        _having("tag-key", NODEPOOL),
        _having("instance-state-name", *_LIVE_STATES, "shutting-down"),
    ]
    for page in session.pages("ec2", "describe_instances", Filters=filters):
        for reservation in page["Reservations"]:
            for instance in reservation["Instances"]:
                yield Leftover(
                    kind=Kind.INSTANCE,
                    identifier=instance["InstanceId"],
                    owner=_tags(instance).get(NODEPOOL, ""),
                )


def _interfaces(session: Session, owned: str, cluster: str) -> Iterator[Leftover]:
    """Those of launched instances, and those that the VPC CNI left when its node went."""
    seen: set[str] = set()
    for filters in (
        [_having(f"tag:{owned}", "owned"), _having("tag-key", NODEPOOL)],
        [_having(f"tag:{CNI_CLUSTER}", cluster)],
    ):
        free = [*filters, _having("status", "available")]
        for page in session.pages("ec2", "describe_network_interfaces", Filters=free):
            for interface in page["NetworkInterfaces"]:
                identifier = interface["NetworkInterfaceId"]
                if identifier not in seen:
                    seen.add(identifier)
                    owner = _tags(interface).get(NODEPOOL, "")
                    yield Leftover(kind=Kind.INTERFACE, identifier=identifier, owner=owner)


def _volumes(session: Session, owned: str) -> Iterator[Leftover]:
    free = [_having(f"tag:{owned}", "owned"), _having("status", "available")]
    for page in session.pages("ec2", "describe_volumes", Filters=free):
        for volume in page["Volumes"]:
            known = _tags(volume)
            if NODEPOOL in known:
                kind, owner = Kind.VOLUME, known[NODEPOOL]
            else:
                kind, owner = Kind.DATA_VOLUME, known.get(CLAIM_NAME, "")
            yield Leftover(kind=kind, identifier=volume["VolumeId"], owner=owner)


def _launch_templates(session: Session, owned: str) -> Iterator[Leftover]:
    filters = [_having(f"tag:{owned}", "owned"), _having("tag-key", NODE_CLASS)]
    for page in session.pages("ec2", "describe_launch_templates", Filters=filters):
        for template in page["LaunchTemplates"]:
            yield Leftover(
                kind=Kind.LAUNCH_TEMPLATE,
                identifier=template["LaunchTemplateId"],
                owner=_tags(template).get(NODE_CLASS, ""),
            )


def _profiles(session: Session, cluster: str) -> Iterator[Leftover]:
    """Profiles that the controller made for roles of node classes: they lie under a path of their own."""
    start = f"/karpenter/{session.region}/{cluster}/"
    for page in session.pages("iam", "list_instance_profiles", PathPrefix=start):
        for profile in page["InstanceProfiles"]:
            if profile["Path"].startswith(start):
                name = profile["InstanceProfileName"]
                yield Leftover(kind=Kind.INSTANCE_PROFILE, identifier=name)


def _having(name: str, *values: str) -> Json:
    return {"Name": name, "Values": list(values)}


def _tags(described: Json) -> dict[str, str]:
    rows: list[dict[str, Any]] = described.get("Tags") or []
    return {row["Key"]: row["Value"] for row in rows}
