"""Route tables, their routes, and which subnets use them."""

# ruff: noqa: ARG002, D102 - the verbs are Kind's, which says what they mean
# boto3 has no types: its answers are JSON.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false
# pyright: reportUnknownArgumentType=false, reportUnknownLambdaType=false

import hashlib
from typing import Any

from daiku_local.plugins.aws import cloud as clouds
from daiku_local.plugins.aws.cloud import Cloud, tag_map
from daiku_local.plugins.aws.kind import Ec2Kind, Kind, kind, names
from daiku_local.plugins.values import Plain

_TARGETS = {
    "gatewayId": "GatewayId",
    "natGatewayId": "NatGatewayId",
    "egressOnlyGatewayId": "EgressOnlyInternetGatewayId",
    "networkInterfaceId": "NetworkInterfaceId",
    "transitGatewayId": "TransitGatewayId",
    "vpcPeeringConnectionId": "VpcPeeringConnectionId",
    "vpcEndpointId": "VpcEndpointId",
}
_DESTINATIONS = {
    "destinationCidrBlock": "DestinationCidrBlock",
    "destinationIpv6CidrBlock": "DestinationIpv6CidrBlock",
    "destinationPrefixListId": "DestinationPrefixListId",
}
_INLINE = {
    "cidrBlock": "DestinationCidrBlock",
    "ipv6CidrBlock": "DestinationIpv6CidrBlock",
    "destinationPrefixListId": "DestinationPrefixListId",
}


def _parameters(names_of: dict[str, str], values: Plain) -> dict[str, Any]:
    return {theirs: values[ours] for ours, theirs in names_of.items() if values.get(ours)}


def _table(cloud: Cloud, identifier: str) -> Any:
    return cloud.ec2.describe_route_tables(RouteTableIds=[identifier])["RouteTables"][0]


def _own_routes(table: Any) -> list[Any]:
    """Give the routes that somebody made: not the VPC's own, not those of gateway endpoints."""
    return [
        route
        for route in table["Routes"]
        if route.get("GatewayId") != "local"
        and route.get("Origin", "CreateRoute") == "CreateRoute"
        and not str(route.get("GatewayId", "")).startswith("vpce-")
    ]


@kind("aws:ec2/routeTable:RouteTable")
class RouteTable(Ec2Kind):
    """A route table, with its routes where they are given inline."""

    ec2_type = "route-table"
    fixed = names("vpcId")
    live = names("routes")

    def create(self, cloud: Cloud, inputs: Plain) -> str:
        answer = cloud.ec2.create_route_table(
            VpcId=inputs["vpcId"], **self.tag_specifications(inputs)
        )
        return answer["RouteTable"]["RouteTableId"]

    def settle(self, cloud: Cloud, identifier: str, inputs: Plain) -> None:
        if "routes" not in inputs:
            return
        names_of = {**_INLINE, **_TARGETS}
        wanted = [_parameters(names_of, route) for route in inputs["routes"]]
        present = [
            {key: route[key] for key in names_of.values() if route.get(key)}
            for route in _own_routes(_table(cloud, identifier))
        ]
        for route in present:
            if route not in wanted:
                destination = {k: v for k, v in route.items() if k in _INLINE.values()}
                cloud.ec2.delete_route(RouteTableId=identifier, **destination)
        for route in wanted:
            if route not in present:
                cloud.ec2.create_route(RouteTableId=identifier, **route)

    def update(self, cloud: Cloud, identifier: str, new: Plain, changed: set[str]) -> None:
        if "routes" in changed and new.get("routes") is None:
            self.settle(cloud, identifier, {"routes": []})

    def read(self, cloud: Cloud, identifier: str, known: Plain) -> Plain | None:
        table = _table(cloud, identifier)
        outputs: Plain = {
            "arn": cloud.arn("ec2", f"route-table/{identifier}"),
            "vpcId": table["VpcId"],
            "ownerId": table.get("OwnerId", cloud.account),
            "tagsAll": tag_map(table.get("Tags")),
        }
        if "routes" in known:  # else they belong to resources of their own
            names_of = {**_INLINE, **_TARGETS}
            outputs["routes"] = [
                {ours: route[theirs] for ours, theirs in names_of.items() if route.get(theirs)}
                for route in _own_routes(table)
            ]
        return outputs

    def delete(self, cloud: Cloud, identifier: str, state: Plain) -> None:
        cloud.ec2.delete_route_table(RouteTableId=identifier)


@kind("aws:ec2/route:Route")
class Route(Kind):
    """One route of a route table."""

    fixed = names("routeTableId") | frozenset(_DESTINATIONS)
    live = frozenset(_TARGETS)
    delete_first = True

    def create(self, cloud: Cloud, inputs: Plain) -> str:
        destination = _parameters(_DESTINATIONS, inputs)
        cloud.ec2.create_route(
            RouteTableId=inputs["routeTableId"], **destination, **_parameters(_TARGETS, inputs)
        )
        text = "".join(destination.values())
        digest = hashlib.sha256(text.encode()).hexdigest()[:10]
        return f"r-{inputs['routeTableId']}{digest}"

    def read(self, cloud: Cloud, identifier: str, known: Plain) -> Plain | None:
        table = clouds.found(lambda: _table(cloud, known["routeTableId"]))
        destination = _parameters(_DESTINATIONS, known)
        for route in (table or {}).get("Routes", ()):
            if all(route.get(key) == value for key, value in destination.items()):
                targets = {o: route[t] for o, t in _TARGETS.items() if route.get(t)}
                return {
                    "routeTableId": known["routeTableId"],
                    "origin": route.get("Origin", "CreateRoute"),
                    "state": route.get("State", "active"),
                    **{key: known[key] for key in _DESTINATIONS if known.get(key)},
                    **targets,
                }
        return None

    def update(self, cloud: Cloud, identifier: str, new: Plain, changed: set[str]) -> None:
        if changed:
            cloud.ec2.replace_route(
                RouteTableId=new["routeTableId"],
                **_parameters(_DESTINATIONS, new),
                **_parameters(_TARGETS, {key: new.get(key) for key in changed}),
            )

    def delete(self, cloud: Cloud, identifier: str, state: Plain) -> None:
        cloud.ec2.delete_route(
            RouteTableId=state["routeTableId"], **_parameters(_DESTINATIONS, state)
        )


@kind("aws:ec2/routeTableAssociation:RouteTableAssociation")
class RouteTableAssociation(Kind):
    """Which route table a subnet (or a gateway) uses."""

    fixed = names("subnetId gatewayId routeTableId")
    delete_first = True

    def create(self, cloud: Cloud, inputs: Plain) -> str:
        target = {"subnetId": "SubnetId", "gatewayId": "GatewayId"}
        answer = cloud.ec2.associate_route_table(
            RouteTableId=inputs["routeTableId"], **_parameters(target, inputs)
        )
        return answer["AssociationId"]

    def read(self, cloud: Cloud, identifier: str, known: Plain) -> Plain | None:
        mine = [
            {"Name": "association.route-table-association-id", "Values": [identifier]},
        ]
        for table in cloud.ec2.describe_route_tables(Filters=mine)["RouteTables"]:
            for association in table["Associations"]:
                if association["RouteTableAssociationId"] == identifier:
                    return {
                        "routeTableId": table["RouteTableId"],
                        "subnetId": association.get("SubnetId"),
                        "gatewayId": association.get("GatewayId"),
                    }
        return None

    def delete(self, cloud: Cloud, identifier: str, state: Plain) -> None:
        cloud.ec2.disassociate_route_table(AssociationId=identifier)
