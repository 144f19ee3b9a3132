"""What an image alias such as al2023@latest stands for: SSM parameters of Amazon, and what each image is for.

Pure: names only. Asking SSM for them is in `images`.

Source: Amazon EKS and Bottlerocket, public SSM parameters; Karpenter's variants of the images of an alias.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from daiku.cloud.aws import families
from daiku.cloud.aws.families import Family
from daiku.cloud.aws.instance_types import PREFIX
from daiku.model import labels

Condition = tuple[str, str, tuple[str, ...]]
"""key, operator, values: a requirement on the wire."""

GPU_COUNT: Final = f"{PREFIX}instance-gpu-count"
ACCELERATOR_COUNT: Final = f"{PREFIX}instance-accelerator-count"
STANDARD: Final[tuple[Condition, ...]] = (
    (ACCELERATOR_COUNT, "DoesNotExist", ()),
    (GPU_COUNT, "DoesNotExist", ()),
)
NVIDIA: Final[tuple[Condition, ...]] = ((GPU_COUNT, "Exists", ()),)
NEURON: Final[tuple[Condition, ...]] = ((ACCELERATOR_COUNT, "Exists", ()),)

AL2023: Final = (
    ("x86_64", "standard", STANDARD),
    ("x86_64", "nvidia", NVIDIA),
    ("x86_64", "neuron", NEURON),
    ("arm64", "standard", STANDARD),
    ("arm64", "nvidia", NVIDIA),
)
"""Architecture and variant of each AL2023 image that EKS publishes, and what it is for."""
AL2: Final = (("", (STANDARD,)), ("-arm64", (STANDARD,)), ("-gpu", (NEURON, NVIDIA)))
BOTTLEROCKET: Final = (
    ("", "x86_64", (STANDARD, NEURON)),
    ("", "arm64", (STANDARD,)),
    ("-nvidia", "x86_64", (NVIDIA,)),
    ("-nvidia", "arm64", (NVIDIA,)),
)
AL2_ENDS: Final = 33
"""From this minor version on EKS publishes no AL2 image."""
WINDOWS_2025_BEGINS: Final = 35


class UnsupportedAlias(Exception):  # named by what is wrong, like the condition's reason
    """An alias that no machine can be made of."""


@dataclass(frozen=True, slots=True)
class Published:
    """A parameter that names an image."""

    parameter: str
    uses: tuple[tuple[Condition, ...], ...]
    """What the image is for; one image may serve two kinds of machines."""


def published(alias: str, kubernetes: str) -> tuple[Published, ...]:
    """Every parameter of an alias, for a cluster of this minor version such as "1.36".

    Raises:
        UnsupportedAlias: There is no such family, or no image of it for this version.
    """
    name, _, version = alias.partition("@")
    family = families.BY_ALIAS.get(name)
    if family is None or not version:
        raise UnsupportedAlias(
            f"alias {alias!r} is not known: write family@version, with a family of "
            f"{', '.join(sorted(families.BY_ALIAS))}"
        )
    _check(family, alias, kubernetes)
    latest = version == "latest"
    if family.is_windows:
        return (_windows(family, kubernetes),)
    if family.name == "AL2":
        return tuple(_al2(kubernetes, "" if latest else version))
    if family.name == "AL2023":
        return tuple(_al2023(kubernetes, "" if latest else version))
    release = version if latest else version.removeprefix("v")
    return tuple(
        Published(
            f"/aws/service/bottlerocket/aws-k8s-{kubernetes}{kind}/{arch}/{release}/image_id", uses
        )
        for kind, arch, uses in BOTTLEROCKET
    )


def is_mutable(parameter: str) -> bool:
    """Whether another image may take the parameter's place."""
    return (
        "/recommended/" in parameter
        or "/latest/" in parameter
        or "/ami-windows-latest/" in parameter
    )


def _check(family: Family, alias: str, kubernetes: str) -> None:
    minor = int(kubernetes.partition(".")[2] or 0)
    if family.name == "AL2" and minor >= AL2_ENDS:
        raise UnsupportedAlias(
            f"alias {alias!r}: EKS publishes AL2 images up to 1.{AL2_ENDS - 1}, and this cluster is {kubernetes}; "
            "use al2023@latest"
        )
    if family.name == "Windows2025" and minor < WINDOWS_2025_BEGINS:
        raise UnsupportedAlias(
            f"alias {alias!r}: EKS publishes Windows 2025 images from 1.{WINDOWS_2025_BEGINS} on, and this cluster "
            f"is {kubernetes}; use windows2022@latest"
        )


def _al2(kubernetes: str, pinned: str) -> Iterator[Published]:
    for kind, uses in AL2:
        release = f"amazon-eks{kind}-node-{kubernetes}-{pinned}" if pinned else "recommended"
        folder = f"/aws/service/eks/optimized-ami/{kubernetes}/amazon-linux-2{kind}"
        yield Published(f"{folder}/{release}/image_id", uses)


def _al2023(kubernetes: str, pinned: str) -> Iterator[Published]:
    for arch, variant, conditions in AL2023:
        name = f"amazon-eks-node-al2023-{arch}-{variant}-{kubernetes}-{pinned}"
        folder = f"/aws/service/eks/optimized-ami/{kubernetes}/amazon-linux-2023/{arch}/{variant}"
        yield Published(f"{folder}/{name if pinned else 'recommended'}/image_id", (conditions,))


def _windows(family: Family, kubernetes: str) -> Published:
    year = family.name.removeprefix("Windows")
    name = f"Windows_Server-{year}-English-Core-EKS_Optimized-{kubernetes}"
    known: Mapping[str, str] = families.labels_of(family)
    conditions: tuple[Condition, ...] = (
        (labels.OS, "In", (known[labels.OS],)),
        (labels.WINDOWS_BUILD, "In", (known[labels.WINDOWS_BUILD],)),
    )
    return Published(f"/aws/service/ami-windows-latest/{name}/image_id", (conditions,))
