"""What only AWS can say about a stack, asked before any resource is registered.

A wrong account, a region without one of the zones, a version that EKS no longer offers: each would
otherwise be found minutes into an update, with half a cluster made. All that is wrong is said at once.
"""

import os
from collections.abc import Sequence
from dataclasses import dataclass

import pulumi

from daiku_infra.providers import aws

_ENDPOINT = "AWS_ENDPOINT_URL"
"""Variable that leads every call of AWS somewhere else, as to the laptop world."""
_LAPTOP_IMAGES = "daiku.local/"
"""How images begin that no registry has."""


class PreflightError(pulumi.RunError):
    """AWS cannot give what the stack asks for; the message lists all of it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Offer:
    """What AWS offers to this stack."""

    account_id: str
    """The account that the credentials are of."""
    region: str
    """Its region."""
    zones: frozenset[str]
    """Availability zones that are open to the account."""
    versions: tuple[str, ...]
    """Kubernetes versions that EKS makes clusters of."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Wish:
    """What a stack needs of AWS."""

    account_id: str | None
    """The account it belongs to; None for any."""
    region: str
    """The region it belongs to."""
    zones: Sequence[str]
    """Availability zones that it spans."""
    kubernetes_version: str
    """Version of its control plane."""


def require_world(image: str | None) -> None:
    """See to it that a stack of the laptop world, known by its controller's image, is not built in a real account.

    Raises:
        PreflightError: No variable leads its calls away from there.
    """
    if (image or "").startswith(_LAPTOP_IMAGES) and not os.environ.get(_ENDPOINT):
        raise PreflightError(
            f"daiku:controllerImage: {image} is there in the laptop world alone, and {_ENDPOINT} is not set, so this "
            f"would go to the AWS account of your credentials; nothing was asked or changed.{_laptop()}"
        )


def ask() -> Offer:
    """Ask AWS, through the provider of the stack.

    Raises:
        PreflightError: AWS does not answer, most often for want of credentials.
    """
    try:
        return _asked()
    except Exception as error:
        # An invoke that fails raises nothing more special.
        said = str(error).strip()
        raise PreflightError(
            f"AWS cannot be asked what it offers; nothing was changed:\n  {said}\n"
            f"Without credentials nobody can know what a stack would change: give some, such as by `aws sso login` "
            f"and AWS_PROFILE (or aws:profile in the stack file), and see that `aws sts get-caller-identity` "
            f"answers with your account.{_laptop()}"
        ) from error


def _laptop() -> str:
    """What is missing of a command that was meant for the laptop world."""
    if os.environ.get(_ENDPOINT):
        return ""
    return (
        f"\nA stack of the laptop world needs {_ENDPOINT}, KUBECONFIG and more, which `daiku local exec -- COMMAND`"
        " sets, as in `daiku local exec -- pulumi up --stack local`."
    )


def _asked() -> Offer:
    """The four questions."""
    zones = aws.get_availability_zones(state="available")
    versions = aws.eks.get_cluster_versions(cluster_type="eks")
    return Offer(
        account_id=aws.get_caller_identity().account_id,
        region=aws.get_region().region,
        zones=frozenset(zones.names),
        versions=tuple(sorted(v.cluster_version for v in versions.cluster_versions)),
    )


def require(wish: Wish, offer: Offer) -> None:
    """See to it that AWS has what is asked for.

    Raises:
        PreflightError: It has not.
    """
    if problems := [*_problems(wish, offer)]:
        lines = "\n".join(f"  - {problem}" for problem in problems)
        count = "1 thing" if len(problems) == 1 else f"{len(problems)} things"
        raise PreflightError(
            f"AWS cannot give {count} of this stack; nothing was changed:\n{lines}"
        )


def _problems(wish: Wish, offer: Offer) -> list[str]:
    problems: list[str] = []
    if wish.account_id not in {None, offer.account_id}:
        problems.append(
            f"daiku:accountId: this stack belongs to account {wish.account_id}, and the credentials "
            f"are of {offer.account_id}; choose another AWS profile"
        )
    if wish.region != offer.region:
        problems.append(
            f"aws:region: this stack belongs to {wish.region}, and the provider works in {offer.region}"
        )
    if missing := [zone for zone in wish.zones if zone not in offer.zones]:
        problems.append(
            f"daiku:zones: {', '.join(missing)} cannot be had; open to account {offer.account_id} "
            f"are {', '.join(sorted(offer.zones))}"
        )
    if wish.kubernetes_version not in offer.versions:
        problems.append(
            f"daiku:kubernetesVersion: EKS makes no cluster of {wish.kubernetes_version}; it offers "
            f"{', '.join(offer.versions)}"
        )
    return problems
