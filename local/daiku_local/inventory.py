"""What exists in an AWS account, kind by kind, as AWS itself lists it.

The demo and the end-to-end test take one inventory before anything is built and one after the destroy: the
difference is what was left behind. It never asks Pulumi or the controller.
"""

# boto3 has no types of its own; everything here is a list of names out of its answers.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false

from collections.abc import Callable, Iterable, Mapping
from typing import Any

import boto3.session

Inventory = Mapping[str, frozenset[str]]
"""Kind, such as "ec2:vpc" -> identifiers."""


def take(endpoint: str, region: str) -> Inventory:
    """List everything that Daiku's program or controller could have made.

    Args:
        endpoint: URL of the (stand-in) AWS.
        region: Region to look in.

    Raises:
        botocore.exceptions.BotoCoreError: The endpoint does not answer.
    """
    session = boto3.session.Session(
        aws_access_key_id="local",
        aws_secret_access_key="local",  # noqa: S106 - the stand-in takes any
        region_name=region,
    )

    def client(service: str) -> Any:
        return session.client(service, endpoint_url=endpoint)

    ec2, iam, eks = client("ec2"), client("iam"), client("eks")
    found: dict[str, Iterable[str]] = {
        kind: _pages(ec2, operation, field, key, **filters)
        for kind, (operation, field, key, filters) in _EC2.items()
    }
    found["ec2:instance"] = [
        instance["InstanceId"]
        for page in ec2.get_paginator("describe_instances").paginate()
        for reservation in page["Reservations"]
        for instance in reservation["Instances"]
        if instance["State"]["Name"] not in {"terminated", "shutting-down"}
    ]
    found["ec2:address"] = [a["AllocationId"] for a in ec2.describe_addresses()["Addresses"]]
    found["iam:role"] = _pages(iam, "list_roles", "Roles", "RoleName")
    found["iam:policy"] = _pages(iam, "list_policies", "Policies", "PolicyName", Scope="Local")
    found["iam:instance-profile"] = _pages(
        iam, "list_instance_profiles", "InstanceProfiles", "InstanceProfileName"
    )
    found["iam:oidc-provider"] = [
        p["Arn"] for p in iam.list_open_id_connect_providers()["OpenIDConnectProviderList"]
    ]
    clusters: list[str] = eks.list_clusters()["clusters"]
    found["eks:cluster"] = clusters
    found["eks:nodegroup"] = [
        f"{cluster}/{name}"
        for cluster in clusters
        for name in eks.list_nodegroups(clusterName=cluster)["nodegroups"]
    ]
    found["sqs:queue"] = client("sqs").list_queues().get("QueueUrls", [])
    found["events:rule"] = [r["Name"] for r in client("events").list_rules()["Rules"]]
    found["kms:key"] = _live_keys(client("kms"))
    found["logs:group"] = _pages(client("logs"), "describe_log_groups", "logGroups", "logGroupName")
    return {kind: frozenset(names) for kind, names in sorted(found.items())}


def difference(before: Inventory, after: Inventory) -> dict[str, list[str]]:
    """What is in `after` and was not in `before`, kinds without any left out."""
    extra = {kind: sorted(names - before.get(kind, frozenset())) for kind, names in after.items()}
    return {kind: names for kind, names in extra.items() if names}


_AVAILABLE: Mapping[str, Any] = {"Filters": [{"Name": "state", "Values": ["pending", "available"]}]}

_EC2: Mapping[str, tuple[str, str, str, Mapping[str, Any]]] = {
    "ec2:vpc": ("describe_vpcs", "Vpcs", "VpcId", {}),
    "ec2:subnet": ("describe_subnets", "Subnets", "SubnetId", {}),
    "ec2:security-group": ("describe_security_groups", "SecurityGroups", "GroupId", {}),
    "ec2:internet-gateway": ("describe_internet_gateways", "InternetGateways", "InternetGatewayId", {}),
    "ec2:nat-gateway": ("describe_nat_gateways", "NatGateways", "NatGatewayId", _AVAILABLE),
    "ec2:route-table": ("describe_route_tables", "RouteTables", "RouteTableId", {}),
    "ec2:network-interface": (
        "describe_network_interfaces", "NetworkInterfaces", "NetworkInterfaceId", {},
    ),
    "ec2:volume": ("describe_volumes", "Volumes", "VolumeId", {}),
    "ec2:launch-template": ("describe_launch_templates", "LaunchTemplates", "LaunchTemplateName", {}),
}  # fmt: skip


def _pages(client: Any, operation: str, field: str, key: str, **arguments: Any) -> list[str]:
    call: Callable[..., Iterable[Mapping[str, Any]]] = client.get_paginator(operation).paginate
    return [item[key] for page in call(**arguments) for item in page[field]]


def _live_keys(kms: Any) -> list[str]:
    """Customer keys that are not waiting for their deletion, which takes at least seven days.

    AWS makes keys of its own, under aliases such as aws/ebs, when a service first needs one, and keeps them.
    """
    aliases = kms.get_paginator("list_aliases").paginate()
    aws_owned = {
        alias.get("TargetKeyId")
        for page in aliases
        for alias in page["Aliases"]
        if alias["AliasName"].startswith("alias/aws/")
    }
    names = [name for name in _pages(kms, "list_keys", "Keys", "KeyId") if name not in aws_owned]
    states = {name: kms.describe_key(KeyId=name)["KeyMetadata"]["KeyState"] for name in names}
    return [name for name, state in states.items() if state != "PendingDeletion"]
