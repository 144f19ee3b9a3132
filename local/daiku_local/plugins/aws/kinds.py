"""The table of resource types, filled: importing the modules below enters their types."""

import importlib

from daiku_local.plugins import sdk
from daiku_local.plugins.aws.kind import KINDS, Kind
from daiku_local.plugins.errors import ProviderError

for _module in (
    "eks",
    "eks_parts",
    "endpoints",
    "iam",
    "instances",
    "keys",
    "messages",
    "network",
    "routes",
    "security",
):
    importlib.import_module(f"daiku_local.plugins.aws.{_module}")


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
