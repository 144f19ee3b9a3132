# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false
"""IAM: ListInstanceProfiles by path.

moto ignores PathPrefix and gives every profile of the account. A controller that lists the profiles of a
node class in order to delete them would take everybody's.
"""

from typing import Any

from daiku_local.aws.cloud import Asked, Cloud


def list_instance_profiles(cloud: Cloud, asked: Asked) -> dict[str, Any]:
    """ListInstanceProfiles."""
    prefix = str(asked.get("PathPrefix") or "/")
    profiles = [
        profile
        for profile in cloud.iam.instance_profiles.values()
        if str(profile.path or "/").startswith(prefix)
    ]
    profiles.sort(key=lambda profile: str(profile.name))
    size = int(asked.get("MaxItems") or 100)
    first = int(asked.get("Marker") or 0)
    result: dict[str, Any] = {
        "InstanceProfiles": [_shown(profile) for profile in profiles[first : first + size]],
        "IsTruncated": first + size < len(profiles),
    }
    if result["IsTruncated"]:
        result["Marker"] = str(first + size)
    return result


def _shown(profile: Any) -> dict[str, Any]:
    return {
        "Path": profile.path or "/",
        "InstanceProfileName": profile.name,
        "InstanceProfileId": profile.id,
        "Arn": profile.arn,
        "CreateDate": profile.create_date,
        "Roles": [
            {
                "Path": role.path or "/",
                "RoleName": role.name,
                "RoleId": role.id,
                "Arn": role.arn,
                "CreateDate": role.create_date,
                "AssumeRolePolicyDocument": role.assume_role_policy_document,
            }
            for role in profile.roles
        ],
    }


HANDLERS = {"ListInstanceProfiles": list_instance_profiles}
