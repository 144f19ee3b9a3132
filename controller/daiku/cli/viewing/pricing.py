"""What the nodes of any cluster cost, asked of their cloud: no node class is needed, and no CLUSTER_NAME.

The cloud and its region are read from the nodes themselves.
"""

from collections.abc import Mapping, Sequence
from typing import Final

from daiku.cli import instance_types
from daiku.cli.viewing.ledger import Machine
from daiku.cloud.aws.session import NoRegionError
from daiku.cloud.errors import CloudError
from daiku.cloud.kwok import catalogue as kwok_catalogue
from daiku.model import labels
from daiku.model.instance_type import Catalogue, InstanceType, NodeClassRef
from daiku.runtime import options

ANY: Final = NodeClassRef(group="", kind="", name="")
"""Prices are the same in every node class."""
REMEDY: Final = "give credentials for the cloud, or a price list with --instance-types FILE"


class NoPricesError(Exception):
    """Nobody says what nodes cost; the message says why and what to do."""


def catalogue(machines: Sequence[Machine], environ: Mapping[str, str]) -> Catalogue:
    """What the cloud of these machines sells, with prices.

    Args:
        machines: What is shown; their provider ids name the cloud.
        environ: Environment variables: credentials, and a region if the nodes' labels do not say it.

    Raises:
        NoPricesError: The cloud is unknown, or does not answer.
    """
    schemes = {_provider_id(machine).partition(":")[0] for machine in machines}
    if "aws" in schemes:
        return of_types(_aws(_region(machines, environ), environ))
    if "kwok" in schemes:
        return of_types(kwok_catalogue.built_in())
    raise NoPricesError(f"no node is of a cloud whose prices can be asked for; {REMEDY}")


def of_types(types: Sequence[InstanceType]) -> Catalogue:
    """A catalogue of nothing but these types."""
    return Catalogue(version=1, instance_types={ANY: tuple(types)})


def _aws(region: str, environ: Mapping[str, str]) -> Sequence[InstanceType]:
    try:
        chosen = options.read((), {**environ, "CLOUD": "aws", "CLUSTER_NAME": "none"})
        return instance_types.fetch(chosen, None, region)
    except (NoRegionError, CloudError, options.OptionsError) as error:
        raise NoPricesError(f"{error}; {REMEDY}") from error


def _region(machines: Sequence[Machine], environ: Mapping[str, str]) -> str:
    """The one that a node says it is in, such as us-west-2; else the environment's."""
    for machine in machines:
        known = machine.node.meta.labels.get(labels.REGION, "") if machine.node else ""
        if known:
            return known
    return environ.get("AWS_REGION", "")


def _provider_id(machine: Machine) -> str:
    held = [each.provider_id for each in (machine.node, machine.claim) if each is not None]
    return next((each for each in held if each), "")
