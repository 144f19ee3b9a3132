"""Encryption keys, and repositories of images."""

# ruff: noqa: ARG002, D102 - the verbs are Kind's, which says what they mean
# boto3 has no types: its answers are JSON.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false
# pyright: reportUnknownArgumentType=false, reportUnknownLambdaType=false

from typing import Any

from daiku_local.plugins.aws.cloud import Cloud, tag_list, tag_map
from daiku_local.plugins.aws.iam import document
from daiku_local.plugins.aws.kind import Kind, kind, names
from daiku_local.plugins.values import Plain


def _kms_tags(tags: Plain | None) -> list[dict[str, str]]:
    return [{"TagKey": key, "TagValue": value} for key, value in (tags or {}).items()]


@kind("aws:kms/key:Key")
class Key(Kind):
    """A key of KMS."""

    tagged = True
    fixed = names("keyUsage customerMasterKeySpec multiRegion")
    live = names("description policy enableKeyRotation isEnabled")
    ignored = names("deletionWindowInDays bypassPolicyLockoutSafetyCheck")

    def create(self, cloud: Cloud, inputs: Plain) -> str:
        optional = {
            "KeyUsage": inputs.get("keyUsage"),
            "KeySpec": inputs.get("customerMasterKeySpec"),
            "MultiRegion": inputs.get("multiRegion"),
            "Policy": document(inputs["policy"]) if inputs.get("policy") else None,
        }
        answer = cloud.client("kms").create_key(
            Description=inputs.get("description", ""),
            Tags=_kms_tags(inputs.get("tagsAll")),
            **{key: value for key, value in optional.items() if value is not None},
        )
        return answer["KeyMetadata"]["KeyId"]

    def settle(self, cloud: Cloud, identifier: str, inputs: Plain) -> None:
        if inputs.get("enableKeyRotation"):
            cloud.client("kms").enable_key_rotation(KeyId=identifier)
        if inputs.get("isEnabled") is False:
            cloud.client("kms").disable_key(KeyId=identifier)

    def update(self, cloud: Cloud, identifier: str, new: Plain, changed: set[str]) -> None:
        kms = cloud.client("kms")
        if "description" in changed:
            kms.update_key_description(KeyId=identifier, Description=new.get("description") or "")
        if "policy" in changed and new.get("policy"):
            kms.put_key_policy(
                KeyId=identifier, PolicyName="default", Policy=document(new["policy"])
            )
        if "enableKeyRotation" in changed and not new.get("enableKeyRotation"):
            kms.disable_key_rotation(KeyId=identifier)
        if "isEnabled" in changed and new.get("isEnabled") is not False:
            kms.enable_key(KeyId=identifier)

    def read(self, cloud: Cloud, identifier: str, known: Plain) -> Plain | None:
        kms = cloud.client("kms")
        key = kms.describe_key(KeyId=identifier)["KeyMetadata"]
        if key["KeyState"] == "PendingDeletion":
            return None
        tags = kms.list_resource_tags(KeyId=identifier).get("Tags", ())
        return {
            "arn": key["Arn"],
            "keyId": key["KeyId"],
            "description": key.get("Description") or None,
            "keyUsage": key.get("KeyUsage"),
            "customerMasterKeySpec": key.get("KeySpec"),
            "multiRegion": key.get("MultiRegion", False),
            "isEnabled": key["Enabled"],
            "enableKeyRotation": kms.get_key_rotation_status(KeyId=identifier)[
                "KeyRotationEnabled"
            ],
            "policy": kms.get_key_policy(KeyId=identifier, PolicyName="default")["Policy"],
            "tagsAll": {tag["TagKey"]: tag["TagValue"] for tag in tags},
        }

    def retag(
        self, cloud: Cloud, identifier: str, state: Plain, added: Plain, removed: list[str]
    ) -> None:
        kms = cloud.client("kms")
        if added:
            kms.tag_resource(KeyId=identifier, Tags=_kms_tags(added))
        if removed:
            kms.untag_resource(KeyId=identifier, TagKeys=removed)

    def delete(self, cloud: Cloud, identifier: str, state: Plain) -> None:
        kms = cloud.client("kms")
        if kms.describe_key(KeyId=identifier)["KeyMetadata"]["KeyState"] == "PendingDeletion":
            return
        days = state.get("deletionWindowInDays", 30)
        kms.schedule_key_deletion(KeyId=identifier, PendingWindowInDays=days)


@kind("aws:kms/alias:Alias")
class Alias(Kind):
    """A name of a key."""

    fixed = names("name namePrefix")
    live = names("targetKeyId")
    named = "name"

    def create(self, cloud: Cloud, inputs: Plain) -> str:
        name = inputs["name"]
        # A name made from the resource's own lacks what KMS demands of every alias.
        name = name if name.startswith("alias/") else f"alias/{name}"
        cloud.client("kms").create_alias(AliasName=name, TargetKeyId=inputs["targetKeyId"])
        return name

    def update(self, cloud: Cloud, identifier: str, new: Plain, changed: set[str]) -> None:
        if changed:
            cloud.client("kms").update_alias(AliasName=identifier, TargetKeyId=new["targetKeyId"])

    def read(self, cloud: Cloud, identifier: str, known: Plain) -> Plain | None:
        kms = cloud.client("kms")
        for page in kms.get_paginator("list_aliases").paginate():
            for alias in page["Aliases"]:
                if alias["AliasName"] == identifier and alias.get("TargetKeyId"):
                    target = alias["TargetKeyId"]
                    arn = cloud.arn("kms", f"key/{target}")
                    # The program may have named the key by its ARN.
                    given = known.get("targetKeyId")
                    return {
                        "arn": alias["AliasArn"],
                        "name": known.get("name", identifier),
                        "targetKeyId": given if given in {target, arn} else target,
                        "targetKeyArn": arn,
                    }
        return None

    def delete(self, cloud: Cloud, identifier: str, state: Plain) -> None:
        cloud.client("kms").delete_alias(AliasName=identifier)


@kind("aws:ecr/repository:Repository")
class Repository(Kind):
    """A repository of images."""

    tagged = True
    fixed = names("name encryptionConfigurations")
    live = names("imageTagMutability imageScanningConfiguration")
    ignored = names("forceDelete")
    named = "name"

    def create(self, cloud: Cloud, inputs: Plain) -> str:
        scan = inputs.get("imageScanningConfiguration") or {}
        encryption: list[Any] = inputs.get("encryptionConfigurations") or []
        optional = {
            "imageTagMutability": inputs.get("imageTagMutability"),
            "encryptionConfiguration": {
                key: value for key, value in encryption[0].items() if value is not None
            }
            if encryption
            else None,
        }
        cloud.client("ecr").create_repository(
            repositoryName=inputs["name"],
            imageScanningConfiguration={"scanOnPush": bool(scan.get("scanOnPush"))},
            tags=tag_list(inputs.get("tagsAll")),
            **{key: value for key, value in optional.items() if value is not None},
        )
        return inputs["name"]

    def update(self, cloud: Cloud, identifier: str, new: Plain, changed: set[str]) -> None:
        ecr = cloud.client("ecr")
        if "imageTagMutability" in changed:
            mutability = new.get("imageTagMutability") or "MUTABLE"
            ecr.put_image_tag_mutability(repositoryName=identifier, imageTagMutability=mutability)
        if "imageScanningConfiguration" in changed:
            scan = new.get("imageScanningConfiguration") or {}
            ecr.put_image_scanning_configuration(
                repositoryName=identifier,
                imageScanningConfiguration={"scanOnPush": bool(scan.get("scanOnPush"))},
            )

    def read(self, cloud: Cloud, identifier: str, known: Plain) -> Plain | None:
        ecr = cloud.client("ecr")
        found = ecr.describe_repositories(repositoryNames=[identifier])["repositories"][0]
        tags = ecr.list_tags_for_resource(resourceArn=found["repositoryArn"])["tags"]
        return {
            "arn": found["repositoryArn"],
            "name": found["repositoryName"],
            "registryId": found["registryId"],
            "repositoryUrl": found["repositoryUri"],
            "imageTagMutability": found.get("imageTagMutability"),
            "imageScanningConfiguration": found.get("imageScanningConfiguration"),
            "encryptionConfigurations": [found["encryptionConfiguration"]]
            if found.get("encryptionConfiguration")
            else None,
            "tagsAll": tag_map(tags),
        }

    def retag(
        self, cloud: Cloud, identifier: str, state: Plain, added: Plain, removed: list[str]
    ) -> None:
        ecr = cloud.client("ecr")
        if added:
            ecr.tag_resource(resourceArn=state["arn"], tags=tag_list(added))
        if removed:
            ecr.untag_resource(resourceArn=state["arn"], tagKeys=removed)

    def delete(self, cloud: Cloud, identifier: str, state: Plain) -> None:
        force = bool(state.get("forceDelete"))
        cloud.client("ecr").delete_repository(repositoryName=identifier, force=force)


@kind("aws:ecr/lifecyclePolicy:LifecyclePolicy")
class LifecyclePolicy(Kind):
    """Which images of a repository stay."""

    fixed = names("repository")
    live = names("policy")

    def create(self, cloud: Cloud, inputs: Plain) -> str:
        self.update(cloud, "", inputs, {"policy"})
        return inputs["repository"]

    def update(self, cloud: Cloud, identifier: str, new: Plain, changed: set[str]) -> None:
        if changed:
            cloud.client("ecr").put_lifecycle_policy(
                repositoryName=new["repository"], lifecyclePolicyText=document(new["policy"])
            )

    def read(self, cloud: Cloud, identifier: str, known: Plain) -> Plain | None:
        found = cloud.client("ecr").get_lifecycle_policy(repositoryName=identifier)
        return {
            "repository": found["repositoryName"],
            "registryId": found["registryId"],
            "policy": found["lifecyclePolicyText"],
        }

    def delete(self, cloud: Cloud, identifier: str, state: Plain) -> None:
        cloud.client("ecr").delete_lifecycle_policy(repositoryName=identifier)
