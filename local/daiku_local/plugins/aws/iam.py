"""Roles, policies, instance profiles and OIDC providers."""

# ruff: noqa: ARG002, D102 - the verbs are Kind's, which says what they mean
# boto3 has no types: its answers are JSON.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false
# pyright: reportUnknownArgumentType=false, reportUnknownLambdaType=false

import json
from typing import Any

from daiku_local.plugins import values
from daiku_local.plugins.aws import cloud as clouds
from daiku_local.plugins.aws.cloud import Cloud, tag_list, tag_map
from daiku_local.plugins.aws.kind import Kind, kind, names
from daiku_local.plugins.values import Plain


def _iam(cloud: Cloud) -> Any:
    return cloud.client("iam")


def document(policy: Any) -> str:
    """Give a policy as the JSON text that IAM takes; SDKs allow the object itself too."""
    return policy if isinstance(policy, str) else json.dumps(policy)


def _optional(**parameters: Any) -> dict[str, Any]:
    return {key: value for key, value in parameters.items() if value is not None}


class _IamKind(Kind):
    """A resource type of IAM whose tags are set by calls that carry its name."""

    tagged = True
    tag_word = ""
    """Part of the call's name, such as "role" in `tag_role`."""
    tag_key = ""
    """The parameter that carries the id, such as "RoleName"."""

    def retag(
        self, cloud: Cloud, identifier: str, state: Plain, added: Plain, removed: list[str]
    ) -> None:
        del state
        key = {self.tag_key: identifier}
        if added:
            getattr(_iam(cloud), f"tag_{self.tag_word}")(**key, Tags=tag_list(added))
        if removed:
            getattr(_iam(cloud), f"untag_{self.tag_word}")(**key, TagKeys=removed)


def _attached_policies(cloud: Cloud, role: str) -> list[str]:
    pages = _iam(cloud).get_paginator("list_attached_role_policies").paginate(RoleName=role)
    return [policy["PolicyArn"] for page in pages for policy in page["AttachedPolicies"]]


def _inline_policies(cloud: Cloud, role: str) -> dict[str, str]:
    pages = _iam(cloud).get_paginator("list_role_policies").paginate(RoleName=role)
    found = [name for page in pages for name in page["PolicyNames"]]
    return {
        name: document(
            _iam(cloud).get_role_policy(RoleName=role, PolicyName=name)["PolicyDocument"]
        )
        for name in found
    }


@kind("aws:iam/role:Role")
class Role(_IamKind):
    """A role, with the policies that are given inline."""

    tag_word, tag_key = "role", "RoleName"
    fixed = names("name namePrefix path")
    live = names(
        "assumeRolePolicy description maxSessionDuration permissionsBoundary managedPolicyArns "
        "inlinePolicies"
    )
    ignored = names("forceDetachPolicies")
    named = "name"

    def create(self, cloud: Cloud, inputs: Plain) -> str:
        answer = _iam(cloud).create_role(
            RoleName=inputs["name"],
            AssumeRolePolicyDocument=document(inputs["assumeRolePolicy"]),
            Path=inputs.get("path", "/"),
            Tags=tag_list(inputs.get("tagsAll")),
            **_optional(
                Description=inputs.get("description"),
                MaxSessionDuration=inputs.get("maxSessionDuration"),
                PermissionsBoundary=inputs.get("permissionsBoundary"),
            ),
        )
        return answer["Role"]["RoleName"]

    def settle(self, cloud: Cloud, identifier: str, inputs: Plain) -> None:
        if "managedPolicyArns" in inputs:
            present, wanted = _attached_policies(cloud, identifier), inputs["managedPolicyArns"]
            for arn in set(present) - set(wanted):
                _iam(cloud).detach_role_policy(RoleName=identifier, PolicyArn=arn)
            for arn in set(wanted) - set(present):
                _iam(cloud).attach_role_policy(RoleName=identifier, PolicyArn=arn)
        if "inlinePolicies" in inputs:
            policies = {p["name"]: document(p["policy"]) for p in inputs["inlinePolicies"] if p}
            present_inline = _inline_policies(cloud, identifier)
            for name in present_inline.keys() - policies.keys():
                _iam(cloud).delete_role_policy(RoleName=identifier, PolicyName=name)
            for name, text in policies.items():
                if not values.equivalent(text, present_inline.get(name)):
                    _iam(cloud).put_role_policy(
                        RoleName=identifier, PolicyName=name, PolicyDocument=text
                    )

    def update(self, cloud: Cloud, identifier: str, new: Plain, changed: set[str]) -> None:
        if "assumeRolePolicy" in changed:
            _iam(cloud).update_assume_role_policy(
                RoleName=identifier, PolicyDocument=document(new["assumeRolePolicy"])
            )
        if changed & {"description", "maxSessionDuration"}:
            _iam(cloud).update_role(
                RoleName=identifier,
                Description=new.get("description") or "",
                MaxSessionDuration=new.get("maxSessionDuration") or 3600,
            )
        if "permissionsBoundary" in changed:
            if boundary := new.get("permissionsBoundary"):
                _iam(cloud).put_role_permissions_boundary(
                    RoleName=identifier, PermissionsBoundary=boundary
                )
            else:
                _iam(cloud).delete_role_permissions_boundary(RoleName=identifier)
        cleared = {key: [] for key in changed if new.get(key) is None}
        self.settle(cloud, identifier, cleared)

    def read(self, cloud: Cloud, identifier: str, known: Plain) -> Plain | None:
        role = _iam(cloud).get_role(RoleName=identifier)["Role"]
        outputs: Plain = {
            "arn": role["Arn"],
            "name": role["RoleName"],
            "uniqueId": role["RoleId"],
            "path": role["Path"],
            "createDate": str(role["CreateDate"]),
            "description": role.get("Description") or None,
            "maxSessionDuration": role.get("MaxSessionDuration", 3600),
            "permissionsBoundary": role.get("PermissionsBoundary", {}).get(
                "PermissionsBoundaryArn"
            ),
            "assumeRolePolicy": document(role["AssumeRolePolicyDocument"]),
            "tagsAll": tag_map(role.get("Tags")),
        }
        # Policies that are resources of their own do not belong to the role's state.
        if "managedPolicyArns" in known:
            outputs["managedPolicyArns"] = sorted(_attached_policies(cloud, identifier))
        if "inlinePolicies" in known:
            found = _inline_policies(cloud, identifier)
            outputs["inlinePolicies"] = [{"name": n, "policy": p} for n, p in found.items()]
        return outputs

    def delete(self, cloud: Cloud, identifier: str, state: Plain) -> None:
        if "managedPolicyArns" in state or state.get("forceDetachPolicies"):
            for arn in _attached_policies(cloud, identifier):
                _iam(cloud).detach_role_policy(RoleName=identifier, PolicyArn=arn)
        if "inlinePolicies" in state or state.get("forceDetachPolicies"):
            for name in _inline_policies(cloud, identifier):
                _iam(cloud).delete_role_policy(RoleName=identifier, PolicyName=name)
        _iam(cloud).delete_role(RoleName=identifier)


@kind("aws:iam/rolePolicy:RolePolicy")
class RolePolicy(Kind):
    """A policy inside a role."""

    fixed = names("name namePrefix role")
    live = names("policy")
    named = "name"

    def create(self, cloud: Cloud, inputs: Plain) -> str:
        self.update(cloud, "", inputs, {"policy"})
        return f"{inputs['role']}:{inputs['name']}"

    def update(self, cloud: Cloud, identifier: str, new: Plain, changed: set[str]) -> None:
        _iam(cloud).put_role_policy(
            RoleName=new["role"], PolicyName=new["name"], PolicyDocument=document(new["policy"])
        )

    def read(self, cloud: Cloud, identifier: str, known: Plain) -> Plain | None:
        role, _, name = identifier.partition(":")
        policy = _iam(cloud).get_role_policy(RoleName=role, PolicyName=name)["PolicyDocument"]
        return {"role": role, "name": name, "policy": document(policy)}

    def delete(self, cloud: Cloud, identifier: str, state: Plain) -> None:
        _iam(cloud).delete_role_policy(RoleName=state["role"], PolicyName=state["name"])


@kind("aws:iam/rolePolicyAttachment:RolePolicyAttachment")
class RolePolicyAttachment(Kind):
    """A managed policy on a role."""

    fixed = names("role policyArn")

    def create(self, cloud: Cloud, inputs: Plain) -> str:
        role, arn = inputs["role"], inputs["policyArn"]
        _iam(cloud).attach_role_policy(RoleName=role, PolicyArn=arn)
        return f"{role}/{arn}"

    def read(self, cloud: Cloud, identifier: str, known: Plain) -> Plain | None:
        role, _, arn = identifier.partition("/")
        present = clouds.found(lambda: _attached_policies(cloud, role)) or []
        return {"role": role, "policyArn": arn} if arn in present else None

    def delete(self, cloud: Cloud, identifier: str, state: Plain) -> None:
        role, _, arn = identifier.partition("/")
        _iam(cloud).detach_role_policy(RoleName=role, PolicyArn=arn)


@kind("aws:iam/policy:Policy")
class Policy(_IamKind):
    """A managed policy of the account."""

    tag_word, tag_key = "policy", "PolicyArn"
    fixed = names("name namePrefix path description")
    live = names("policy")
    named = "name"

    def create(self, cloud: Cloud, inputs: Plain) -> str:
        answer = _iam(cloud).create_policy(
            PolicyName=inputs["name"],
            PolicyDocument=document(inputs["policy"]),
            Path=inputs.get("path", "/"),
            Tags=tag_list(inputs.get("tagsAll")),
            **_optional(Description=inputs.get("description")),
        )
        return answer["Policy"]["Arn"]

    @staticmethod
    def _old_versions(cloud: Cloud, arn: str) -> list[str]:
        found = _iam(cloud).list_policy_versions(PolicyArn=arn)["Versions"]
        old = [version for version in found if not version["IsDefaultVersion"]]
        return [version["VersionId"] for version in sorted(old, key=lambda v: v["CreateDate"])]

    def update(self, cloud: Cloud, identifier: str, new: Plain, changed: set[str]) -> None:
        if "policy" not in changed:
            return
        old = self._old_versions(cloud, identifier)
        if len(old) >= 4:  # IAM keeps five versions, the default one included
            _iam(cloud).delete_policy_version(PolicyArn=identifier, VersionId=old[0])
        _iam(cloud).create_policy_version(
            PolicyArn=identifier, PolicyDocument=document(new["policy"]), SetAsDefault=True
        )

    def read(self, cloud: Cloud, identifier: str, known: Plain) -> Plain | None:
        policy = _iam(cloud).get_policy(PolicyArn=identifier)["Policy"]
        version = _iam(cloud).get_policy_version(
            PolicyArn=identifier, VersionId=policy["DefaultVersionId"]
        )["PolicyVersion"]
        return {
            "arn": policy["Arn"],
            "name": policy["PolicyName"],
            "path": policy["Path"],
            "policyId": policy["PolicyId"],
            "description": policy.get("Description") or None,
            "policy": document(version["Document"]),
            "tagsAll": tag_map(policy.get("Tags")),
        }

    def delete(self, cloud: Cloud, identifier: str, state: Plain) -> None:
        for version in self._old_versions(cloud, identifier):
            _iam(cloud).delete_policy_version(PolicyArn=identifier, VersionId=version)
        _iam(cloud).delete_policy(PolicyArn=identifier)


@kind("aws:iam/instanceProfile:InstanceProfile")
class InstanceProfile(_IamKind):
    """What gives an instance a role."""

    tag_word, tag_key = "instance_profile", "InstanceProfileName"
    fixed = names("name namePrefix path")
    live = names("role")
    named = "name"

    def create(self, cloud: Cloud, inputs: Plain) -> str:
        _iam(cloud).create_instance_profile(
            InstanceProfileName=inputs["name"],
            Path=inputs.get("path", "/"),
            Tags=tag_list(inputs.get("tagsAll")),
        )
        return inputs["name"]

    @staticmethod
    def _describe(cloud: Cloud, name: str) -> Any:
        return _iam(cloud).get_instance_profile(InstanceProfileName=name)["InstanceProfile"]

    def settle(self, cloud: Cloud, identifier: str, inputs: Plain) -> None:
        present = [role["RoleName"] for role in self._describe(cloud, identifier)["Roles"]]
        wanted = inputs.get("role")
        for role in present:
            if role != wanted:
                _iam(cloud).remove_role_from_instance_profile(
                    InstanceProfileName=identifier, RoleName=role
                )
        if wanted and wanted not in present:
            _iam(cloud).add_role_to_instance_profile(
                InstanceProfileName=identifier, RoleName=wanted
            )

    def read(self, cloud: Cloud, identifier: str, known: Plain) -> Plain | None:
        profile = self._describe(cloud, identifier)
        return {
            "arn": profile["Arn"],
            "name": profile["InstanceProfileName"],
            "path": profile["Path"],
            "uniqueId": profile["InstanceProfileId"],
            "createDate": str(profile["CreateDate"]),
            "role": profile["Roles"][0]["RoleName"] if profile["Roles"] else None,
            "tagsAll": tag_map(profile.get("Tags")),
        }

    def delete(self, cloud: Cloud, identifier: str, state: Plain) -> None:
        self.settle(cloud, identifier, {})
        _iam(cloud).delete_instance_profile(InstanceProfileName=identifier)


@kind("aws:iam/openIdConnectProvider:OpenIdConnectProvider")
class OpenIdConnectProvider(_IamKind):
    """An issuer of tokens that roles may trust."""

    tag_word, tag_key = "open_id_connect_provider", "OpenIDConnectProviderArn"
    fixed = names("url clientIdLists")
    live = names("thumbprintLists")

    def create(self, cloud: Cloud, inputs: Plain) -> str:
        answer = _iam(cloud).create_open_id_connect_provider(
            Url=inputs["url"],
            ClientIDList=inputs["clientIdLists"],
            Tags=tag_list(inputs.get("tagsAll")),
            **_optional(ThumbprintList=inputs.get("thumbprintLists")),
        )
        return answer["OpenIDConnectProviderArn"]

    def update(self, cloud: Cloud, identifier: str, new: Plain, changed: set[str]) -> None:
        if "thumbprintLists" in changed and new.get("thumbprintLists"):
            _iam(cloud).update_open_id_connect_provider_thumbprint(
                OpenIDConnectProviderArn=identifier, ThumbprintList=new["thumbprintLists"]
            )

    def same(self, name: str, observed: Any, wanted: Any) -> bool:
        if name == "url":
            return str(observed) == str(wanted).removeprefix("https://")
        return super().same(name, observed, wanted)

    def read(self, cloud: Cloud, identifier: str, known: Plain) -> Plain | None:
        found = _iam(cloud).get_open_id_connect_provider(OpenIDConnectProviderArn=identifier)
        return {
            "arn": identifier,
            # IAM keeps the URL without its scheme, and the real provider shows it like that.
            "url": found["Url"].removeprefix("https://"),
            "clientIdLists": found.get("ClientIDList", []),
            "thumbprintLists": found.get("ThumbprintList", []),
            "tagsAll": tag_map(found.get("Tags")),
        }

    def delete(self, cloud: Cloud, identifier: str, state: Plain) -> None:
        _iam(cloud).delete_open_id_connect_provider(OpenIDConnectProviderArn=identifier)
