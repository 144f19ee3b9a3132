"""`eks:index:Cluster` out of `aws` resources, with the children and outputs of the real component.

Names of children follow the real one, so that a person who knows its resource graph finds their
way. Not here: default node groups, Fargate, Auto Mode, aws-auth, storage classes, `core.provider`.
"""

# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false
# pyright: reportUnknownArgumentType=false, reportUnknownLambdaType=false

import json
from typing import Any, Final

import pulumi
import pulumi_aws as aws

from daiku_local.plugins.eks import inputs as accepted
from daiku_local.plugins.eks import kubeconfig
from daiku_local.plugins.eks.groups import SecurityGroups

_CLUSTER_POLICY: Final = "arn:aws:iam::aws:policy/AmazonEKSClusterPolicy"
_TRUST: Final = json.dumps(
    {
        "Version": "2012-10-17",
        "Statement": [
            {
                "Effect": "Allow",
                "Principal": {"Service": "eks.amazonaws.com"},
                "Action": ["sts:AssumeRole", "sts:TagSession"],
            }
        ],
    }
)


class Cluster(pulumi.ComponentResource):
    """A control plane of EKS, with what the real component puts around it."""

    def __init__(
        self, name: str, given: dict[str, Any], opts: pulumi.ResourceOptions | None
    ) -> None:
        super().__init__(accepted.TOKEN, name, None, opts)
        self._name = name
        self._given = {key: value for key, value in given.items() if value is not None}
        self._own = pulumi.ResourceOptions(parent=self)
        self._groups: SecurityGroups | None = None
        if not self._given.get("skipDefaultSecurityGroups"):
            self._groups = SecurityGroups(name, self._given, self)
        self._role: Any = self._given.get("serviceRole") or self._service_role()
        self._cluster = self._control_plane()
        if self._groups:
            self._groups.open_to(self._cluster)
        self._oidc = self._oidc_provider() if self._given.get("createOidcProvider") else None
        self._addons()
        self._access_entries()
        self.state = self._outputs()
        self.register_outputs(self.state)

    def _service_role(self) -> Any:
        name = f"{self._name}-eksRole"
        role = aws.iam.Role(
            f"{name}-role",
            description="Allows EKS to manage clusters on your behalf.",
            assume_role_policy=_TRUST,
            tags=self._given.get("tags"),
            opts=self._own,
        )
        self._attachment = aws.iam.RolePolicyAttachment(
            f"{name}-policy", role=role.name, policy_arn=_CLUSTER_POLICY, opts=self._own
        )
        return role

    def _subnets(self) -> Any:
        kinds = ("subnetIds", "publicSubnetIds", "privateSubnetIds")
        lists = [self._given[kind] for kind in kinds if self._given.get(kind)]
        return pulumi.Output.all(*lists).apply(
            lambda known: list(dict.fromkeys(subnet for ids in known for subnet in ids))
        )

    def _control_plane(self) -> aws.eks.Cluster:
        given = self._given
        tags = pulumi.Output.all(given.get("tags") or {}, given.get("clusterTags") or {}).apply(
            lambda both: {"Name": f"{self._name}-eksCluster", **both[0], **both[1]}
        )
        network: Any = {
            "subnetIds": self._subnets(),
            "securityGroupIds": [self._groups.cluster.id] if self._groups else None,
            "endpointPrivateAccess": given.get("endpointPrivateAccess"),
            "endpointPublicAccess": given.get("endpointPublicAccess"),
            "publicAccessCidrs": given.get("publicAccessCidrs"),
        }
        addresses: Any = {
            "serviceIpv4Cidr": given.get("kubernetesServiceIpAddressRange"),
            "ipFamily": given.get("ipFamily"),
        }
        mode, key = given.get("authenticationMode"), given.get("encryptionConfigKeyArn")
        encryption: Any = {"provider": {"keyArn": key}, "resources": ["secrets"]}
        access: Any = {"authenticationMode": mode, "bootstrapClusterCreatorAdminPermissions": True}
        waits_for = [self._attachment] if hasattr(self, "_attachment") else []
        return aws.eks.Cluster(
            f"{self._name}-eksCluster",
            name=given.get("name"),
            role_arn=self._role_property("arn"),
            vpc_config=_present(network),
            version=given.get("version"),
            access_config=access if mode else None,
            bootstrap_self_managed_addons=given.get("bootstrapSelfManagedAddons"),
            deletion_protection=given.get("deletionProtection"),
            enabled_cluster_log_types=given.get("enabledClusterLogTypes"),
            encryption_config=encryption if key else None,
            kubernetes_network_config=_present(addresses) or None,
            upgrade_policy=given.get("upgradePolicy"),
            tags=tags,
            opts=pulumi.ResourceOptions(parent=self, depends_on=waits_for),
        )

    def _role_property(self, name: str) -> Any:
        """Give a property of the service role, which may be a resource or an output of one."""
        return pulumi.Output.from_input(self._role).apply(lambda role: getattr(role, name))

    @property
    def _issuer(self) -> Any:
        return self._cluster.identities.apply(lambda known: known[0]["oidcs"][0]["issuer"])

    def _oidc_provider(self) -> aws.iam.OpenIdConnectProvider:
        return aws.iam.OpenIdConnectProvider(
            f"{self._name}-oidcProvider",
            client_id_lists=["sts.amazonaws.com"],
            url=self._issuer,
            tags=self._given.get("tags"),
            opts=self._own,
        )

    def _addons(self) -> None:
        """Add the add-ons of the real component that are not switched off."""
        for key, addon in (
            ("kubeProxyAddonOptions", "kube-proxy"),
            ("corednsAddonOptions", "coredns"),
        ):
            options = self._given.get(key) or {}
            if options.get("enabled", True):
                self._addon(addon, options, options.get("version"))
        if not self._given.get("useDefaultVpcCni"):
            options = self._given.get("vpcCniOptions") or {}
            self._addon("vpc-cni", options, options.get("addonVersion"))

    def _addon(self, addon: str, options: dict[str, Any], version: Any) -> None:
        settings = options.get("configurationValues")
        aws.eks.Addon(
            f"{self._name}-{addon}",
            cluster_name=self._cluster.name,
            addon_name=addon,
            addon_version=version,
            configuration_values=pulumi.Output.json_dumps(settings) if settings else None,
            service_account_role_arn=options.get("serviceAccountRoleArn"),
            resolve_conflicts_on_create=options.get("resolveConflictsOnCreate", "OVERWRITE"),
            resolve_conflicts_on_update=options.get("resolveConflictsOnUpdate", "OVERWRITE"),
            tags=self._given.get("tags"),
            opts=self._own,
        )

    def _access_entries(self) -> None:
        for key, entry in (self._given.get("accessEntries") or {}).items():
            name = f"{self._name}-{key}"
            made = aws.eks.AccessEntry(
                name,
                cluster_name=self._cluster.name,
                principal_arn=entry["principalArn"],
                kubernetes_groups=entry.get("kubernetesGroups"),
                type=entry.get("type"),
                user_name=entry.get("username"),
                tags=entry.get("tags"),
                opts=self._own,
            )
            for policy, association in (entry.get("accessPolicies") or {}).items():
                aws.eks.AccessPolicyAssociation(
                    f"{name}-{policy}",
                    cluster_name=self._cluster.name,
                    principal_arn=made.principal_arn,
                    policy_arn=association["policyArn"],
                    access_scope=association["accessScope"],
                    opts=self._own,
                )

    def _kubeconfig(self, read: Any) -> Any:
        """Give the world's kubeconfig, as soon as there is a cluster that it is for."""
        return pulumi.Output.secret(self._cluster.endpoint.apply(lambda _: read()))

    def _outputs(self) -> dict[str, Any]:
        given, groups, cluster = self._given, self._groups, self._cluster
        made = cluster.vpc_config.apply(lambda network: network["cluster_security_group_id"])
        issuer = self._issuer
        core = {
            "cluster": cluster,
            "clusterIamRole": self._role,
            "endpoint": cluster.endpoint,
            "instanceRoles": [],
            "nodeGroupOptions": {},
            "oidcProvider": self._oidc,
            "clusterSecurityGroup": groups.cluster if groups else None,
            "privateSubnetIds": given.get("privateSubnetIds"),
            "publicSubnetIds": given.get("publicSubnetIds"),
            "subnetIds": cluster.vpc_config.apply(lambda network: network["subnet_ids"]),
            "tags": given.get("tags"),
            "vpcId": cluster.vpc_config.apply(lambda network: network["vpc_id"]),
        }
        outputs = {
            "autoModeNodeRoleName": "",
            "clusterIngressRuleId": groups.ingress_rule.id if groups else "",
            "clusterSecurityGroup": groups.cluster if groups else None,
            "clusterSecurityGroupId": groups.cluster.id if groups else made,
            "core": _present(core),
            "defaultNodeGroupAsgName": "",
            "eksCluster": cluster,
            "eksClusterIngressRule": groups.ingress_rule if groups else None,
            "fargateProfileId": "",
            "fargateProfileStatus": "",
            "instanceRoles": [],
            "kubeconfig": self._kubeconfig(kubeconfig.read),
            "kubeconfigJson": self._kubeconfig(kubeconfig.as_json),
            "nodeSecurityGroup": groups.nodes if groups else None,
            "nodeSecurityGroupId": groups.nodes.id if groups else made,
            "oidcIssuer": issuer.apply(lambda url: url.removeprefix("https://")),
            "oidcProviderArn": self._oidc.arn if self._oidc else "",
            "oidcProviderUrl": issuer,
        }
        return _present(outputs)


def _present(fields: dict[str, Any]) -> Any:
    """Give the fields that have a value. Nested arguments are plain, which the SDK's types forbid."""
    return {key: value for key, value in fields.items() if value is not None}
