"""What a private VPC needs beside routes: endpoints of AWS services, and a log of its traffic."""

# ruff: noqa: ARG002, D102 - the verbs are Kind's, which says what they mean
# boto3 has no types: its answers are JSON.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false
# pyright: reportUnknownArgumentType=false, reportUnknownLambdaType=false

from typing import Any

from daiku_local.plugins.aws import cloud as clouds
from daiku_local.plugins.aws.cloud import Cloud, tag_map
from daiku_local.plugins.aws.iam import document
from daiku_local.plugins.aws.kind import Ec2Kind, kind, names
from daiku_local.plugins.values import Plain

ENDPOINT_SECONDS = 120.0

_MEMBERS = {
    "routeTableIds": "RouteTableIds",
    "subnetIds": "SubnetIds",
    "securityGroupIds": "SecurityGroupIds",
}


@kind("aws:ec2/vpcEndpoint:VpcEndpoint")
class VpcEndpoint(Ec2Kind):
    """A service of AWS, reachable without leaving the VPC."""

    ec2_type = "vpc-endpoint"
    fixed = names("vpcId serviceName vpcEndpointType")
    live = names("privateDnsEnabled policy") | frozenset(_MEMBERS)

    def create(self, cloud: Cloud, inputs: Plain) -> str:
        parameters: dict[str, Any] = {
            "VpcId": inputs["vpcId"],
            "ServiceName": inputs["serviceName"],
            "VpcEndpointType": inputs.get("vpcEndpointType", "Gateway"),
            "PrivateDnsEnabled": inputs.get("privateDnsEnabled"),
            "PolicyDocument": document(inputs["policy"]) if "policy" in inputs else None,
            **{theirs: inputs.get(ours) for ours, theirs in _MEMBERS.items()},
        }
        answer = cloud.ec2.create_vpc_endpoint(
            **{key: value for key, value in parameters.items() if value is not None},
            **self.tag_specifications(inputs),
        )
        return answer["VpcEndpoint"]["VpcEndpointId"]

    @staticmethod
    def _describe(cloud: Cloud, identifier: str) -> Any:
        found = cloud.ec2.describe_vpc_endpoints(VpcEndpointIds=[identifier])["VpcEndpoints"]
        return found[0] if found else {"State": "deleted"}

    def settle(self, cloud: Cloud, identifier: str, inputs: Plain) -> None:
        clouds.until(
            lambda: self._describe(cloud, identifier)["State"],
            lambda state: state.lower() == "available",
            what=f"VPC endpoint {identifier} is not available",
            seconds=ENDPOINT_SECONDS,
        )

    def update(self, cloud: Cloud, identifier: str, new: Plain, changed: set[str]) -> None:
        seen = self.read(cloud, identifier, new) or {}
        parameters: dict[str, Any] = {}
        for name in changed & _MEMBERS.keys():
            before, after = set(seen.get(name) or ()), set(new.get(name) or ())
            parameters |= {f"Add{_MEMBERS[name]}": sorted(after - before)}
            parameters |= {f"Remove{_MEMBERS[name]}": sorted(before - after)}
        if "privateDnsEnabled" in changed:
            parameters["PrivateDnsEnabled"] = bool(new.get("privateDnsEnabled"))
        if "policy" in changed:
            policy = new.get("policy")
            parameters |= {"PolicyDocument": document(policy)} if policy else {"ResetPolicy": True}
        parameters = {key: value for key, value in parameters.items() if value != []}
        if parameters:
            cloud.ec2.modify_vpc_endpoint(VpcEndpointId=identifier, **parameters)

    def read(self, cloud: Cloud, identifier: str, known: Plain) -> Plain | None:
        endpoint = self._describe(cloud, identifier)
        if endpoint["State"].lower() in {"deleted", "deleting"}:
            return None
        return {
            "arn": cloud.arn("ec2", f"vpc-endpoint/{identifier}"),
            "vpcId": endpoint["VpcId"],
            "serviceName": endpoint["ServiceName"],
            "vpcEndpointType": endpoint.get("VpcEndpointType", "Gateway"),
            "state": endpoint["State"].lower(),
            "ownerId": endpoint.get("OwnerId", cloud.account),
            "privateDnsEnabled": endpoint.get("PrivateDnsEnabled", False),
            "policy": endpoint.get("PolicyDocument"),
            "routeTableIds": endpoint.get("RouteTableIds", []),
            "subnetIds": endpoint.get("SubnetIds", []),
            "securityGroupIds": [group["GroupId"] for group in endpoint.get("Groups", ())],
            "networkInterfaceIds": endpoint.get("NetworkInterfaceIds", []),
            "tagsAll": tag_map(endpoint.get("Tags")),
        }

    def delete(self, cloud: Cloud, identifier: str, state: Plain) -> None:
        cloud.ec2.delete_vpc_endpoints(VpcEndpointIds=[identifier])
        clouds.until(
            lambda: (clouds.found(lambda: self._describe(cloud, identifier)) or {}).get("State"),
            lambda seen: seen is None or seen.lower() == "deleted",
            what=f"VPC endpoint {identifier} is not deleted",
            seconds=ENDPOINT_SECONDS,
        )


_LOGGED = {"vpcId": "VPC", "subnetId": "Subnet", "eniId": "NetworkInterface"}
_LOG_PARAMETERS = {
    "trafficType": "TrafficType",
    "logDestinationType": "LogDestinationType",
    "logDestination": "LogDestination",
    "logFormat": "LogFormat",
    "iamRoleArn": "DeliverLogsPermissionArn",
    "maxAggregationInterval": "MaxAggregationInterval",
}


@kind("aws:ec2/flowLog:FlowLog")
class FlowLog(Ec2Kind):
    """A log of the traffic of a VPC, a subnet or an interface."""

    ec2_type = "vpc-flow-log"
    fixed = frozenset(_LOGGED) | frozenset(_LOG_PARAMETERS)

    def create(self, cloud: Cloud, inputs: Plain) -> str:
        logged = next(name for name in _LOGGED if inputs.get(name))
        answer = cloud.ec2.create_flow_logs(
            ResourceIds=[inputs[logged]],
            ResourceType=_LOGGED[logged],
            **{theirs: inputs[ours] for ours, theirs in _LOG_PARAMETERS.items() if ours in inputs},
            **self.tag_specifications(inputs),
        )
        return answer["FlowLogIds"][0]

    def read(self, cloud: Cloud, identifier: str, known: Plain) -> Plain | None:
        found = cloud.ec2.describe_flow_logs(FlowLogIds=[identifier])["FlowLogs"]
        if not found:
            return None
        log = found[0]
        logged = next((name for name in _LOGGED if known.get(name)), "vpcId")
        return {
            "arn": cloud.arn("ec2", f"vpc-flow-log/{identifier}"),
            logged: log["ResourceId"],
            "tagsAll": tag_map(log.get("Tags")),
            **{ours: log.get(theirs) for ours, theirs in _LOG_PARAMETERS.items()},
        }

    def delete(self, cloud: Cloud, identifier: str, state: Plain) -> None:
        cloud.ec2.delete_flow_logs(FlowLogIds=[identifier])
