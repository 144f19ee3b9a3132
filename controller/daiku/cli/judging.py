"""NodePools and node classes of a plan, judged as an API server would before it takes them.

The schemas of the CustomResourceDefinitions are asked in full. Their CEL rules need a library that comes with the extra
`daiku[cli]`; without it a note says that they were not asked.
"""

import difflib
from collections.abc import Mapping, Sequence
from typing import Any, Final, cast

import msgspec

from daiku.api import api_rules, kinds
from daiku.api.manifests import Document

RESOURCES: Final = ("cpu", "memory", "ephemeral-storage", "pods", "nodes", "storage")
"""What a limit may be on, beside extended resources, whose names have a domain."""


def judged(documents: Sequence[Document], problems: list[str], notes: list[str]) -> list[Document]:
    """The documents without the NodePools and node classes that an API server would refuse.

    Args:
        documents: Everything in the input; what comes from a cluster has been judged there.
        problems: Takes a line for each mistake.
        notes: Takes what could not be asked.
    """
    found: list[Document] = []
    asked = False
    for each in documents:
        kind = kinds.BY_NAME.get(each.kind) if each.kind in api_rules.KINDS else None
        if each.live or kind is None or kind.api_version != each.api_version:
            found.append(each)
            continue
        asked = True
        whole: Any = msgspec.json.decode(each.content)
        wrong = [
            *api_rules.problems_of_object(each.kind, whole),
            *(_limits(whole) if each.kind == "NodePool" else ()),
        ]
        problems += [f"{each.where}: {place}: {what}" for place, what in dict.fromkeys(wrong)]
        if not wrong:
            found.append(each)
    if asked and not api_rules.can_run_rules():
        notes.append(
            "NodePools and node classes are judged by their schemas; their CEL rules are not asked without daiku[cli]"
        )
    return found


def _limits(whole: Mapping[str, Any]) -> list[api_rules.Problem]:
    """Limits on what no node has; the API takes them, and they limit nothing."""
    spec: Any = whole.get("spec")
    limits: Any = cast("dict[str, Any]", spec).get("limits") if isinstance(spec, dict) else None
    found: list[api_rules.Problem] = []
    for name in cast("dict[str, Any]", limits) if isinstance(limits, dict) else ():
        if name in RESOURCES or "/" in name or name.startswith("hugepages-"):
            continue
        close = difflib.get_close_matches(name, RESOURCES, n=1)
        remedy = f"did you mean {close[0]}?" if close else f"known: {', '.join(RESOURCES)}"
        found.append((f"spec.limits.{name}", f"no node has such a resource; {remedy}"))
    return found
