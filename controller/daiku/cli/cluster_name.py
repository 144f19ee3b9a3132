"""The EKS cluster's name: what CLUSTER_NAME says, else the tag by which all node classes select, which by custom is it.

Only who reads may take it from there; who deletes has to be told.
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

VARIABLE: Final = "CLUSTER_NAME"
_TAG: Final = "karpenter.sh/discovery"
_SELECTORS: Final = ("subnetSelectorTerms", "securityGroupSelectorTerms")


def find(environ: Mapping[str, str], node_classes: Iterable[Mapping[str, Any]]) -> str:
    """The cluster's name; empty where nothing says it, or two things differ.

    Args:
        environ: Environment variables.
        node_classes: EC2NodeClasses, as the API server has them.
    """
    given = environ.get(VARIABLE, "")
    if given:
        return given
    found = dict.fromkeys(name for each in node_classes for name in _selected_by(each) if name)
    return next(iter(found)) if len(found) == 1 and "*" not in found else ""


def _selected_by(node_class: Mapping[str, Any]) -> Iterator[str]:
    spec: Mapping[str, Any] = node_class.get("spec") or {}
    for field in _SELECTORS:
        terms: Iterable[Mapping[str, Any]] = spec.get(field) or ()
        for term in terms:
            tags: Mapping[str, str] = term.get("tags") or {}
            yield tags.get(_TAG, "")
