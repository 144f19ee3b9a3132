"""A disruption that has been decided, as it is written on the NodeClaims that take part in it.

The problem: from the decision to the end of the old nodes minutes pass, in which the controller may die. The idea: the
decision is written on the nodes themselves before anything is done about it, in an annotation that names everyone
who takes part. Whoever leads next reads it and goes on, or calls it off; nothing of it lives in memory alone.

Beside it stand what Karpenter writes too: the condition DisruptionReason on the NodeClaim, and the taint
`karpenter.sh/disrupted` on its Node.
"""

import json
from dataclasses import asdict, dataclass
from functools import lru_cache
from typing import Any, Final, cast

from daiku.model import labels
from daiku.model.nodeclaim import NodeClaim
from daiku.report import Proposal

CONDITION: Final = "DisruptionReason"
REPLACEMENT_FAILED: Final = "ReplacementFailed"
"""Why a disruption was called off: a new node did not come up."""
SURGE_STOPPED: Final = "SurgeStopped"
"""Why a disruption was called off: a pod's replacement did not come up, or somebody set the replicas back."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Record:
    """What is written in the annotation."""

    id: str
    reason: str
    """Empty, Drifted or Underutilized."""
    method: str
    """empty, drift, static, repack or single."""
    claims: tuple[str, ...]
    """NodeClaims that go, in order."""
    replacements: tuple[str, ...] = ()
    """NodeClaims that come in their place, once they are asked for; in order."""
    surged: bool = False
    """Pods of theirs have been replaced already, on nodes that are there; no more nodes are made for it."""


def of_proposal(proposal: Proposal) -> Record:
    """The record with which `proposal` begins."""
    return Record(
        id=proposal.id, reason=proposal.reason, method=proposal.method, claims=proposal.claims
    )


def write(record: Record) -> str:
    """The annotation's value."""
    return json.dumps(asdict(record), sort_keys=True, separators=(",", ":"))


def read(claim: NodeClaim) -> Record | None:
    """The record on `claim`; None when there is none, or none that can be read."""
    return parse(claim.meta.annotations.get(labels.DISRUPTION_COMMAND))


@lru_cache(maxsize=4096)
def parse(written: str | None) -> Record | None:
    """The record that the annotation says; None when that is none."""
    if not written:
        return None
    try:
        found: object = json.loads(written)
    except ValueError:
        return None
    if not isinstance(found, dict):
        return None
    known = cast("dict[str, Any]", found)
    texts = [known.get(key) for key in ("id", "reason", "method")]
    lists = [known.get(key) for key in ("claims", "replacements")]
    if not all(isinstance(text, str) for text in texts) or not all(
        isinstance(names, list) and all(isinstance(n, str) for n in cast("list[Any]", names))
        for names in lists
    ):
        return None
    return Record(
        id=known["id"],
        reason=known["reason"],
        method=known["method"],
        claims=tuple(known["claims"]),
        replacements=tuple(known["replacements"]),
        surged=known.get("surged") is True,
    )
