# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false
"""Launch templates: which version is meant, and what becomes of it when a request adds to it."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from daiku_local.aws.cloud import Asked, Cloud
from daiku_local.aws.errors import AwsError

MERGED = ("MetadataOptions", "Placement", "Monitoring")
"""Structures of which a request may give some members and the template the others."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Version:
    """One version of a launch template."""

    template_id: str
    """Id of the template."""
    template_name: str
    """Name of the template."""
    number: int
    """Number of the version, from 1."""
    content: dict[str, Any]
    """LaunchTemplateData, user data in base64."""

    @property
    def specification(self) -> dict[str, str]:
        """The version as replies name it."""
        return {"LaunchTemplateId": self.template_id, "Version": str(self.number)}

    @property
    def tags(self) -> dict[str, str]:
        """What EC2 tags an instance with that was launched from it."""
        return {
            "aws:ec2launchtemplate:id": self.template_id,
            "aws:ec2launchtemplate:version": str(self.number),
        }


def resolve(cloud: Cloud, specification: Mapping[str, Any]) -> Version:
    """The version that a LaunchTemplateSpecification means.

    Raises:
        AwsError: There is no such template or version.
    """
    template = find(cloud, specification)
    wanted = str(specification.get("Version") or "$Default")
    count = len(template.versions)
    if wanted == "$Latest":
        number = count
    elif wanted == "$Default":
        number = int(template.default_version_number)
    else:
        number = int(wanted) if wanted.isdigit() else 0
    if not 1 <= number <= count:
        raise AwsError(
            "InvalidLaunchTemplateId.VersionNotFound",
            f"Could not find launch template version: {wanted} of {template.id}",
        )
    content = dict(template.versions[number - 1].data)
    if content.get("UserData") is not None:
        content["UserData"] = str(content["UserData"])
    return Version(
        template_id=str(template.id),
        template_name=str(template.name),
        number=number,
        content=content,
    )


def find(cloud: Cloud, specification: Mapping[str, Any]) -> Any:
    """Moto's template of a LaunchTemplateId or LaunchTemplateName.

    Raises:
        AwsError: There is none, or both are given.
    """
    template_id = specification.get("LaunchTemplateId")
    name = specification.get("LaunchTemplateName")
    if template_id and name:
        raise AwsError(
            "InvalidParameterCombination",
            "The launch template is given by both its id and its name: give one of them",
        )
    for template in cloud.ec2.launch_templates.values():
        if template_id is not None and template.id == template_id:
            return template
        if name is not None and template.name == name:
            return template
    if name is not None:
        raise AwsError(
            "InvalidLaunchTemplateName.NotFoundException",
            f"At least one of the launch templates specified in the request does not exist: {name}",
        )
    raise AwsError(
        "InvalidLaunchTemplateId.NotFound",
        f"The specified launch template, with template ID {template_id}, does not exist.",
    )


def merge(content: Mapping[str, Any], request: Mapping[str, Any]) -> dict[str, Any]:
    """Template content with what the request says on top; tag specifications are joined."""
    merged = {**content}
    for name, value in request.items():
        if name in MERGED:
            merged[name] = {**(content.get(name) or {}), **value}
        elif name != "TagSpecifications":
            merged[name] = value
    joined = [*content.get("TagSpecifications", []), *request.get("TagSpecifications", [])]
    merged["TagSpecifications"] = joined
    return merged


def tags_for(merged: Mapping[str, Any], resource: str) -> dict[str, str]:
    """The tags that a merged request has for a kind of resource; later specifications win.

    Raises:
        AwsError: A key has the reserved prefix.
    """
    tags: dict[str, str] = {}
    for specification in merged.get("TagSpecifications") or ():
        if specification.get("ResourceType") == resource:
            tags.update({tag["Key"]: tag.get("Value", "") for tag in specification.get("Tags", [])})
    if reserved := [key for key in tags if key.lower().startswith("aws:")]:
        raise AwsError(
            "InvalidParameterValue",
            f"Tag keys starting with 'aws:' are reserved for internal use: {', '.join(reserved)}",
        )
    return tags


def _check_deleted(cloud: Cloud, asked: Asked) -> None:
    """DeleteLaunchTemplate: moto has the wrong errors for a template that is not there."""
    find(cloud, asked)


def _check_described(cloud: Cloud, asked: Asked) -> None:
    """DescribeLaunchTemplates: moto leaves unknown ids out instead of refusing."""
    for template_id in asked.get("LaunchTemplateIds", []):
        find(cloud, {"LaunchTemplateId": template_id})


def _keep_own_tags_apart(cloud: Cloud, asked: Asked) -> None:
    """CreateLaunchTemplate: moto puts the template's own tags among those of what it launches."""
    content = find(cloud, {"LaunchTemplateName": asked["LaunchTemplateName"]}).versions[0].data
    content["TagSpecifications"] = [
        each
        for each in content.get("TagSpecifications", ())
        if each["ResourceType"] != "launch-template"
    ]


BEFORE = {
    "DeleteLaunchTemplate": _check_deleted,
    "DescribeLaunchTemplates": _check_described,
}
AFTER = {"CreateLaunchTemplate": _keep_own_tags_apart}
