"""The functions of the stand-in for `aws`: what a program asks without making anything."""

# boto3 has no types: its answers are JSON.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false
# pyright: reportUnknownArgumentType=false, reportUnknownLambdaType=false

import base64
import json
from collections.abc import Callable
from typing import Any, Final, cast

from daiku_local.plugins import sdk
from daiku_local.plugins.aws import eks
from daiku_local.plugins.aws.cloud import Cloud, tag_map
from daiku_local.plugins.aws.kinds import of as kind_of
from daiku_local.plugins.errors import ProviderError
from daiku_local.plugins.values import Plain

Function = Callable[[Cloud, Plain], Plain]


def _region(cloud: Cloud, arguments: Plain) -> Plain:
    del arguments
    name = cloud.region
    endpoint, title = f"ec2.{name}.amazonaws.com", f"the laptop world's {name}"
    return {
        "id": name,
        "name": name,
        "region": name,
        "endpoint": endpoint,
        "description": title,
    }


def _partition(cloud: Cloud, arguments: Plain) -> Plain:
    del arguments
    return {
        "id": "aws",
        "partition": "aws",
        "dnsSuffix": "amazonaws.com",
        "reverseDnsPrefix": "com.amazonaws",
        "region": cloud.region,
    }


def _caller(cloud: Cloud, arguments: Plain) -> Plain:
    del arguments
    seen = cloud.client("sts").get_caller_identity()
    account = seen["Account"]
    return {"id": account, "accountId": account, "arn": seen["Arn"], "userId": seen["UserId"]}


def _filters(arguments: Plain) -> list[dict[str, Any]]:
    given = [
        {"Name": item["name"], "Values": item["values"]} for item in arguments.get("filters") or ()
    ]
    tags = (arguments.get("tags") or {}).items()
    return [*given, *({"Name": f"tag:{key}", "Values": [value]} for key, value in tags)]


def _zones(cloud: Cloud, arguments: Plain) -> Plain:
    filters = _filters(arguments)
    if state := arguments.get("state"):
        filters.append({"Name": "state", "Values": [state]})
    found = cloud.ec2.describe_availability_zones(Filters=filters)["AvailabilityZones"]
    excluded = {*(arguments.get("excludeNames") or ()), *(arguments.get("excludeZoneIds") or ())}
    zones = sorted(
        (zone["ZoneName"], zone["ZoneId"])
        for zone in found
        if not excluded & {zone["ZoneName"], zone["ZoneId"]}
    )
    return {
        "id": cloud.region,
        "region": cloud.region,
        "names": [name for name, _ in zones],
        "zoneIds": [identifier for _, identifier in zones],
        "groupNames": [cloud.region],
        **arguments,
    }


_STATEMENT = {
    "sid": "Sid",
    "effect": "Effect",
    "actions": "Action",
    "notActions": "NotAction",
    "resources": "Resource",
    "notResources": "NotResource",
}


def _few(items: list[str]) -> str | list[str]:
    """Give one element as itself, as IAM prints policies."""
    return items[0] if len(items) == 1 else sorted(items, reverse=True)


def _principals(given: list[Plain]) -> Any:
    if any(item["type"] == "*" for item in given):
        return "*"
    collected: dict[str, list[str]] = {}
    for item in given:
        collected.setdefault(item["type"], []).extend(item["identifiers"])
    return {key: _few(names) for key, names in collected.items()}


def statement(given: Plain) -> Plain:
    """Give one statement of a policy document as IAM reads it."""
    result: Plain = {"Effect": "Allow"}
    for ours, theirs in _STATEMENT.items():
        if (value := given.get(ours)) is not None:
            result[theirs] = _few(cast("list[str]", value)) if isinstance(value, list) else value
    for ours, theirs in (("principals", "Principal"), ("notPrincipals", "NotPrincipal")):
        if given.get(ours):
            result[theirs] = _principals(given[ours])
    for condition in given.get("conditions") or ():
        tests = result.setdefault("Condition", {}).setdefault(condition["test"], {})
        tests[condition["variable"]] = _few(condition["values"])
    return result


def _policy_document(cloud: Cloud, arguments: Plain) -> Plain:
    del cloud
    unused = arguments.keys() - {"statements", "version", "policyId"}
    if unused:
        raise ProviderError(
            f"the stand-in's aws:iam/getPolicyDocument:getPolicyDocument does not honour "
            f"{', '.join(sorted(unused))}"
        )
    document: Plain = {"Version": arguments.get("version") or "2012-10-17"}
    if arguments.get("policyId"):
        document["Id"] = arguments["policyId"]
    document["Statement"] = [statement(given) for given in arguments.get("statements") or ()]
    return {
        "id": "0",
        "json": json.dumps(document, indent=2),
        "minifiedJson": json.dumps(document, separators=(",", ":")),
        **arguments,
    }


def _subnets(cloud: Cloud, arguments: Plain) -> Plain:
    found = cloud.ec2.describe_subnets(Filters=_filters(arguments))["Subnets"]
    return {
        "id": cloud.region,
        "region": cloud.region,
        "ids": sorted(subnet["SubnetId"] for subnet in found),
        **arguments,
    }


def _vpc(cloud: Cloud, arguments: Plain) -> Plain:
    filters = _filters(arguments)
    if arguments.get("default") is not None:
        filters.append({"Name": "is-default", "Values": [str(arguments["default"]).lower()]})
    ids = {"VpcIds": [arguments["id"]]} if arguments.get("id") else {}
    found = cloud.ec2.describe_vpcs(Filters=filters, **ids)["Vpcs"]
    if len(found) != 1:
        raise ProviderError(f"{arguments!r} matches {len(found)} VPCs; aws:ec2/getVpc needs one")
    identifier = found[0]["VpcId"]
    outputs = kind_of("aws:ec2/vpc:Vpc").read(cloud, identifier, {}) or {}
    tags = outputs.pop("tagsAll")
    return {
        **outputs,
        "id": identifier,
        "tags": tags,
        "region": cloud.region,
        "default": found[0].get("IsDefault", False),
    }


def _cluster(cloud: Cloud, arguments: Plain) -> Plain:
    name = arguments["name"]
    outputs = kind_of("aws:eks/cluster:Cluster").read(cloud, name, {}) or {}
    tags = outputs.pop("tagsAll")
    single = ("vpcConfig", "accessConfig", "kubernetesNetworkConfig", "upgradePolicy")
    plural = {
        f"{key[:-1]}ies" if key.endswith("y") else f"{key}s": [value]
        for key in single
        if (value := outputs.pop(key, None))
    }
    plural["vpcConfig"] = (plural.pop("vpcConfigs", None) or [{}])[0]
    return {**outputs, **plural, "id": name, "tags": tags, "region": cloud.region}


def _addon_version(cloud: Cloud, arguments: Plain) -> Plain:
    found = eks.api(cloud).describe_addon_versions(
        addonName=arguments["addonName"], kubernetesVersion=str(arguments["kubernetesVersion"])
    )["addons"]
    versions = found[0]["addonVersions"] if found else []

    def is_default(version: Any) -> bool:
        return any(match.get("defaultVersion") for match in version.get("compatibilities", ()))

    wanted = versions if arguments.get("mostRecent") else [v for v in versions if is_default(v)]
    if not wanted:
        raise ProviderError(
            f"EKS has no add-on {arguments['addonName']!r} for Kubernetes "
            f"{arguments['kubernetesVersion']}"
        )
    version = wanted[0]["addonVersion"]
    return {**arguments, "id": arguments["addonName"], "version": version, "region": cloud.region}


def _cluster_versions(cloud: Cloud, arguments: Plain) -> Plain:
    names = ("clusterType", "defaultOnly", "includeAll", "versionStatus")
    given = {key: arguments[key] for key in names if arguments.get(key) is not None}
    found = eks.api(cloud).describe_cluster_versions(**given)["clusterVersions"]
    keys = (
        "clusterType",
        "clusterVersion",
        "defaultPlatformVersion",
        "defaultVersion",
        "endOfExtendedSupportDate",
        "endOfStandardSupportDate",
        "kubernetesPatchVersion",
        "releaseDate",
        "versionStatus",
    )
    wanted = set(arguments.get("clusterVersionsOnlies") or ())
    versions = [
        {key: item.get(key) for key in keys}
        for item in found
        if not wanted or item["clusterVersion"] in wanted
    ]
    return {**arguments, "id": cloud.region, "region": cloud.region, "clusterVersions": versions}


def _parameter(cloud: Cloud, arguments: Plain) -> Plain:
    found = cloud.client("ssm").get_parameter(
        Name=arguments["name"], WithDecryption=arguments.get("withDecryption", True)
    )["Parameter"]
    return {
        "id": found["Name"],
        "name": found["Name"],
        "arn": found.get("ARN"),
        "type": found["Type"],
        "value": found["Value"],
        "insecureValue": found["Value"],
        "version": found.get("Version", 1),
        "withDecryption": arguments.get("withDecryption", True),
        "region": cloud.region,
    }


def _security_group(cloud: Cloud, arguments: Plain) -> Plain:
    filters = _filters(arguments)
    for ours, theirs in (("name", "group-name"), ("vpcId", "vpc-id"), ("id", "group-id")):
        if arguments.get(ours):
            filters.append({"Name": theirs, "Values": [arguments[ours]]})
    found = cloud.ec2.describe_security_groups(Filters=filters)["SecurityGroups"]
    if len(found) != 1:
        raise ProviderError(f"{arguments!r} matches {len(found)} security groups, and not one")
    group = found[0]
    return {
        "id": group["GroupId"],
        "arn": cloud.arn("ec2", f"security-group/{group['GroupId']}"),
        "name": group["GroupName"],
        "description": group["Description"],
        "vpcId": group.get("VpcId"),
        "tags": tag_map(group.get("Tags")),
        "region": cloud.region,
    }


def _registry_token(cloud: Cloud, arguments: Plain) -> Plain:
    asked = {"registryIds": [arguments["registryId"]]} if arguments.get("registryId") else {}
    [found] = cloud.client("ecr").get_authorization_token(**asked)["authorizationData"]
    user, _, password = base64.b64decode(found["authorizationToken"]).decode().partition(":")
    return {
        "id": cloud.region,
        "region": cloud.region,
        "authorizationToken": found["authorizationToken"],
        "userName": user,
        "password": password,
        "proxyEndpoint": found["proxyEndpoint"],
        "expiresAt": str(found["expiresAt"]),
    }


FUNCTIONS: Final[dict[str, Function]] = {
    "aws:ec2/getSecurityGroup:getSecurityGroup": _security_group,
    "aws:ec2/getSubnets:getSubnets": _subnets,
    "aws:ec2/getVpc:getVpc": _vpc,
    "aws:ecr/getAuthorizationToken:getAuthorizationToken": _registry_token,
    "aws:eks/getAddonVersion:getAddonVersion": _addon_version,
    "aws:eks/getCluster:getCluster": _cluster,
    "aws:eks/getClusterVersions:getClusterVersions": _cluster_versions,
    "aws:iam/getPolicyDocument:getPolicyDocument": _policy_document,
    "aws:index/getAvailabilityZones:getAvailabilityZones": _zones,
    "aws:index/getCallerIdentity:getCallerIdentity": _caller,
    "aws:index/getPartition:getPartition": _partition,
    "aws:index/getRegion:getRegion": _region,
    "aws:ssm/getParameter:getParameter": _parameter,
}


def of(token: str) -> Function:
    """Give the function of `token`.

    Raises:
        ProviderError: The stand-in has none of that name.
    """
    if token not in FUNCTIONS:
        raise ProviderError(
            f"the stand-in for aws knows no function {token}"
            f"{sdk.nearest(token, frozenset(FUNCTIONS))}; it knows: {', '.join(sorted(FUNCTIONS))}; "
            f"use a real account or leave it out of the local stack"
        )
    return FUNCTIONS[token]
