"""The table of resource types, filled: importing the modules below enters their types."""

from typing import Final

from daiku_local.plugins import sdk
from daiku_local.plugins.aws import (
    eks,
    eks_parts,
    endpoints,
    iam,
    instances,
    keys,
    messages,
    network,
    routes,
    security,
)
from daiku_local.plugins.aws.kind import KINDS, Kind
from daiku_local.plugins.errors import ProviderError

MODULES: Final = (
    eks,
    eks_parts,
    endpoints,
    iam,
    instances,
    keys,
    messages,
    network,
    routes,
    security,
)
"""Where the types are."""


def of(token: str) -> Kind:
    """Give the resource type of `token`.

    Raises:
        ProviderError: The stand-in has none of that name.
    """
    if token not in KINDS:
        raise ProviderError(
            f"the stand-in for aws knows no {token}{sdk.nearest(token, frozenset(KINDS))}; it knows: "
            f"{', '.join(sorted(KINDS))}; use a real account or leave it out of the local stack"
        )
    return KINDS[token]
