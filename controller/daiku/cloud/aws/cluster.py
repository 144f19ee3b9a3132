"""What a machine must know to join the cluster, from EKS."""

import ipaddress
from dataclasses import dataclass
from typing import Final

from daiku.cloud.aws.answers import part
from daiku.cloud.aws.session import Session

DNS_OFFSET: Final = 10
"""EKS gives the cluster's DNS the tenth address of its Service range."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Cluster:
    """The EKS cluster that nodes join."""

    name: str
    endpoint: str
    """URL of its API server."""
    certificate_authority: str
    """Base64 of the PEM certificate of its API server's CA."""
    service_cidr: str
    """Addresses of its Services."""
    version: str
    """Minor version, such as "1.36"."""

    arn: str = ""
    """Its ARN; empty where nobody asked EKS."""

    @property
    def dns_address(self) -> str:
        """Address of the cluster's DNS Service."""
        return str(ipaddress.ip_network(self.service_cidr)[DNS_OFFSET])

    @property
    def is_ipv6(self) -> bool:
        """Whether its Services, and so its pods, have IPv6 addresses."""
        return ":" in self.service_cidr

    @property
    def minor(self) -> int:
        """36 of version 1.36."""
        return int(self.version.partition(".")[2] or 0)


def describe(session: Session, name: str, *, endpoint: str = "", ca_bundle: str = "") -> Cluster:
    """Ask EKS about the cluster; `endpoint` and `ca_bundle` win where they are given.

    Raises:
        CloudError: EKS does not know it, or does not answer.
    """
    found = session.call("eks", "describe_cluster", name=name)["cluster"]
    network = part(found, "kubernetesNetworkConfig")
    return Cluster(
        name=name,
        endpoint=endpoint or found["endpoint"],
        certificate_authority=ca_bundle or found["certificateAuthority"]["data"],
        service_cidr=network.get("serviceIpv4Cidr")
        or network.get("serviceIpv6Cidr")
        or "10.100.0.0/16",
        version=found["version"],
        arn=found.get("arn", ""),
    )
