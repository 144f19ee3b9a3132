"""Security groups and their rules, in the three forms in which programs write them."""

# ruff: noqa: ARG002, D102 - the verbs are Kind's, which says what they mean
# boto3 has no types: its answers are JSON.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false
# pyright: reportUnknownArgumentType=false, reportUnknownLambdaType=false

import hashlib
import json
from typing import Any

from daiku_local.plugins import values
from daiku_local.plugins.aws import cloud as clouds
from daiku_local.plugins.aws.cloud import Cloud, tag_list, tag_map
from daiku_local.plugins.aws.kind import Ec2Kind, Kind, kind, names
from daiku_local.plugins.values import Plain

_ANY_PROTOCOL = "-1"


def _permissions(rule: Plain, group: str) -> dict[str, Any]:
    """Give an inline rule as EC2's IpPermission."""
    protocol = str(rule.get("protocol", _ANY_PROTOCOL)).lower().replace("all", _ANY_PROTOCOL)
    note = {"Description": rule["description"]} if rule.get("description") else {}
    groups = [*rule.get("securityGroups", ()), *([group] if rule.get("self") else ())]
    if rule.get("sourceSecurityGroupId"):
        groups.append(rule["sourceSecurityGroupId"])
    permission: dict[str, Any] = {
        "IpProtocol": protocol,
        "IpRanges": [{"CidrIp": c, **note} for c in rule.get("cidrBlocks") or ()],
        "Ipv6Ranges": [{"CidrIpv6": c, **note} for c in rule.get("ipv6CidrBlocks") or ()],
        "PrefixListIds": [{"PrefixListId": p, **note} for p in rule.get("prefixListIds") or ()],
        "UserIdGroupPairs": [{"GroupId": g, **note} for g in groups],
    }
    if protocol != _ANY_PROTOCOL:
        permission |= {"FromPort": rule.get("fromPort", 0), "ToPort": rule.get("toPort", 0)}
    return {key: value for key, value in permission.items() if value != []}


def _inline(permission: Any, group: str) -> Plain:
    """Give EC2's IpPermission as an inline rule."""
    pairs = [pair["GroupId"] for pair in permission.get("UserIdGroupPairs", ())]
    sources = [
        *permission.get("IpRanges", ()),
        *permission.get("Ipv6Ranges", ()),
        *permission.get("UserIdGroupPairs", ()),
        *permission.get("PrefixListIds", ()),
    ]
    rule: Plain = {
        "protocol": permission["IpProtocol"],
        "fromPort": permission.get("FromPort", 0),
        "toPort": permission.get("ToPort", 0),
        "cidrBlocks": [r["CidrIp"] for r in permission.get("IpRanges", ())],
        "ipv6CidrBlocks": [r["CidrIpv6"] for r in permission.get("Ipv6Ranges", ())],
        "prefixListIds": [p["PrefixListId"] for p in permission.get("PrefixListIds", ())],
        "securityGroups": [other for other in pairs if other != group],
        "self": True if group in pairs else None,
        "description": next((s["Description"] for s in sources if s.get("Description")), None),
    }
    return {key: value for key, value in rule.items() if value not in (None, [])}


def _group(cloud: Cloud, identifier: str) -> Any:
    return cloud.ec2.describe_security_groups(GroupIds=[identifier])["SecurityGroups"][0]


def _set_rules(cloud: Cloud, group: str, ingress: list[Plain], egress: list[Plain]) -> None:
    """Make the rules of `group` exactly these."""
    seen = _group(cloud, group)
    ways = (
        (ingress, "IpPermissions", "ingress"),
        (egress, "IpPermissionsEgress", "egress"),
    )
    for wanted, key, way in ways:
        rules = [{"protocol": _ANY_PROTOCOL, "fromPort": 0, "toPort": 0} | r for r in wanted]
        present = [_inline(permission, group) for permission in seen[key]]
        stale = [r for r in present if not any(values.equivalent(r, w) for w in rules)]
        fresh = [w for w in rules if not any(values.equivalent(r, w) for r in present)]
        if stale:
            revoke = getattr(cloud.ec2, f"revoke_security_group_{way}")
            revoke(GroupId=group, IpPermissions=[_permissions(r, group) for r in stale])
        if fresh:
            authorize = getattr(cloud.ec2, f"authorize_security_group_{way}")
            authorize(GroupId=group, IpPermissions=[_permissions(w, group) for w in fresh])


@kind("aws:ec2/securityGroup:SecurityGroup")
class SecurityGroup(Ec2Kind):
    """A security group; where rules are given inline, those are all it has."""

    ec2_type = "security-group"
    fixed = names("name namePrefix description vpcId")
    live = names("ingress egress")
    ignored = names("revokeRulesOnDelete")
    named = "name"

    def create(self, cloud: Cloud, inputs: Plain) -> str:
        vpc = {"VpcId": inputs["vpcId"]} if "vpcId" in inputs else {}
        answer = cloud.ec2.create_security_group(
            GroupName=inputs["name"],
            Description=inputs.get("description", "Managed by Pulumi"),
            **vpc,
            **self.tag_specifications(inputs),
        )
        # EC2 lets everything out of a new group; the real provider removes that rule, so that
        # only what the program says is allowed.
        group = answer["GroupId"]
        clouds.eventually(lambda: _set_rules(cloud, group, [], []))
        return group

    def settle(self, cloud: Cloud, identifier: str, inputs: Plain) -> None:
        if "ingress" in inputs or "egress" in inputs:
            seen = self.read(cloud, identifier, {"ingress": 1, "egress": 1}) or {}
            ingress = inputs.get("ingress", seen["ingress"])
            _set_rules(cloud, identifier, ingress, inputs.get("egress", seen["egress"]))

    def update(self, cloud: Cloud, identifier: str, new: Plain, changed: set[str]) -> None:
        self.settle(cloud, identifier, {key: new.get(key) or [] for key in changed})

    def read(self, cloud: Cloud, identifier: str, known: Plain) -> Plain | None:
        group = _group(cloud, identifier)
        outputs: Plain = {
            "arn": cloud.arn("ec2", f"security-group/{identifier}"),
            "name": group["GroupName"],
            "description": group["Description"],
            "vpcId": group.get("VpcId"),
            "ownerId": group.get("OwnerId", cloud.account),
            "tagsAll": tag_map(group.get("Tags")),
        }
        # Rules that are resources of their own do not belong to the group's state.
        if "ingress" in known:
            outputs["ingress"] = [_inline(p, identifier) for p in group["IpPermissions"]]
        if "egress" in known:
            outputs["egress"] = [_inline(p, identifier) for p in group["IpPermissionsEgress"]]
        return outputs

    def delete(self, cloud: Cloud, identifier: str, state: Plain) -> None:
        if state.get("revokeRulesOnDelete"):
            _set_rules(cloud, identifier, [], [])
        cloud.ec2.delete_security_group(GroupId=identifier)


@kind("aws:ec2/defaultSecurityGroup:DefaultSecurityGroup")
class DefaultSecurityGroup(SecurityGroup):
    """The group that every VPC has: taken over and given rules, never made or removed."""

    fixed = names("vpcId")
    live = names("ingress egress")
    named = ""

    def create(self, cloud: Cloud, inputs: Plain) -> str:
        mine = [
            {"Name": "vpc-id", "Values": [inputs["vpcId"]]},
            {"Name": "group-name", "Values": ["default"]},
        ]
        group = cloud.ec2.describe_security_groups(Filters=mine)["SecurityGroups"][0]["GroupId"]
        if tags := tag_list(inputs.get("tagsAll")):
            cloud.ec2.create_tags(Resources=[group], Tags=tags)
        _set_rules(cloud, group, inputs.get("ingress") or [], inputs.get("egress") or [])
        return group

    def delete(self, cloud: Cloud, identifier: str, state: Plain) -> None:
        """Leave it: it goes with its VPC."""


def _split_rule(inputs: Plain, group: str) -> dict[str, Any]:
    """Give a rule that is a resource of its own as EC2's IpPermission."""
    rule: Plain = {"protocol": inputs["ipProtocol"], "description": inputs.get("description")}
    rule["fromPort"], rule["toPort"] = inputs.get("fromPort", -1), inputs.get("toPort", -1)
    for ours, theirs in (
        ("cidrIpv4", "cidrBlocks"),
        ("cidrIpv6", "ipv6CidrBlocks"),
        ("prefixListId", "prefixListIds"),
        ("referencedSecurityGroupId", "securityGroups"),
    ):
        if inputs.get(ours):
            rule[theirs] = [inputs[ours]]
    return _permissions(rule, group)


class _RuleKind(Ec2Kind):
    """One rule of a security group, with an id and tags of its own."""

    ec2_type = "security-group-rule"
    fixed = names(
        "securityGroupId cidrIpv4 cidrIpv6 prefixListId referencedSecurityGroupId ipProtocol "
        "fromPort toPort description"
    )
    delete_first = True
    way = "ingress"

    def create(self, cloud: Cloud, inputs: Plain) -> str:
        group = inputs["securityGroupId"]
        authorize = getattr(cloud.ec2, f"authorize_security_group_{self.way}")
        answer = authorize(
            GroupId=group,
            IpPermissions=[_split_rule(inputs, group)],
            **self.tag_specifications(inputs),
        )
        return answer["SecurityGroupRules"][0]["SecurityGroupRuleId"]

    def read(self, cloud: Cloud, identifier: str, known: Plain) -> Plain | None:
        rule = cloud.ec2.describe_security_group_rules(SecurityGroupRuleIds=[identifier])[
            "SecurityGroupRules"
        ][0]
        some = rule["IpProtocol"] != _ANY_PROTOCOL
        return {
            "arn": cloud.arn("ec2", f"security-group-rule/{identifier}"),
            "securityGroupRuleId": identifier,
            "securityGroupId": rule["GroupId"],
            "ipProtocol": rule["IpProtocol"],
            "fromPort": rule.get("FromPort") if some else known.get("fromPort"),
            "toPort": rule.get("ToPort") if some else known.get("toPort"),
            "cidrIpv4": rule.get("CidrIpv4"),
            "cidrIpv6": rule.get("CidrIpv6"),
            "prefixListId": rule.get("PrefixListId"),
            "referencedSecurityGroupId": rule.get("ReferencedGroupInfo", {}).get("GroupId"),
            "description": rule.get("Description") or self._note(cloud, rule),
            "tagsAll": tag_map(rule.get("Tags")),
        }

    def _note(self, cloud: Cloud, rule: Any) -> str | None:
        """The description of a rule about a group, which moto shows with the group alone."""
        way = "IpPermissions" if self.way == "ingress" else "IpPermissionsEgress"
        source = rule.get("ReferencedGroupInfo", {}).get("GroupId")
        ports = () if rule["IpProtocol"] == _ANY_PROTOCOL else ("FromPort", "ToPort")
        notes = (
            pair.get("Description")
            for permission in _group(cloud, rule["GroupId"])[way]
            if all(permission.get(f) == rule.get(f) for f in ("IpProtocol", *ports))
            for pair in permission.get("UserIdGroupPairs", ())
            if pair["GroupId"] == source
        )
        return next((note for note in notes if note), None)

    def delete(self, cloud: Cloud, identifier: str, state: Plain) -> None:
        revoke = getattr(cloud.ec2, f"revoke_security_group_{self.way}")
        revoke(GroupId=state["securityGroupId"], SecurityGroupRuleIds=[identifier])


@kind("aws:vpc/securityGroupIngressRule:SecurityGroupIngressRule")
class IngressRule(_RuleKind):
    """Lets something in."""


@kind("aws:vpc/securityGroupEgressRule:SecurityGroupEgressRule")
class EgressRule(_RuleKind):
    """Lets something out."""

    way = "egress"


@kind("aws:ec2/securityGroupRule:SecurityGroupRule")
class SecurityGroupRule(Kind):
    """One or several rules of a security group in the older form, which has no id on AWS."""

    fixed = names(
        "type securityGroupId protocol fromPort toPort cidrBlocks ipv6CidrBlocks prefixListIds "
        "sourceSecurityGroupId self description"
    )
    delete_first = True

    def create(self, cloud: Cloud, inputs: Plain) -> str:
        group = inputs["securityGroupId"]
        permission = _permissions(inputs, group)
        authorize = getattr(cloud.ec2, f"authorize_security_group_{inputs['type']}")
        authorize(GroupId=group, IpPermissions=[permission])
        text = json.dumps([group, inputs["type"], permission], sort_keys=True)
        return f"sgrule-{int(hashlib.sha256(text.encode()).hexdigest()[:8], 16)}"

    def read(self, cloud: Cloud, identifier: str, known: Plain) -> Plain | None:
        group = known["securityGroupId"]
        key = "IpPermissions" if known["type"] == "ingress" else "IpPermissionsEgress"
        wanted = _inline(_permissions(known, group), group)
        for permission in _group(cloud, group)[key]:
            seen = _inline(permission, group)
            same = all(seen.get(k) == wanted.get(k) for k in ("protocol", "fromPort", "toPort"))
            sources = [k for k, v in wanted.items() if isinstance(v, list)]
            if same and all(set(wanted[k]) <= set(seen.get(k, ())) for k in sources):
                return {name: known.get(name) for name in self.fixed}
        return None

    def delete(self, cloud: Cloud, identifier: str, state: Plain) -> None:
        group = state["securityGroupId"]
        revoke = getattr(cloud.ec2, f"revoke_security_group_{state['type']}")
        revoke(GroupId=group, IpPermissions=[_permissions(state, group)])


@kind("aws:ec2/tag:Tag")
class Tag(Kind):
    """One tag on a resource that something else made."""

    fixed = names("resourceId key")
    live = names("value")

    def create(self, cloud: Cloud, inputs: Plain) -> str:
        self.update(cloud, "", inputs, {"value"})
        return f"{inputs['resourceId']},{inputs['key']}"

    def read(self, cloud: Cloud, identifier: str, known: Plain) -> Plain | None:
        resource, _, key = identifier.partition(",")
        mine = [
            {"Name": "resource-id", "Values": [resource]},
            {"Name": "key", "Values": [key]},
        ]
        tags = cloud.ec2.describe_tags(Filters=mine)["Tags"]
        if not tags:
            return None
        return {"resourceId": resource, "key": key, "value": tags[0]["Value"]}

    def update(self, cloud: Cloud, identifier: str, new: Plain, changed: set[str]) -> None:
        tags = [{"Key": new["key"], "Value": new["value"]}]
        cloud.ec2.create_tags(Resources=[new["resourceId"]], Tags=tags)

    def delete(self, cloud: Cloud, identifier: str, state: Plain) -> None:
        cloud.ec2.delete_tags(Resources=[state["resourceId"]], Tags=[{"Key": state["key"]}])
