"""What the pods of a cluster cost on its Auto Scaling groups, and what they would cost on the NodePools proposed.

Today's cost is that of the instances that run, at the catalogue's prices. For the other one every pod of the input that
no DaemonSet made is planned anew, by the controller's own decision, as if no node were there.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from daiku import forecast
from daiku.api import configuration, manifests
from daiku.api.configuration import Configuration
from daiku.api.manifests import ManifestError
from daiku.cli import planning
from daiku.cli.converting import tree
from daiku.cli.converting.groups import Group
from daiku.cli.converting.tree import Tree
from daiku.model.instance_type import Catalogue
from daiku.model.node import Node
from daiku.model.nodeclaim import NodeClaim
from daiku.model.pod import Pod
from daiku.scheduling import prices
from daiku.settings import Settings


@dataclass(frozen=True, slots=True, kw_only=True)
class Compared:
    """Both, as USD per hour."""

    nodes_now: int
    usd_now: float
    unpriced: int
    """Instances whose price is not known; counted as nothing."""
    nodes_then: int
    usd_then: float
    homeless: int
    """Pods that would fit on no NodePool."""
    notes: tuple[str, ...]


def compare(
    groups: Sequence[Group],
    proposed: Sequence[Tree],
    contents: Sequence[tuple[str, bytes]],
    instance_types: str,
) -> Compared:
    """Plan the pods of some files on the proposal.

    Args:
        groups: The groups as they are.
        proposed: NodePools and node classes.
        contents: Name and content of files with pods: a `daiku snapshot`, or a list of kubectl.
        instance_types: As on the command line of `daiku plan`.

    Raises:
        ManifestError: Something cannot be used.
    """
    problems: list[str] = []
    found = [each for name, text in contents for each in manifests.read(name, text, problems)]
    kept = [d for d in found if d.kind not in {"NodePool", "NodeClaim", "EC2NodeClass", "Node"}]
    made = manifests.read("the proposal", tree.write(proposed).encode(), problems)
    built = configuration.build([*kept, *made], problems)
    given = planning.read_types(instance_types, problems)
    if problems:
        raise ManifestError(problems)
    loose = Configuration(
        objects=tuple(
            _loose(each) if isinstance(each, Pod) else each
            for each in built.objects
            if not isinstance(each, Node | NodeClaim)
            and not (
                isinstance(each, Pod) and (each.is_daemon or each.is_mirror or each.is_finished)
            )
        ),
        offered=built.offered,
        notes=built.notes,
    )
    offered, guessed = planning.offers(loose, given)
    catalogue = Catalogue(version=1, instance_types=offered)
    planned = forecast.forecast(loose.objects, catalogue, Settings())
    known = prices.in_any_class(catalogue)
    bought = [(kind, zone, _bought(group)) for group in groups for kind, zone in group.running]
    return Compared(
        nodes_now=len(bought),
        usd_now=sum(known.get(each, 0.0) for each in bought),
        unpriced=sum(each not in known for each in bought),
        nodes_then=len(planned.new_nodes),
        usd_then=planned.new_usd_per_hour,
        homeless=len(planned.homeless),
        notes=(*loose.notes, *guessed),
    )


def _loose(pod: Pod) -> Pod:
    return replace(pod, node_name="", phase="Pending", ready=False, nominated_node_name="")


def _bought(group: Group) -> str:
    """How its instances are taken to have been bought: the AWS CLI does not say it of each."""
    return group.capacity_types[0]
