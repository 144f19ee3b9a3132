"""What a stack file says, typed and complete. The only reader of Pulumi's configuration.

Every mistake is reported at once, before any resource is made: an unknown key with the nearest known
one, a value of the wrong type or out of bounds, and what would be right.
"""

import dataclasses
import json
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import pulumi

from daiku_infra import (
    access,
    addons,
    config_network,
    config_settings,
    naming,
    node_pool_rules,
    pool_files,
    tags,
)
from daiku_infra.access import AccessArgs
from daiku_infra.addons import AddonArgs, CniArgs
from daiku_infra.cluster_ref import IpFamily
from daiku_infra.control_plane import ControlPlaneArgs
from daiku_infra.environment import EnvironmentArgs
from daiku_infra.node_pools import NodeClassArgs, NodePoolArgs
from daiku_infra.node_security_group import NodeSecurityArgs
from daiku_infra.reading import Mistake, Section
from daiku_infra.service_account_role import Identity
from daiku_infra.system_nodes import SystemNodesArgs

if TYPE_CHECKING:
    from daiku_infra.api_types import NodeClassSpec, NodePoolSpec

LOG_TYPES = ("api", "audit", "authenticator", "controllerManager", "scheduler")
"""Logs that an EKS control plane can keep."""
AMI_TYPES = tuple(
    f"{system}_{architecture}{suffix}"
    for system, suffix in (("AL2023", "_STANDARD"), ("BOTTLEROCKET", ""))
    for architecture in ("x86_64", "ARM_64")
)
"""Systems of system nodes."""

_OBJECT_NAME = r"[a-z0-9]([-a-z0-9.]{0,251}[a-z0-9])?"
_REGION = r"[a-z]{2}(-[a-z]+)+-\d"
_PRINCIPAL = r"arn:aws[a-z-]*:iam::\d{12}:(role|user)/.+"


class ConfigError(pulumi.RunError):
    """The stack file cannot be followed; the message lists every mistake in it."""


def load() -> EnvironmentArgs:
    """Read the configuration of the stack that is being deployed.

    Raises:
        ConfigError: It cannot be followed.
    """
    values: dict[str, Any] = {}
    for full_key, value in pulumi.runtime.config.CONFIG.get().items():
        namespace, _, key = full_key.partition(":")
        if namespace == "daiku":
            values[key] = _decode(value)
    aws_settings = pulumi.Config("aws")
    try:
        values = pool_files.with_files(values, Path.cwd())
    except pool_files.PoolFileError as error:
        mistake = Mistake(key="daiku:nodePoolFiles", problem=str(error))
        raise ConfigError(_message([mistake])) from error
    config = parse(values, region=aws_settings.get("region"))
    return dataclasses.replace(config, aws_profile=aws_settings.get("profile"))


def parse(values: Mapping[str, Any], *, region: str | None) -> EnvironmentArgs:
    """Check what a stack file says.

    Args:
        values: The values under `daiku:`, decoded.
        region: The value of `aws:region`.

    Raises:
        ConfigError: Something in it is wrong.
    """
    mistakes: list[Mistake] = []
    aws_section = Section({"region": region}, "aws:", mistakes)
    section = Section(values, "daiku:", mistakes)
    home = aws_section.text("region", pattern=_REGION, example="us-west-2")
    name = _cluster_name(section)
    common = tags.base(name, _tags(section))
    network = config_network.read(section, region=home, cluster_name=name, common_tags=common)
    section.texts("nodePoolFiles", example="pools/*.yaml")
    node_classes = section.sections("nodeClasses", _node_class) or []
    node_pools = section.sections("nodePools", _node_pool) or []
    platform = section.section("platform", _platform)
    config = EnvironmentArgs(
        cluster_name=name,
        region=home,
        account_id=section.text(
            "accountId", pattern=r"\d{12}", default="", example='"123456789012"'
        )
        or None,
        vpc=network.vpc,
        existing_vpc=network.existing,
        control_plane=_control_plane(section),
        access=section.sections("access", _access) or [],
        addons=_addons(section),
        cni=section.section("cni", _cni),
        identity=Identity(
            section.choice("identity", default=Identity.IRSA, options=[i.value for i in Identity])
        ),
        system_nodes=section.section("systemNodeGroup", _system_nodes),
        node_security=section.section("nodeSecurity", _node_security),
        controller_image=_image(section),
        controller_replicas=section.whole("controllerReplicas", default=2, low=1, high=5),
        controller_settings=section.section("controllerSettings", config_settings.read),
        service_monitor=section.flag("serviceMonitor", default=False),
        monitoring=section.flag("monitoring", default=False),
        load_balancers=platform["load_balancers"],
        prometheus=platform["prometheus"],
        keda=platform["keda"],
        drain_minutes=section.whole("drainMinutes", default=15, low=1, high=240),
        node_classes=node_classes,
        node_pools=node_pools,
        tags=common,
    )
    _check_together(section, config)
    section.note_unknown_keys()
    if mistakes:
        raise ConfigError(_message(mistakes))
    return config


def _image(section: Section) -> str | None:
    """The controller's image, which is either given or built."""
    built = section.flag("buildController", default=False)
    image = section.text(
        "controllerImage",
        pattern=r"\S+",
        default="" if built else None,
        example="registry.example.com/daiku/controller:1.0.0, or set buildController to true",
    )
    if built and image:
        section.note("controllerImage", "buildController is true: leave one of the two out")
    return image or None


def _platform(section: Section) -> dict[str, bool]:
    """Optional parts, by their names in EnvironmentArgs."""
    return {
        "load_balancers": section.flag("loadBalancers", default=False),
        "prometheus": section.flag("prometheus", default=False),
        "keda": section.flag("keda", default=False),
    }


def _check_together(section: Section, config: EnvironmentArgs) -> None:
    """What single values cannot tell: references, names used twice, parts that need each other."""
    class_names = [node_class.name for node_class in config.node_classes]
    for index, node_class in enumerate(config.node_classes):
        for place, problem in node_pool_rules.problems_of_class(node_class.spec):
            section.note(f"nodeClasses[{index}].{place}", problem)
    _check_family(section, config)
    zones = config.vpc.zones if config.vpc else []
    for index, pool in enumerate(config.node_pools):
        for place, problem in node_pool_rules.problems_of_pool(pool.spec, class_names, zones):
            section.note(f"nodePools[{index}].{place}", problem)
    _check_unique(section, "nodeClasses", class_names)
    _check_unique(section, "nodePools", [pool.name for pool in config.node_pools])
    _check_unique(section, "access", [entry.name for entry in config.access])
    names = [addon.name for addon in config.addons]
    _check_unique(section, "addons", names)
    if config.identity is Identity.POD_IDENTITY and addons.POD_IDENTITY not in names:
        section.note(
            "identity",
            f"podIdentity needs the agent on every node: add {{name: {addons.POD_IDENTITY}}} to addons",
        )
    if config.cni != CniArgs() and addons.CNI not in names:
        section.note("cni", f"there is no add-on {addons.CNI} that it could be a setting of")


def _check_family(section: Section, config: EnvironmentArgs) -> None:
    """IPv6 pods need IPv6 subnets, and no IPv4 range of their own."""
    if config.control_plane.ip_family is IpFamily.IPV4 or config.vpc is None:
        return
    if not config.vpc.ipv6:
        section.note(
            "ipFamily", "pods with IPv6 addresses need subnets that have them: set ipv6 to true"
        )
    if config.vpc.pod_cidr_block:
        section.note(
            "podCidr", "ipFamily is ipv6, so no pod has an IPv4 address: leave one of the two out"
        )
    if config.cni.prefix_delegation:
        section.note(
            "cni.prefixDelegation", "ipFamily is ipv6, which works by prefixes alone: leave it out"
        )


def _check_unique(section: Section, key: str, names: list[str]) -> None:
    """No two objects of a list may have one name."""
    for name in sorted({name for name in names if names.count(name) > 1}):
        section.note(key, f"{name!r} is listed {names.count(name)} times; names are unique")


def _cluster_name(section: Section) -> str:
    name = section.text("clusterName", example="daiku-dev")
    if name and not naming.is_cluster_name(name):
        section.note(
            "clusterName",
            f"{name!r} has {len(name)} characters; EKS takes up to {naming.CLUSTER_LIMIT} letters, "
            f"digits, - and _, beginning with a letter or digit",
        )
    return name


def _tags(section: Section) -> dict[str, str]:
    own = section.labels("tags")
    for key in own:
        if tags.is_reserved(key):
            section.note(f"tags.{key}", "this key has a meaning of its own; choose another")
    return own


def _control_plane(section: Section) -> ControlPlaneArgs:
    public = section.flag("endpointPublicAccess", default=True)
    ranges = config_network.ranges(section, "publicAccessCidrs")
    if ranges and not public:
        section.note("publicAccessCidrs", "endpointPublicAccess is false: leave one of the two out")
    return ControlPlaneArgs(
        kubernetes_version=section.text(
            "kubernetesVersion",
            pattern=r"1\.\d\d",
            default=ControlPlaneArgs().kubernetes_version,
            example='"1.36"',
        ),
        ip_family=IpFamily(
            section.choice("ipFamily", default=IpFamily.IPV4, options=[f.value for f in IpFamily])
        ),
        extended_support=section.flag("extendedSupport", default=False),
        endpoint_public_access=public,
        public_access_cidrs=ranges,
        log_types=section.texts(
            "controlPlaneLogs", pattern="|".join(LOG_TYPES), example=", ".join(LOG_TYPES)
        ),
        log_retention_days=config_network.retention(section, "logRetentionDays", default=30),
        encrypt_secrets=section.flag("encryptSecrets", default=True),
        deletion_protection=section.flag("deletionProtection", default=False),
    )


def _access(section: Section) -> AccessArgs:
    return AccessArgs(
        name=section.text("name", pattern=_OBJECT_NAME, example="admins"),
        principal_arn=section.text(
            "principalArn", pattern=_PRINCIPAL, example="arn:aws:iam::123456789012:role/admins"
        ),
        policy=section.choice("policy", default="", options=access.POLICIES) or None,
        namespaces=section.texts("namespaces", pattern=_OBJECT_NAME, example="default"),
        groups=section.texts("groups", example="viewers"),
    )


def _system_nodes(section: Section) -> SystemNodesArgs:
    return SystemNodesArgs(
        instance_types=section.texts(
            "instanceTypes",
            default=["m6i.large"],
            pattern=r"[a-z0-9-]+\.[a-z0-9-]+",
            example="m6i.large",
        ),
        size=section.whole("size", default=2, low=1, high=50),
        disk_gib=section.whole("diskGib", default=50, low=20, high=16384),
        ami_type=section.choice("amiType", default=AMI_TYPES[0], options=AMI_TYPES),
    )


def _node_security(section: Section) -> NodeSecurityArgs:
    own = section.flag("own", default=False)
    ports = section.wholes("webhookPorts", low=1, high=65535)
    if ports and not own:
        section.note(
            "webhookPorts", "EKS' own group lets every port in: set own to true, or leave it out"
        )
    return NodeSecurityArgs(
        own=own,
        webhook_ports=ports,
        group_ids=section.texts(
            "groupIds", pattern=r"sg-[0-9a-f]+", example="sg-0123456789abcdef0"
        ),
    )


def _addons(section: Section) -> list[AddonArgs]:
    """An empty list is an answer; only its absence asks for the default."""
    found = section.sections("addons", _addon)
    return addons.default_addons() if found is None else found


def _addon(section: Section) -> AddonArgs:
    return AddonArgs(
        name=section.text("name", pattern=r"[a-z0-9-]+", example="vpc-cni"),
        version=section.text("version", default="", example="v1.20.0-eksbuild.1") or None,
        configuration=section.mapping("configuration") or None,
    )


def _cni(section: Section) -> CniArgs:
    return CniArgs(
        prefix_delegation=section.flag("prefixDelegation", default=False),
        pod_security_groups=section.flag("podSecurityGroups", default=False),
        network_policies=section.flag("networkPolicies", default=False),
        environment=section.labels("environment"),
    )


def _node_class(section: Section) -> NodeClassArgs:
    return NodeClassArgs(
        name=section.text("name", pattern=_OBJECT_NAME, example="default"),
        spec=cast("NodeClassSpec", section.mapping("spec", required=True)),
    )


def _node_pool(section: Section) -> NodePoolArgs:
    return NodePoolArgs(
        name=section.text("name", pattern=_OBJECT_NAME, example="default"),
        spec=cast("NodePoolSpec", section.mapping("spec", required=True)),
    )


def _decode(value: Any) -> Any:
    """Pulumi hands structured values over as JSON text."""
    if isinstance(value, str) and value[:1] in {"{", "["}:
        try:
            return json.loads(value)
        except ValueError:
            return value
    return value


def _message(mistakes: list[Mistake]) -> str:
    count = "1 mistake" if len(mistakes) == 1 else f"{len(mistakes)} mistakes"
    lines = "\n".join(f"  - {mistake}" for mistake in mistakes)
    return f"the configuration of this stack has {count}; nothing was changed:\n{lines}"
