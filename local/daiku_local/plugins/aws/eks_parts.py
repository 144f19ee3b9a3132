"""What belongs to an EKS cluster: add-ons, access entries, Pod Identity associations."""

# ruff: noqa: ARG002, D102 - the verbs are Kind's, which says what they mean
# boto3 has no types: its answers are JSON.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false
# pyright: reportUnknownArgumentType=false, reportUnknownLambdaType=false

from typing import Any

import botocore.exceptions

from daiku_local.plugins.aws import cloud as clouds
from daiku_local.plugins.aws.cloud import Cloud
from daiku_local.plugins.aws.eks import (
    EksKind,
    api,
    await_gone,
    await_status,
    optional,
    same,
)
from daiku_local.plugins.aws.kind import Kind, kind, names
from daiku_local.plugins.values import Plain

_ADDON = same("addonVersion", "serviceAccountRoleArn", "configurationValues")


def _associations(inputs: Plain) -> list[dict[str, Any]]:
    given = inputs.get("podIdentityAssociations") or ()
    return [optional(association, same("roleArn", "serviceAccount")) for association in given]


@kind("aws:eks/addon:Addon")
class Addon(EksKind):
    """An add-on."""

    fixed = names("clusterName addonName")
    live = names("podIdentityAssociations") | frozenset(_ADDON)
    ignored = names("preserve resolveConflictsOnCreate resolveConflictsOnUpdate")
    delete_first = True

    def create(self, cloud: Cloud, inputs: Plain) -> str:
        parameters = optional(inputs, {**_ADDON, "resolveConflictsOnCreate": "resolveConflicts"})
        if associations := _associations(inputs):
            parameters["podIdentityAssociations"] = associations
        api(cloud).create_addon(
            clusterName=inputs["clusterName"],
            addonName=inputs["addonName"],
            tags=inputs.get("tagsAll") or {},
            **parameters,
        )
        return f"{inputs['clusterName']}:{inputs['addonName']}"

    @staticmethod
    def _describe(cloud: Cloud, identifier: str) -> Any:
        cluster, _, name = identifier.partition(":")
        return api(cloud).describe_addon(clusterName=cluster, addonName=name)["addon"]

    def settle(self, cloud: Cloud, identifier: str, inputs: Plain) -> None:
        await_status(
            lambda: self._describe(cloud, identifier), wanted="ACTIVE", what=f"add-on {identifier}"
        )

    def update(self, cloud: Cloud, identifier: str, new: Plain, changed: set[str]) -> None:
        if not changed:
            return
        cluster, _, name = identifier.partition(":")
        parameters = optional(new, {**_ADDON, "resolveConflictsOnUpdate": "resolveConflicts"})
        if "podIdentityAssociations" in changed:
            parameters["podIdentityAssociations"] = _associations(new)
        api(cloud).update_addon(clusterName=cluster, addonName=name, **parameters)

    def read(self, cloud: Cloud, identifier: str, known: Plain) -> Plain | None:
        addon = self._describe(cloud, identifier)
        if addon["status"] == "DELETING":
            return None
        return {
            "arn": addon["addonArn"],
            "clusterName": addon["clusterName"],
            "addonName": addon["addonName"],
            "addonVersion": addon.get("addonVersion"),
            "serviceAccountRoleArn": addon.get("serviceAccountRoleArn") or None,
            "configurationValues": addon.get("configurationValues") or None,
            # EKS answers with ids of associations; what they hold is what was given.
            "podIdentityAssociations": known.get("podIdentityAssociations"),
            "createdAt": str(addon.get("createdAt")),
            "modifiedAt": str(addon.get("modifiedAt")),
            "tagsAll": addon.get("tags") or {},
        }

    def delete(self, cloud: Cloud, identifier: str, state: Plain) -> None:
        cluster, _, name = identifier.partition(":")
        preserve = bool(state.get("preserve"))
        try:
            api(cloud).delete_addon(clusterName=cluster, addonName=name, preserve=preserve)
        except botocore.exceptions.ClientError as error:
            if not clouds.is_absent(error):
                raise
            return
        await_gone(lambda: self._describe(cloud, identifier), f"add-on {identifier}")


@kind("aws:eks/accessEntry:AccessEntry")
class AccessEntry(EksKind):
    """A principal of IAM that the cluster knows."""

    fixed = names("clusterName principalArn type")
    live = names("kubernetesGroups userName")
    delete_first = True

    def create(self, cloud: Cloud, inputs: Plain) -> str:
        api(cloud).create_access_entry(
            clusterName=inputs["clusterName"],
            principalArn=inputs["principalArn"],
            tags=inputs.get("tagsAll") or {},
            **optional(inputs, same("type", "kubernetesGroups") | {"userName": "username"}),
        )
        return f"{inputs['clusterName']}:{inputs['principalArn']}"

    def update(self, cloud: Cloud, identifier: str, new: Plain, changed: set[str]) -> None:
        if changed:
            api(cloud).update_access_entry(
                clusterName=new["clusterName"],
                principalArn=new["principalArn"],
                kubernetesGroups=new.get("kubernetesGroups") or [],
                **optional(new, {"userName": "username"}),
            )

    def read(self, cloud: Cloud, identifier: str, known: Plain) -> Plain | None:
        cluster, _, principal = identifier.partition(":")
        entry = api(cloud).describe_access_entry(clusterName=cluster, principalArn=principal)[
            "accessEntry"
        ]
        return {
            "accessEntryArn": entry["accessEntryArn"],
            "arn": entry["accessEntryArn"],
            "clusterName": entry["clusterName"],
            "principalArn": entry["principalArn"],
            "type": entry.get("type", "STANDARD"),
            "kubernetesGroups": entry.get("kubernetesGroups") or [],
            "userName": entry.get("username"),
            "createdAt": str(entry.get("createdAt")),
            "modifiedAt": str(entry.get("modifiedAt")),
            "tagsAll": entry.get("tags") or {},
        }

    def delete(self, cloud: Cloud, identifier: str, state: Plain) -> None:
        cluster, _, principal = identifier.partition(":")
        api(cloud).delete_access_entry(clusterName=cluster, principalArn=principal)


@kind("aws:eks/accessPolicyAssociation:AccessPolicyAssociation")
class AccessPolicyAssociation(Kind):
    """What a principal may do in the cluster."""

    fixed = names("clusterName principalArn policyArn accessScope")
    delete_first = True

    def create(self, cloud: Cloud, inputs: Plain) -> str:
        api(cloud).associate_access_policy(
            clusterName=inputs["clusterName"],
            principalArn=inputs["principalArn"],
            policyArn=inputs["policyArn"],
            accessScope=optional(inputs["accessScope"], same("type", "namespaces")),
        )
        return "#".join(inputs[name] for name in ("clusterName", "principalArn", "policyArn"))

    def read(self, cloud: Cloud, identifier: str, known: Plain) -> Plain | None:
        cluster, principal, policy = identifier.split("#")
        answer = api(cloud).list_associated_access_policies(
            clusterName=cluster, principalArn=principal
        )
        for found in answer["associatedAccessPolicies"]:
            if found["policyArn"] == policy:
                return {
                    "clusterName": cluster,
                    "principalArn": principal,
                    "policyArn": policy,
                    "accessScope": optional(found["accessScope"], same("type", "namespaces")),
                    "associatedAt": str(found.get("associatedAt")),
                    "modifiedAt": str(found.get("modifiedAt")),
                }
        return None

    def delete(self, cloud: Cloud, identifier: str, state: Plain) -> None:
        cluster, principal, policy = identifier.split("#")
        api(cloud).disassociate_access_policy(
            clusterName=cluster, principalArn=principal, policyArn=policy
        )


@kind("aws:eks/podIdentityAssociation:PodIdentityAssociation")
class PodIdentityAssociation(EksKind):
    """A ServiceAccount's role, given by EKS Pod Identity."""

    fixed = names("clusterName namespace serviceAccount")
    delete_first = True
    live = names("roleArn targetRoleArn disableSessionTags")

    def create(self, cloud: Cloud, inputs: Plain) -> str:
        answer = api(cloud).create_pod_identity_association(
            clusterName=inputs["clusterName"],
            namespace=inputs["namespace"],
            serviceAccount=inputs["serviceAccount"],
            tags=inputs.get("tagsAll") or {},
            **optional(inputs, same("roleArn", "targetRoleArn", "disableSessionTags")),
        )
        return answer["association"]["associationId"]

    def update(self, cloud: Cloud, identifier: str, new: Plain, changed: set[str]) -> None:
        if changed:
            api(cloud).update_pod_identity_association(
                clusterName=new["clusterName"],
                associationId=identifier,
                **optional(new, same("roleArn", "targetRoleArn", "disableSessionTags")),
            )

    def read(self, cloud: Cloud, identifier: str, known: Plain) -> Plain | None:
        found = api(cloud).describe_pod_identity_association(
            clusterName=known["clusterName"], associationId=identifier
        )["association"]
        return {
            "associationArn": found["associationArn"],
            "arn": found["associationArn"],
            "associationId": found["associationId"],
            "clusterName": found["clusterName"],
            "namespace": found["namespace"],
            "serviceAccount": found["serviceAccount"],
            "roleArn": found["roleArn"],
            "targetRoleArn": found.get("targetRoleArn"),
            "disableSessionTags": found.get("disableSessionTags", False),
            "externalId": found.get("externalId"),
            "tagsAll": found.get("tags") or {},
        }

    def delete(self, cloud: Cloud, identifier: str, state: Plain) -> None:
        api(cloud).delete_pod_identity_association(
            clusterName=state["clusterName"], associationId=identifier
        )
