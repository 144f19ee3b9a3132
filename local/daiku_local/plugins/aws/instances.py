"""Launch templates: what an instance is made from."""

# ruff: noqa: ARG002, D102 - the verbs are Kind's, which says what they mean
# boto3 has no types: its answers are JSON.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false
# pyright: reportUnknownArgumentType=false, reportUnknownLambdaType=false

from typing import Any, Final, cast

from daiku_local.plugins import values
from daiku_local.plugins.aws.cloud import Cloud, tag_list, tag_map
from daiku_local.plugins.aws.kind import Ec2Kind, kind, names
from daiku_local.plugins.values import Plain

_RENAMED: Final = {"vpcSecurityGroupIds": "SecurityGroupIds", "securityGroups": "Groups"}
_BACK: Final = {theirs: ours for ours, theirs in _RENAMED.items()}
_TEXT_BOOLEANS: Final = {"true": True, "false": False}
_DATA: Final = names(
    "blockDeviceMappings cpuOptions creditSpecification disableApiStop disableApiTermination "
    "ebsOptimized iamInstanceProfile imageId instanceInitiatedShutdownBehavior instanceType "
    "keyName maintenanceOptions metadataOptions monitoring networkInterfaces placement "
    "tagSpecifications userData vpcSecurityGroupIds"
)


def _theirs(value: Any) -> Any:
    """Give a template's value as EC2 takes it."""
    if isinstance(value, dict):
        fields: Plain = {}
        for key, item in cast("Plain", value).items():
            name = _RENAMED.get(key, key[0].upper() + key[1:])
            fields[name] = tag_list(item) if key == "tags" else _theirs(item)
        return {key: item for key, item in fields.items() if item is not None}
    if isinstance(value, list):
        return [_theirs(item) for item in cast("list[Any]", value)]
    return _TEXT_BOOLEANS.get(value, value) if isinstance(value, str) else value


def _ours(value: Any) -> Any:
    """Give EC2's value as the SDK shows it."""
    if isinstance(value, dict):
        fields: Plain = {}
        for key, item in cast("Plain", value).items():
            name = _BACK.get(key, key[0].lower() + key[1:])
            fields[name] = tag_map(item) if key == "Tags" else _ours(item)
        return fields
    if isinstance(value, list):
        return [_ours(item) for item in cast("list[Any]", value)]
    return value


def template_data(inputs: Plain) -> Plain:
    """Give the inputs of a launch template as EC2's LaunchTemplateData."""
    return _theirs({key: inputs[key] for key in _DATA if inputs.get(key) is not None})


@kind("aws:ec2/launchTemplate:LaunchTemplate")
class LaunchTemplate(Ec2Kind):
    """A launch template; a change makes a new version of it."""

    ec2_type = "launch-template"
    fixed = names("name namePrefix")
    live = _DATA | names("description defaultVersion")
    ignored = names("updateDefaultVersion")
    named = "name"

    def create(self, cloud: Cloud, inputs: Plain) -> str:
        note = {"VersionDescription": inputs["description"]} if "description" in inputs else {}
        answer = cloud.ec2.create_launch_template(
            LaunchTemplateName=inputs["name"],
            LaunchTemplateData=template_data(inputs),
            **note,
            **self.tag_specifications(inputs),
        )
        return answer["LaunchTemplate"]["LaunchTemplateId"]

    def update(self, cloud: Cloud, identifier: str, new: Plain, changed: set[str]) -> None:
        default = new.get("defaultVersion")
        if changed - {"defaultVersion"}:
            note = {"VersionDescription": new["description"]} if new.get("description") else {}
            answer = cloud.ec2.create_launch_template_version(
                LaunchTemplateId=identifier, LaunchTemplateData=template_data(new), **note
            )
            if new.get("updateDefaultVersion"):
                default = answer["LaunchTemplateVersion"]["VersionNumber"]
        if default and (new.get("updateDefaultVersion") or "defaultVersion" in changed):
            cloud.ec2.modify_launch_template(
                LaunchTemplateId=identifier, DefaultVersion=str(default)
            )

    def read(self, cloud: Cloud, identifier: str, known: Plain) -> Plain | None:
        ids = [identifier]
        found = cloud.ec2.describe_launch_templates(LaunchTemplateIds=ids)["LaunchTemplates"]
        if not found:
            return None
        template = found[0]
        latest = cloud.ec2.describe_launch_template_versions(
            LaunchTemplateId=identifier, Versions=["$Latest"]
        )["LaunchTemplateVersions"][0]
        # Tags are listed in any order, and switches are texts to the SDK: both sides in one form.
        seen, wanted = _ours(latest["LaunchTemplateData"]), _ours(template_data(known))
        contents = {
            key: known.get(key) if values.covers(seen.get(key), wanted.get(key)) else seen.get(key)
            for key in _DATA
        }
        return {
            **contents,
            "arn": cloud.arn("ec2", f"launch-template/{identifier}"),
            "name": template["LaunchTemplateName"],
            "description": latest.get("VersionDescription"),
            "defaultVersion": template["DefaultVersionNumber"],
            "latestVersion": template["LatestVersionNumber"],
            "tagsAll": tag_map(template.get("Tags")),
        }

    def delete(self, cloud: Cloud, identifier: str, state: Plain) -> None:
        cloud.ec2.delete_launch_template(LaunchTemplateId=identifier)
