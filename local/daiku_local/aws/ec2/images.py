# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false
"""Amazon's images for EKS: Amazon Linux, Bottlerocket and Windows, every supported version, as SSM names them.

Their ids are made up from their names, so that they are the same in every world. moto's 1,299 images
of long ago are not loaded.
"""

import hashlib
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

from moto.ec2.models.amis import Ami

from daiku_local.aws.eks import versions

AMAZON = "602401143452"
DATES = ("20260915", "20261105")
"""Releases of Amazon Linux 2023 that exist, the newest last."""
BOTTLEROCKETS = ("1.55.0", "1.56.0")
"""Releases of Bottlerocket that exist, the newest last."""
LINUX_VARIANTS = (
    ("x86_64", "standard"),
    ("x86_64", "nvidia"),
    ("x86_64", "neuron"),
    ("arm64", "standard"),
    ("arm64", "nvidia"),
)
AL2_KINDS = (("", "x86_64"), ("-arm64", "arm64"), ("-gpu", "x86_64"))
AL2_ENDS = 33
"""From this minor version on there is no Amazon Linux 2."""
WINDOWS_YEARS = {"2019": 0, "2022": 0, "2025": 35}
"""Year -> minor version from which there is such an image."""
WINDOWS_FOLDER = "/aws/service/ami-windows-latest"
DEPRECATED_AFTER = timedelta(days=730)
"""How long Amazon offers an image."""
DAY = "%Y%m%d"


@dataclass(frozen=True, slots=True, kw_only=True)
class Image:
    """One image."""

    name: str
    """Name, such as "amazon-eks-node-al2023-x86_64-standard-1.36-v20261105"."""
    architecture: str
    """"x86_64" or "arm64"."""
    description: str
    """What EC2 says of it."""
    created: datetime
    """When it was published."""
    devices: tuple[tuple[str, int], ...]
    """Device names and sizes in GiB, the root first."""
    parameters: tuple[str, ...]
    """Names of the SSM parameters whose value is its id."""

    @property
    def image_id(self) -> str:
        """Its id."""
        return f"ami-{hashlib.sha256(self.name.encode()).hexdigest()[:17]}"


class _EksImage(Ami):
    """moto's image with the devices that the real one has."""

    devices: tuple[tuple[str, int], ...] = ()
    deprecation_time: str = ""

    @property
    def block_device_mappings(self) -> list[dict[str, Any]]:
        """The devices as DescribeImages shows them."""
        return [
            {
                "DeviceName": name,
                "Ebs": {
                    "SnapshotId": self.ebs_snapshot.id,
                    "VolumeSize": size_gib,
                    "DeleteOnTermination": True,
                    "VolumeType": "gp3",
                    "Encrypted": False,
                },
            }
            for name, size_gib in self.devices
        ]


def catalogue() -> list[Image]:
    """Every image there is."""
    return [
        image
        for version in versions.SUPPORT
        for image in (
            *_amazon_linux_2(version),
            *_amazon_linux(version),
            *_bottlerocket(version),
            *_windows(version),
        )
    ]


def _minor(version: str) -> int:
    return int(version.partition(".")[2])


def _amazon_linux_2(version: str) -> list[Image]:
    if _minor(version) >= AL2_ENDS:
        return []
    images: list[Image] = []
    for number, date in enumerate(DATES):
        for kind, architecture in AL2_KINDS:
            name = f"amazon-eks{kind}-node-{version}-v{date}"
            folder = f"/aws/service/eks/optimized-ami/{version}/amazon-linux-2{kind}"
            newest = [f"{folder}/recommended"] if number == len(DATES) - 1 else []
            images.append(
                Image(
                    name=name,
                    architecture=architecture,
                    description=f"EKS Kubernetes Worker AMI with AmazonLinux2, {version}",
                    created=datetime.strptime(date, DAY).replace(tzinfo=UTC),
                    devices=(("/dev/xvda", 20),),
                    parameters=(f"{folder}/{name}", *newest),
                )
            )
    return images


def _windows(version: str) -> list[Image]:
    return [
        Image(
            name=f"Windows_Server-{year}-English-Core-EKS_Optimized-{version}-{DATES[-1]}",
            architecture="x86_64",
            description=f"Microsoft Windows Server {year} Core, EKS {version}",
            created=datetime.strptime(DATES[-1], DAY).replace(tzinfo=UTC),
            devices=(("/dev/sda1", 50),),
            parameters=(
                f"{WINDOWS_FOLDER}/Windows_Server-{year}-English-Core-EKS_Optimized-{version}",
            ),
        )
        for year, begins in WINDOWS_YEARS.items()
        if _minor(version) >= begins
    ]


def _amazon_linux(version: str) -> list[Image]:
    images: list[Image] = []
    for number, date in enumerate(DATES):
        for architecture, variant in LINUX_VARIANTS:
            name = f"amazon-eks-node-al2023-{architecture}-{variant}-{version}-v{date}"
            folder = f"/aws/service/eks/optimized-ami/{version}/amazon-linux-2023/{architecture}/{variant}"
            names = [f"{folder}/{name}"]
            if number == len(DATES) - 1:
                names.append(f"{folder}/recommended")
            images.append(
                Image(
                    name=name,
                    architecture=architecture,
                    description=f"EKS-optimized Kubernetes node based on Amazon Linux 2023, {version}",
                    created=datetime.strptime(date, DAY).replace(tzinfo=UTC),
                    devices=(("/dev/xvda", 20),),
                    parameters=tuple(names),
                )
            )
    return images


def _bottlerocket(version: str) -> list[Image]:
    images: list[Image] = []
    for number, release in enumerate(BOTTLEROCKETS):
        for flavour in (f"aws-k8s-{version}", f"aws-k8s-{version}-nvidia"):
            for architecture in ("x86_64", "arm64"):
                folder = f"/aws/service/bottlerocket/{flavour}/{architecture}"
                digest = hashlib.sha256(f"{flavour}{release}".encode()).hexdigest()[:8]
                names = [f"{folder}/{release}", f"{folder}/{release}-{digest}"]
                if number == len(BOTTLEROCKETS) - 1:
                    names.append(f"{folder}/latest")
                images.append(
                    Image(
                        name=f"bottlerocket-{flavour}-{architecture}-v{release}-{digest}",
                        architecture=architecture,
                        description=f"Bottlerocket {release} {flavour}",
                        created=datetime.strptime(DATES[number], DAY).replace(tzinfo=UTC),
                        devices=(("/dev/xvda", 2), ("/dev/xvdb", 20)),
                        parameters=tuple(names),
                    )
                )
    return images


def register(ec2: Any, images: list[Image]) -> None:
    """Make the images known to moto."""
    for image in images:
        made: Any = _EksImage(
            ec2,
            image.image_id,
            name=image.name,
            description=image.description,
            owner_id=AMAZON,
            owner_alias="amazon",
            public=True,
            virtualization_type="hvm",
            architecture=image.architecture,
            creation_date=image.created.replace(tzinfo=None),
            image_location=f"amazon/{image.name}",
            hypervisor="xen",
            root_device_type="ebs",
            root_device_name=image.devices[0][0],
            region_name=f"{ec2.region_name}a",
        )
        made.devices = image.devices
        made.deprecation_time = f"{image.created + DEPRECATED_AFTER:%Y-%m-%dT%H:%M:%S}.000Z"
        ec2.amis[image.image_id] = made
