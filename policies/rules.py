"""The rules themselves: what a resource must not be, as functions of its type and properties.

Each yields sentences that say what is there and what to do. No Pulumi in here.
"""

# Properties of resources are JSON.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

Props = Mapping[str, Any]
Check = Callable[[str, Props], Iterator[str]]

CLUSTER_TAG = "daiku.dev/cluster"
DISCOVERY_TAG = "karpenter.sh/discovery"
_CLUSTER = "aws:eks/cluster:Cluster"
_POLICIES = frozenset({"aws:iam/policy:Policy", "aws:iam/rolePolicy:RolePolicy"})
_READS = ("Describe", "Get", "List", "BatchGet", "Lookup", "Head")
_ANYWHERE = frozenset({"0.0.0.0/0", "::/0"})
_UNTAGGABLE = frozenset(
    {
        "aws:cloudwatch/eventTarget:EventTarget",
        "aws:ec2/route:Route",
        "aws:ec2/routeTableAssociation:RouteTableAssociation",
        "aws:ec2/securityGroupRule:SecurityGroupRule",
        "aws:ec2/tag:Tag",
        "aws:ec2/vpcIpv4CidrBlockAssociation:VpcIpv4CidrBlockAssociation",
        "aws:ecr/lifecyclePolicy:LifecyclePolicy",
        "aws:eks/accessPolicyAssociation:AccessPolicyAssociation",
        "aws:iam/rolePolicy:RolePolicy",
        "aws:iam/rolePolicyAttachment:RolePolicyAttachment",
        "aws:kms/alias:Alias",
        "aws:sqs/queuePolicy:QueuePolicy",
    }
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """One thing that is asked of resources."""

    name: str
    """Its name in Pulumi's output."""
    description: str
    """What it asks for."""
    check: Check
    """What a resource has against it."""


def public_endpoint(resource_type: str, props: Props) -> Iterator[str]:
    """An API server that is open to the world, or to nobody knows whom."""
    if resource_type != _CLUSTER:
        return
    network = props.get("vpcConfig") or {}
    if network.get("endpointPublicAccess") is False:
        return
    ranges = set(network.get("publicAccessCidrs") or ())
    if not ranges or ranges & _ANYWHERE:
        yield (
            "the API server can be reached from anywhere: list who may in daiku:publicAccessCidrs, or set "
            "daiku:endpointPublicAccess to false"
        )


def wide_rights(resource_type: str, props: Props) -> Iterator[str]:
    """A right to change any resource of the account."""
    if resource_type not in _POLICIES:
        return
    document = props.get("policy")
    content = json.loads(document) if isinstance(document, str) else document or {}
    for statement in _many(content.get("Statement")):
        if statement.get("Effect") != "Allow" or "*" not in _many(statement.get("Resource")):
            continue
        changes = [action for action in _many(statement.get("Action")) if not _is_read(action)]
        if changes and not statement.get("Condition"):
            yield (
                f"statement {statement.get('Sid', 'without a Sid')} allows {', '.join(changes)} on any "
                f"resource: name the resources, or ask for a tag in a condition"
            )


def clear_text(resource_type: str, props: Props) -> Iterator[str]:
    """Something that is stored unencrypted."""
    if resource_type == _CLUSTER and not props.get("encryptionConfig"):
        yield "Secrets have no key of their own: set daiku:encryptSecrets to true"
    if resource_type == "aws:sqs/queue:Queue" and not (
        props.get("sqsManagedSseEnabled") or props.get("kmsMasterKeyId")
    ):
        yield "the queue is not encrypted: set sqs_managed_sse_enabled"
    if resource_type == "aws:ec2/launchTemplate:LaunchTemplate":
        yield from _clear_disks(props)
    if resource_type.endswith(":EC2NodeClass"):
        yield from _clear_disks(props.get("spec") or {})


def open_metadata(resource_type: str, props: Props) -> Iterator[str]:
    """Credentials of a node that any process on it can ask for without a session."""
    # A node class asks for sessions by itself; a launch template takes EC2's default, which does not.
    if resource_type.endswith(":EC2NodeClass"):
        options, default = (props.get("spec") or {}).get("metadataOptions") or {}, "required"
    elif resource_type == "aws:ec2/launchTemplate:LaunchTemplate":
        options, default = props.get("metadataOptions") or {}, "optional"
    else:
        return
    if options.get("httpTokens", default) != "required":
        yield "instance metadata is open to requests without a session: set httpTokens to required"


def untagged(resource_type: str, props: Props) -> Iterator[str]:
    """Something of which nobody will know whose it is."""
    if not resource_type.startswith("aws:") or resource_type in _UNTAGGABLE:
        return
    if CLUSTER_TAG not in (props.get("tags") or {}):
        yield f"it does not say which cluster it is for: give it the tag {CLUSTER_TAG}"


def discovery_groups(resources: Iterable[tuple[str, Props]]) -> str:
    """Say so where not exactly one security group can be found by node classes; "" where one can.

    Load balancer controllers refuse nodes with two groups of one cluster, and nodes without any never join.
    """
    found = 0
    has_cluster = False
    for resource_type, props in resources:
        has_cluster |= resource_type == _CLUSTER
        if resource_type == "aws:ec2/securityGroup:SecurityGroup":
            found += DISCOVERY_TAG in (props.get("tags") or {})
        if resource_type == "aws:ec2/tag:Tag" and props.get("key") == DISCOVERY_TAG:
            found += not str(props.get("resourceId") or "").startswith("subnet-")
    if found == 1 or not (has_cluster or found):
        return ""
    return (
        f"{found} security groups carry the tag {DISCOVERY_TAG}, and exactly one must: leave it to the "
        f"component Cluster"
    )


RULES: Sequence[Rule] = (
    Rule(
        name="no-open-endpoint",
        description="The API server is private, or public to listed ranges.",
        check=public_endpoint,
    ),
    Rule(
        name="no-wide-rights",
        description="Nothing may change any resource of the account unconditionally.",
        check=wide_rights,
    ),
    Rule(
        name="encrypted",
        description="Secrets, queues and disks are encrypted.",
        check=clear_text,
    ),
    Rule(
        name="metadata-by-session",
        description="Instance metadata is given to sessions only.",
        check=open_metadata,
    ),
    Rule(
        name="tagged",
        description="Everything that can be tagged names its cluster.",
        check=untagged,
    ),
)
"""What is asked of single resources."""


def _clear_disks(props: Props) -> Iterator[str]:
    for mapping in props.get("blockDeviceMappings") or ():
        disk = mapping.get("ebs") or {}
        if str(disk.get("encrypted", "true")).lower() != "true":
            yield f"the disk {mapping.get('deviceName')} is not encrypted: set encrypted to true"


def _is_read(action: str) -> bool:
    return action.partition(":")[2].startswith(_READS)


def _many(value: Any) -> list[Any]:
    if value is None:
        return []
    return list(value) if isinstance(value, list | tuple) else [value]
