"""StackConfig: what a stack file says, typed and complete. The only reader of Pulumi's configuration.

Every mistake is reported at once, before any resource is made: an unknown key with the nearest known
one, a value of the wrong type or out of bounds, and what would be right.
"""

import ipaddress
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import pulumi

from daiku_infra import naming, node_pool_rules, subnets, tags
from daiku_infra.cluster import AddonArgs, SystemNodesArgs, default_addons
from daiku_infra.node_pools import NodeClassArgs, NodePoolArgs
from daiku_infra.reading import Mistake, Section
from daiku_infra.subnets import NatGateways

LOG_TYPES = ("api", "audit", "authenticator", "controllerManager", "scheduler")
"""Logs that an EKS control plane can keep."""

_OBJECT_NAME = r"[a-z0-9]([-a-z0-9.]{0,251}[a-z0-9])?"
_REGION = r"[a-z]{2}(-[a-z]+)+-\d"


class ConfigError(pulumi.RunError):
    """The stack file cannot be followed; the message lists every mistake in it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StackConfig:
    """Everything that distinguishes one stack from another."""

    region: str
    """AWS region (aws:region)."""
    cluster_name: str
    """Name of the cluster, 1 to 100 characters."""
    zones: list[str]
    """Availability zones, 2 to 4, append only."""
    vpc_cidr: str
    """IPv4 range of the VPC, /16 to /24."""
    nat_gateways: NatGateways
    """How private subnets reach the internet."""
    kubernetes_version: str
    """Minor version of the control plane."""
    endpoint_public_access: bool
    """The API server can be reached from outside the VPC."""
    public_access_cidrs: list[str]
    """Ranges it can be reached from; anywhere when empty."""
    log_types: list[str]
    """Logs of the control plane to keep."""
    system_nodes: SystemNodesArgs
    """Nodes of system pods."""
    addons: list[AddonArgs]
    """EKS add-ons."""
    controller_image: str
    """Image of the controller."""
    controller_replicas: int
    """Pods of the controller, 1 to 5."""
    node_classes: list[NodeClassArgs]
    """EC2NodeClasses."""
    node_pools: list[NodePoolArgs]
    """NodePools."""
    tags: dict[str, str]
    """Tags that every resource carries."""

    @classmethod
    def load(cls) -> "StackConfig":
        """Read the configuration of the stack that is being deployed.

        Raises:
            ConfigError: It cannot be followed.
        """
        values: dict[str, Any] = {}
        for full_key, value in pulumi.runtime.config.CONFIG.get().items():
            namespace, _, key = full_key.partition(":")
            if namespace == "daiku":
                values[key] = _decode(value)
        return parse(values, region=pulumi.Config("aws").get("region"))


def parse(values: Mapping[str, Any], *, region: str | None) -> StackConfig:
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
    node_classes = section.sections("nodeClasses", _node_class) or []
    class_names = [node_class.name for node_class in node_classes]
    config = StackConfig(
        region=home,
        cluster_name=_cluster_name(section),
        zones=section.texts(
            "zones", pattern=rf"{home or _REGION}[a-z]", example="us-west-2a, us-west-2b"
        ),
        vpc_cidr=section.text("vpcCidr", default="10.0.0.0/16", example="10.0.0.0/16"),
        nat_gateways=NatGateways(
            section.choice(
                "natGateways",
                default=NatGateways.SINGLE,
                options=[option.value for option in NatGateways],
            )
        ),
        kubernetes_version=section.text(
            "kubernetesVersion", pattern=r"1\.\d\d", default="1.35", example='"1.35"'
        ),
        endpoint_public_access=section.flag("endpointPublicAccess", default=True),
        public_access_cidrs=_ranges(section, "publicAccessCidrs"),
        log_types=section.texts(
            "controlPlaneLogs", pattern="|".join(LOG_TYPES), example=", ".join(LOG_TYPES)
        ),
        system_nodes=section.section("systemNodeGroup", _system_nodes),
        addons=_or_default(section.sections("addons", _addon), default_addons),
        controller_image=section.text(
            "controllerImage", pattern=r"\S+", example="registry.example.com/daiku/controller:1.0.0"
        ),
        controller_replicas=section.whole("controllerReplicas", default=2, low=1, high=5),
        node_classes=node_classes,
        node_pools=section.sections("nodePools", _pool_reader(class_names)) or [],
        tags=_tags(section),
    )
    _check_network(section, config)
    _check_unique(section, "nodeClasses", class_names)
    _check_unique(section, "nodePools", [pool.name for pool in config.node_pools])
    section.note_unknown_keys()
    if mistakes:
        raise ConfigError(_message(mistakes))
    return config


def _check_network(section: Section, config: StackConfig) -> None:
    """Zones and range must be divisible, and EKS wants two zones."""
    if len(config.zones) < 2:
        section.note(
            "zones",
            f"an EKS cluster spans at least 2 zones, and {len(config.zones)} are listed; "
            f"write a list such as [{config.region}a, {config.region}b]",
        )
        return
    try:
        subnets.divide(config.vpc_cidr, config.zones)
    except subnets.AddressPlanError as error:
        section.note("vpcCidr", str(error))


def _check_unique(section: Section, key: str, names: list[str]) -> None:
    """No two objects of a list may have one name."""
    section_twice = {name for name in names if names.count(name) > 1}
    for name in sorted(section_twice):
        section.note(key, f"{name!r} is listed {names.count(name)} times; names are unique")


def _cluster_name(section: Section) -> str:
    name = section.text("clusterName", example="production")
    if name and not naming.is_cluster_name(name):
        section.note(
            "clusterName",
            f"{name!r} has {len(name)} characters; EKS takes up to {naming.CLUSTER_LIMIT} letters, "
            f"digits, - and _, beginning with a letter or digit",
        )
    return name


def _ranges(section: Section, key: str) -> list[str]:
    ranges = section.texts(key, example="203.0.113.0/24")
    for cidr in ranges:
        try:
            ipaddress.IPv4Network(cidr)
        except ValueError as error:
            section.note(key, f"{cidr!r} is not an IPv4 range ({error})")
    return ranges


def _tags(section: Section) -> dict[str, str]:
    own = section.labels("tags")
    for key in own:
        if tags.is_reserved(key):
            section.note(f"tags.{key}", "this key has a meaning of its own; choose another")
    return own


def _system_nodes(section: Section) -> SystemNodesArgs:
    return SystemNodesArgs(
        instance_types=section.texts(
            "instanceTypes",
            default=["m6i.large"],
            pattern=r"[a-z0-9-]+\.[a-z0-9-]+",
            example="m6i.large",
        ),
        size=section.whole("size", default=2, low=1, high=50),
    )


def _addon(section: Section) -> AddonArgs:
    return AddonArgs(
        name=section.text("name", pattern=r"[a-z0-9-]+", example="vpc-cni"),
        version=section.text("version", default="", example="v1.20.0-eksbuild.1") or None,
        configuration=section.mapping("configuration") or None,
    )


def _node_class(section: Section) -> NodeClassArgs:
    return NodeClassArgs(
        name=section.text("name", pattern=_OBJECT_NAME, example="default"),
        spec=section.mapping("spec", required=True),
    )


def _pool_reader(class_names: list[str]) -> Callable[[Section], NodePoolArgs]:
    """Reads NodePools that may refer to these node classes."""

    def read(section: Section) -> NodePoolArgs:
        pool = NodePoolArgs(
            name=section.text("name", pattern=_OBJECT_NAME, example="default"),
            spec=section.mapping("spec", required=True),
        )
        for place, problem in node_pool_rules.problems_of_pool(pool.spec, class_names):
            section.note(place, problem)
        return pool

    return read


def _or_default(found: list[AddonArgs] | None, default: Callable[[], list[AddonArgs]]) -> Any:
    """An empty list is an answer; only its absence asks for the default."""
    return default() if found is None else found


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
