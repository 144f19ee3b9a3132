"""What the AMI families differ in: disks, how kubelet counts pods and memory, which settings it takes.

A family is an operating system with its way of reading user data. Here is the table; who writes the user data of
which is in `user_data`, which images there are in `images`.

Source: Karpenter's AMI families and their feature flags; Amazon EKS's images.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from daiku.model import labels

GIB: Final = 2**30


@dataclass(frozen=True, slots=True, kw_only=True)
class Family:
    """One AMI family."""

    name: str
    """As in spec.amiFamily."""
    disks: tuple[tuple[str, int], ...] = ()
    """(device name, GiB) of each volume when the node class names none; the last one is for pods."""
    os: str = "linux"
    """Value of kubernetes.io/os."""
    windows_build: str = ""
    """Value of node.kubernetes.io/windows-build."""
    pods_by_interfaces: bool = True
    """Pods are limited by the addresses of the network interfaces; else by 110."""
    memory_by_interfaces: bool = True
    """kubelet reserves memory for as many pods as the interfaces allow; else for as many as it takes."""
    pods_per_core: bool = True
    """podsPerCore is honoured."""
    any_kubelet_setting: bool = False
    """Settings that we do not map by hand reach kubelet too."""
    owns_user_data: bool = True
    """The family's user data is ours, with the user's merged in; else it is the user's alone."""

    @property
    def pod_device(self) -> str:
        """Device on which pods live; empty when nobody knows."""
        return self.disks[-1][0] if self.disks else ""

    @property
    def pod_bytes(self) -> int:
        """Size of that device when the node class says nothing."""
        return (self.disks[-1][1] if self.disks else 20) * GIB

    @property
    def is_windows(self) -> bool:
        """Whether its nodes run Windows."""
        return self.os == "windows"


def _windows(year: str, build: str) -> Family:
    return Family(
        name=f"Windows{year}",
        disks=(("/dev/sda1", 50),),
        os="windows",
        windows_build=build,
        pods_by_interfaces=False,
        memory_by_interfaces=False,
    )


CUSTOM: Final = Family(name="Custom", any_kubelet_setting=True, owns_user_data=False)
ALL: Final = (
    Family(name="AL2", disks=(("/dev/xvda", 20),)),
    Family(name="AL2023", disks=(("/dev/xvda", 20),), any_kubelet_setting=True),
    Family(
        name="Bottlerocket",
        disks=(("/dev/xvda", 4), ("/dev/xvdb", 20)),
        memory_by_interfaces=False,
        pods_per_core=False,
    ),
    CUSTOM,
    _windows("2019", "10.0.17763"),
    _windows("2022", "10.0.20348"),
    _windows("2025", "10.0.26100"),
)
BY_NAME: Final[Mapping[str, Family]] = {family.name: family for family in ALL}
BY_ALIAS: Final[Mapping[str, Family]] = {
    family.name.lower(): family for family in ALL if family is not CUSTOM
}
"""By the family of an alias, such as "al2023" of al2023@latest."""


def labels_of(family: Family) -> dict[str, str]:
    """Labels that its nodes have because of the operating system."""
    build = {labels.WINDOWS_BUILD: family.windows_build} if family.windows_build else {}
    return {labels.OS: family.os, **build}
