"""Traps in the AWS account: what tags, roles and images must be for nodes to come and to join.

Each check reads with the person's own credentials, and reads only. A call that is denied is a note, not a finding.
"""

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

from daiku.cli.doctoring.evidence import Evidence
from daiku.cli.doctoring.finding import Finding, Severity, finding
from daiku.cloud import errors
from daiku.cloud.aws.session import Session
from daiku.model import labels
from daiku.model.nodeclass import NodeClass

SPOT_ROLE: Final = "AWSServiceRoleForEC2Spot"
SPOT_PATH: Final = "/aws-service-role/spot.amazonaws.com/"
FREE_LEAST: Final = 16
"""Free addresses from which on a subnet is short of them; a node takes many."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Account:
    """Where to ask, and about what."""

    session: Session
    cluster: str
    """Name of the EKS cluster."""
    evidence: Evidence
    now: datetime

    @property
    def node_classes(self) -> list[NodeClass]:
        """Those of EC2."""
        return [each for each in self.evidence.node_classes if each.ref.kind == "EC2NodeClass"]


def examine(account: Account, notes: list[str]) -> list[Finding]:
    """Run every check of the account; `notes` takes those that could not be run, and why."""
    found: list[Finding] = []
    for name, run in CHECKS.items():
        try:
            found += run(account)
        except errors.CloudError as error:
            notes.append(f"{name} not checked: {error}")
    return found


def security_groups(account: Account) -> Iterator[Finding]:
    """The load balancer controller wants one group with the cluster's tag on each interface."""
    tag = f"kubernetes.io/cluster/{account.cluster}"
    for each in account.node_classes:
        ids = [str(group.get("id", "")) for group in each.status.get("securityGroups") or ()]
        if not ids:
            continue
        answer = account.session.call("ec2", "describe_security_groups", GroupIds=ids)
        tagged = [group["GroupId"] for group in answer["SecurityGroups"] if tag in _tags(group)]
        if len(tagged) > 1:
            yield finding(
                "discovery-tag-on-several-groups",
                Severity.ERROR,
                [f"EC2NodeClass {each.meta.name}"],
                f"{len(tagged)} of its security groups carry the tag {tag} ({', '.join(sorted(tagged))}): the AWS Load "
                "Balancer Controller refuses nodes with more than one, and load balancers lose their targets",
                "leave the tag on one of them, or select one group in securityGroupSelectorTerms",
            )


def subnets(account: Account) -> Iterator[Finding]:
    """Subnets without room for nodes."""
    for each in account.node_classes:
        ids = [str(subnet.get("id", "")) for subnet in each.status.get("subnets") or ()]
        if not ids:
            continue
        found = account.session.call("ec2", "describe_subnets", SubnetIds=ids)["Subnets"]
        short = {
            s["SubnetId"]: s["AvailableIpAddressCount"]
            for s in found
            if s["AvailableIpAddressCount"] < FREE_LEAST
        }
        if short:
            said = ", ".join(f"{name} has {free}" for name, free in sorted(short.items()))
            yield finding(
                "subnet-out-of-addresses",
                Severity.WARNING,
                [f"EC2NodeClass {each.meta.name}"],
                f"{len(short)} of its {len(found)} subnets have fewer than {FREE_LEAST} free addresses ({said}): "
                "launches there fail, or pods stay without an address",
                "add subnets or a secondary range, or use prefix delegation",
            )
        zones = {s["AvailabilityZone"] for s in found}
        if len(zones) == 1:
            yield finding(
                "one-zone",
                Severity.ADVICE,
                [f"EC2NodeClass {each.meta.name}"],
                f"all its subnets are in {min(zones)}: when that zone runs out of capacity or fails, no node comes",
                "select subnets in two zones or more",
            )


def access_entries(account: Account) -> Iterator[Finding]:
    """Roles of nodes that the cluster does not let in."""
    for each in account.node_classes:
        arn = _role(account, each)
        if not arn:
            continue
        try:
            answer = account.session.call(
                "eks", "describe_access_entry", clusterName=account.cluster, principalArn=arn
            )
        except errors.CloudError as error:
            if "ResourceNotFound" not in str(error):
                raise
            kind = "none"
        else:
            kind = str(answer["accessEntry"].get("type", ""))
        if not kind.startswith(("EC2", "HYBRID")):
            yield finding(
                "access-entry-missing",
                Severity.ERROR,
                [f"EC2NodeClass {each.meta.name}"],
                f"the role {arn} has no access entry for nodes (found: {kind}): its instances start, are paid "
                "for, and never join, unless aws-auth still names the role",
                f"aws eks create-access-entry --cluster-name {account.cluster} --principal-arn {arn} --type EC2_LINUX",
            )


def trust(account: Account) -> Iterator[Finding]:
    """Roles of nodes that EC2 may not take."""
    for each in account.node_classes:
        arn = _role(account, each)
        name = arn.rpartition("/")[2]
        if not name:
            continue
        role = account.session.call("iam", "get_role", RoleName=name)["Role"]
        document = role["AssumeRolePolicyDocument"]
        policy: Any = json.loads(document) if isinstance(document, str) else document
        if "ec2.amazonaws.com" not in json.dumps(policy):
            yield finding(
                "trust-policy",
                Severity.ERROR,
                [f"IAM role {name}"],
                "its trust policy does not name ec2.amazonaws.com: instances get no credentials, and cannot join",
                "let Principal.Service ec2.amazonaws.com do sts:AssumeRole",
            )


def spot_role(account: Account) -> Iterator[Finding]:
    """Spot pools in an account that has never used spot."""
    wanted = [
        pool.meta.name
        for pool in account.evidence.node_pools
        if pool.template.requirements.get(labels.CAPACITY_TYPE).has(labels.SPOT)
    ]
    if not wanted or not account.node_classes:
        return
    answer = account.session.call("iam", "list_roles", PathPrefix=SPOT_PATH)
    if not answer["Roles"]:
        yield finding(
            "spot-service-linked-role",
            Severity.ERROR,
            [f"NodePool {name}" for name in wanted],
            f"they may buy spot, and the account has no role {SPOT_ROLE}: spot launches fail unless the "
            "controller may make it",
            "aws iam create-service-linked-role --aws-service-name spot.amazonaws.com",
        )


def images(account: Account) -> Iterator[Finding]:
    """Images that their owner has given up."""
    for each in account.node_classes:
        ids = [str(image.get("id", "")) for image in each.status.get("amis") or ()]
        if not ids:
            continue
        found = account.session.call("ec2", "describe_images", ImageIds=ids)["Images"]
        old = sorted(i["ImageId"] for i in found if _is_past(i.get("DeprecationTime"), account.now))
        if old:
            yield finding(
                "deprecated-image",
                Severity.WARNING,
                [f"EC2NodeClass {each.meta.name}"],
                f"{len(old)} of its images are deprecated ({', '.join(old)}): they get no fixes, and can be taken away",
                "select newer ones, such as alias al2023@latest; nodes then drift to them within budgets",
            )


CHECKS: Final[Mapping[str, Callable[[Account], Iterator[Finding]]]] = {
    "discovery-tag-on-several-groups": security_groups,
    "subnet-out-of-addresses": subnets,
    "access-entry-missing": access_entries,
    "trust-policy": trust,
    "spot-service-linked-role": spot_role,
    "deprecated-image": images,
}


def _role(account: Account, node_class: NodeClass) -> str:
    """ARN of the role of a class's nodes, by its instance profile; empty: it has none yet."""
    profile = str(node_class.status.get("instanceProfile") or "")
    if not profile:
        return ""
    answer = account.session.call("iam", "get_instance_profile", InstanceProfileName=profile)
    roles = answer["InstanceProfile"]["Roles"]
    return str(roles[0]["Arn"]) if roles else ""


def _tags(group: Mapping[str, Any]) -> dict[str, str]:
    return {tag["Key"]: tag.get("Value", "") for tag in group.get("Tags") or ()}


def _is_past(text: str | None, now: datetime) -> bool:
    return bool(text) and datetime.fromisoformat(str(text)) < now
