"""What the controller that leads has decided of the nodes that are shown: in a line, of one node, and as JSON."""

from collections import Counter
from collections.abc import Sequence
from typing import Any, Final

from daiku.cli.leader import Word
from daiku.cli.viewing.rows import Row

REASONS_MOST: Final = 4
"""Reasons that are counted in a line; the others are counted together."""


def line(word: Word, found: Sequence[Row]) -> str:
    """What becomes of the nodes that are shown; empty where the controller has not said it."""
    if word.decisions is None:
        return ""
    shown = {row.node_claim: True for row in found if row.node_claim}
    going = sum(1 for claim in word.decisions.going if claim in shown)
    kept = Counter(
        k.reason
        for k in word.decisions.kept
        if k.node_claim in shown and k.node_claim not in word.decisions.going
    )
    common = sorted(kept.items(), key=lambda each: (-each[1], each[0]))
    counts = [f"{reason} {count}" for reason, count in common[:REASONS_MOST]]
    rest = sum(count for _, count in common[REASONS_MOST:])
    counts += [f"other reasons {rest}"] if rest else []
    stay = f", {kept.total()} stay ({', '.join(counts)})" if counts else ""
    return f"{going} about to go{stay}, {word.said()}"


def of_node(word: Word, row: Row) -> tuple[str, str]:
    """Why a node is still here or goes, and who says so or why nobody does."""
    if not row.node_claim:
        return "", "it has no NodeClaim: no controller of Karpenter's API decides when it goes"
    if word.decisions is None:
        return "", f"without the controller's reasons: {word.why}"
    if row.node_claim in word.decisions.going:
        return f"about to go: {word.decisions.going[row.node_claim]}", word.said()
    for each in word.decisions.kept:
        if each.node_claim == row.node_claim:
            until = f" (until {each.until:%H:%M:%S} UTC)" if each.until is not None else ""
            return f"{each.reason}: {each.message}{until}", word.said(each.decided)
    return "", f"nothing said of it, {word.said()}"


def add(value: dict[str, Any], word: Word) -> dict[str, Any]:
    """The JSON of a view with what the controller says of each node."""
    decided = word.decisions
    kept = {each.node_claim: each for each in decided.kept} if decided is not None else {}
    going = decided.going if decided is not None else {}
    for node in value["nodes"]:
        claim = node["nodeClaim"]
        stays = kept.get(claim) if claim not in going else None
        node["going"] = going.get(claim, "")
        node["keptReason"] = stays.reason if stays is not None else ""
        node["keptMessage"] = stays.message if stays is not None else ""
    # Where the reasons of nodes are from; all else is the cluster's.
    return value | {
        "source": "controller" if decided is not None else "cluster",
        "ageSeconds": word.age_seconds(),
        "whyNotController": word.why,
    }
