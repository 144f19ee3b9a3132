"""What an image alias stands for: which parameters of SSM, and which instance types boot what they name.

Source of the names: Amazon EKS user guide (AL2, AL2023, Windows), Bottlerocket's README on SSM parameters.
Source of who boots what, and of the versions without images: Karpenter's AMI families.
"""

import pytest

from daiku.cloud.aws import aliases
from daiku.cloud.aws.aliases import NEURON, NVIDIA, STANDARD

EKS = "/aws/service/eks/optimized-ami"
BOTTLEROCKET = "/aws/service/bottlerocket/aws-k8s-1.34"
WINDOWS = "/aws/service/ami-windows-latest/Windows_Server"
OS = ("kubernetes.io/os", "In", ("windows",))


def _build(build: str) -> tuple[object, ...]:
    return (OS, ("node.kubernetes.io/windows-build", "In", (build,)))


TABLE = {
    ("al2023@latest", "1.34"): {
        f"{EKS}/1.34/amazon-linux-2023/x86_64/standard/recommended/image_id": (STANDARD,),
        f"{EKS}/1.34/amazon-linux-2023/x86_64/nvidia/recommended/image_id": (NVIDIA,),
        f"{EKS}/1.34/amazon-linux-2023/x86_64/neuron/recommended/image_id": (NEURON,),
        f"{EKS}/1.34/amazon-linux-2023/arm64/standard/recommended/image_id": (STANDARD,),
        f"{EKS}/1.34/amazon-linux-2023/arm64/nvidia/recommended/image_id": (NVIDIA,),
    },
    ("al2@latest", "1.32"): {
        f"{EKS}/1.32/amazon-linux-2/recommended/image_id": (STANDARD,),
        f"{EKS}/1.32/amazon-linux-2-arm64/recommended/image_id": (STANDARD,),
        f"{EKS}/1.32/amazon-linux-2-gpu/recommended/image_id": (NEURON, NVIDIA),
    },
    ("al2@v20240807", "1.30"): {
        f"{EKS}/1.30/amazon-linux-2/amazon-eks-node-1.30-v20240807/image_id": (STANDARD,),
        f"{EKS}/1.30/amazon-linux-2-arm64/amazon-eks-arm64-node-1.30-v20240807/image_id": (STANDARD,),
        f"{EKS}/1.30/amazon-linux-2-gpu/amazon-eks-gpu-node-1.30-v20240807/image_id": (NEURON, NVIDIA),
    },
    ("bottlerocket@latest", "1.34"): {
        f"{BOTTLEROCKET}/x86_64/latest/image_id": (STANDARD, NEURON),
        f"{BOTTLEROCKET}/arm64/latest/image_id": (STANDARD,),
        f"{BOTTLEROCKET}-nvidia/x86_64/latest/image_id": (NVIDIA,),
        f"{BOTTLEROCKET}-nvidia/arm64/latest/image_id": (NVIDIA,),
    },
    ("bottlerocket@v1.20.3", "1.34"): {
        f"{BOTTLEROCKET}/x86_64/1.20.3/image_id": (STANDARD, NEURON),
        f"{BOTTLEROCKET}/arm64/1.20.3/image_id": (STANDARD,),
        f"{BOTTLEROCKET}-nvidia/x86_64/1.20.3/image_id": (NVIDIA,),
        f"{BOTTLEROCKET}-nvidia/arm64/1.20.3/image_id": (NVIDIA,),
    },
    ("windows2019@latest", "1.34"): {
        f"{WINDOWS}-2019-English-Core-EKS_Optimized-1.34/image_id": (_build("10.0.17763"),),
    },
    ("windows2022@latest", "1.34"): {
        f"{WINDOWS}-2022-English-Core-EKS_Optimized-1.34/image_id": (_build("10.0.20348"),),
    },
    ("windows2025@latest", "1.35"): {
        f"{WINDOWS}-2025-English-Core-EKS_Optimized-1.35/image_id": (_build("10.0.26100"),),
    },
}  # fmt: skip


@pytest.mark.parametrize(("alias", "kubernetes"), TABLE)
def test_an_alias_stands_for_these_parameters(alias: str, kubernetes: str) -> None:
    found = aliases.published(alias, kubernetes)

    assert {each.parameter: each.uses for each in found} == TABLE[alias, kubernetes]


def test_a_pinned_al2023_names_its_release() -> None:
    first, *_ = aliases.published("al2023@v20240807", "1.34")

    name = "amazon-eks-node-al2023-x86_64-standard-1.34-v20240807"
    assert first.parameter.endswith(f"/x86_64/standard/{name}/image_id")


@pytest.mark.parametrize(
    ("alias", "kubernetes", "remedy"),
    [
        ("al2@latest", "1.33", "use al2023@latest"),
        ("windows2025@latest", "1.34", "use windows2022@latest"),
        ("ubuntu@latest", "1.34", "with a family of al2, al2023"),
        ("al2023", "1.34", "write family@version"),
    ],
)
def test_an_alias_without_images_says_what_to_use(alias: str, kubernetes: str, remedy: str) -> None:
    with pytest.raises(aliases.UnsupportedAlias, match=remedy):
        aliases.published(alias, kubernetes)


@pytest.mark.parametrize(
    ("alias", "mutable"),
    [
        ("al2023@latest", True),
        ("al2023@v20240807", False),
        ("bottlerocket@latest", True),
        ("bottlerocket@v1.20.3", False),
        ("windows2022@latest", True),
    ],
)
def test_which_parameters_may_name_another_image_tomorrow(alias: str, *, mutable: bool) -> None:
    found = aliases.published(alias, "1.34")

    assert {aliases.is_mutable(each.parameter) for each in found} == {mutable}
