"""What an instance's user data tells nodeadm, the boot program of AL2023's EKS images.

User data is one NodeConfig document, or a MIME message with any number of them among scripts.
Documents are merged in order, so that what Daiku appends last wins over what a user wrote:
objects key by key, everything else replaced, except that kubelet flags add up as on a command
line. Scripts are not run: the laptop has no machine to run them on.
"""

import base64
import binascii
import email
import email.message
import email.policy
from dataclasses import dataclass
from typing import Any, cast

import yaml

from daiku_local.agent.objects import Json, dig, items, mapping

CONTENT_TYPE = "application/node.eks.aws"
API_VERSION = "node.eks.aws/v1alpha1"
SIZE_MAX_BYTES = 16384
"""EC2 takes no more user data than this, decoded."""


class UserDataError(Exception):
    """nodeadm would stop here, and the machine would never become a node."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeConfig:
    """Everything in the user data that decides what the node looks like."""

    cluster_name: str
    """Name of the EKS cluster to join."""
    api_server_endpoint: str
    """URL of its API server."""
    certificate_authority: str
    """Base64 of the PEM certificate that signs the API server's certificate."""
    cidr: str
    """Addresses of the cluster's Services."""
    kubelet_config: Json
    """KubeletConfiguration fields that differ from nodeadm's defaults."""
    kubelet_flags: tuple[str, ...] = ()
    """Command-line flags for the kubelet, in order."""
    raid0: bool = False
    """Whether the instance's local disks become one volume for pods."""


def decode(encoded: str) -> NodeConfig:
    """Read user data as EC2 gives it, in base64.

    Raises:
        UserDataError: It is not base64, holds no NodeConfig, or one that nodeadm refuses.
    """
    try:
        raw = base64.b64decode(encoded, validate=True)
    except (binascii.Error, ValueError) as error:
        raise UserDataError(f"user data is not base64: {error}") from None
    if len(raw) > SIZE_MAX_BYTES:
        raise UserDataError(f"user data has {len(raw)} bytes; EC2 takes {SIZE_MAX_BYTES}")
    merged: Json = {}
    for document in _documents(raw):
        merged = merge(merged, _parse(document))
    return _node_config(merged)


def merge(base: Json, override: Json) -> Json:
    """Give `base` with `override` on top: objects key by key, kubelet flags one after the other."""
    flags = [*items(base, "spec", "kubelet", "flags"), *items(override, "spec", "kubelet", "flags")]
    merged = _merge(base, override)
    if flags:
        merged["spec"]["kubelet"]["flags"] = flags
    return merged


def _merge(base: Json, override: Json) -> Json:
    merged = dict(base)
    for key, value in override.items():
        known = merged.get(key)
        if isinstance(known, dict) and isinstance(value, dict):
            merged[key] = _merge(cast("Json", known), cast("Json", value))
        else:
            merged[key] = value
    return merged


def _documents(raw: bytes) -> list[str]:
    """Texts of the NodeConfig parts; a message that is not MIME is one document."""
    message = email.message_from_bytes(raw, policy=email.policy.default)
    if not message.is_multipart() and "content-type" not in message:
        return [raw.decode("utf-8", errors="replace")]
    found = [_text(part) for part in message.walk() if part.get_content_type() == CONTENT_TYPE]
    if not found:
        kinds = ", ".join(sorted({part.get_content_type() for part in message.walk()}))
        raise UserDataError(f"user data has no part of type {CONTENT_TYPE}, only {kinds}")
    return found


def _text(part: email.message.Message) -> str:
    payload = cast("Any", part.get_payload(decode=True))
    return payload.decode("utf-8", errors="replace") if isinstance(payload, bytes) else ""


def _parse(document: str) -> Json:
    try:
        content: Any = yaml.safe_load(document)
    except yaml.YAMLError as error:
        problem = str(error).splitlines()[0]
        raise UserDataError(f"a NodeConfig is not YAML: {problem}") from None
    found = f"{dig(content, 'apiVersion')}, kind {dig(content, 'kind')}"
    if found != f"{API_VERSION}, kind NodeConfig":
        raise UserDataError(
            f"a NodeConfig must have apiVersion {API_VERSION}, kind NodeConfig; this one has {found}"
        )
    return cast("Json", content)


def _node_config(document: Json) -> NodeConfig:
    cluster = mapping(document, "spec", "cluster")
    missing = [
        field
        for field in ("name", "apiServerEndpoint", "certificateAuthority", "cidr")
        if not isinstance(cluster.get(field), str) or not cluster[field]
    ]
    if missing:
        raise UserDataError(f"NodeConfig lacks spec.cluster.{', spec.cluster.'.join(missing)}")
    return NodeConfig(
        cluster_name=cluster["name"],
        api_server_endpoint=cluster["apiServerEndpoint"],
        certificate_authority=cluster["certificateAuthority"],
        cidr=cluster["cidr"],
        kubelet_config=mapping(document, "spec", "kubelet", "config"),
        kubelet_flags=tuple(str(flag) for flag in items(document, "spec", "kubelet", "flags")),
        raid0=dig(document, "spec", "instance", "localStorage", "strategy") == "RAID0",
    )
