"""Why a pod waits, why a node is still here, what a NodePool would do: the core's decisions, asked for one name.

A pod is explained by a forecast of all pods that wait. A node is explained by letting the core decide, while nothing is
carried out, as at the end of a round of consolidation in which this node is the last to be looked at: what it says of
the node then, and what it would do with it. A NodePool is explained by what the core decides within a minute.
Not here: reading a cluster (`cli.capture`), saying it to people (`cli.explain`).
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from daiku import advice
from daiku.commands import Command, DeleteNodeClaim, PatchNodeClaim
from daiku.disruption import consolidation
from daiku.events import Object
from daiku.forecast import Forecast, forecast
from daiku.forecast import cluster as cluster_of
from daiku.model import labels, resources, units
from daiku.model.condition import find
from daiku.model.instance_type import Catalogue
from daiku.model.nodepool import NodePool
from daiku.model.pod import Pod
from daiku.report import Blocker, Kept, Look, Report
from daiku.scheduling import prices
from daiku.scheduling.packer.effort import Stop
from daiku.settings import Settings
from daiku.state.cluster import Cluster
from daiku.state.statenode import StateNode
from daiku.tick import Plan, tick

LOOKED: Final = timedelta(minutes=1)
"""How long the core decides about nodes: longer than a consolidation rests before it acts."""
TICKS_MOST: Final = 200
TOGETHER_MOST: Final = 100
"""Nodes that are also looked at together when one of them is asked for: a fraction of a second."""
_PASSING: Final = frozenset(
    {"Budget", "Disrupting", "LetOff", "Nominated", "ReturnWaits", "Settling", "TooYoung", "Waits"}
)
"""Why a node is kept now and may not be in a minute, although nothing happens."""


_Decided = tuple[Mapping[str, Kept], Mapping[str, str], str]
"""Why each NodeClaim is kept, why others go, and what all nodes that may go could become."""


class UnknownNameError(Exception):
    """There is no such object; the message names those that there are."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Explanation:
    """An answer in three parts."""

    title: str
    """One sentence."""
    facts: tuple[tuple[str, str], ...]
    """Label and value, in the order in which they are read."""
    reasons: tuple[str, ...]
    """What binds, nearest miss first."""
    remedies: tuple[str, ...]
    """What would change it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """What is asked of."""

    objects: Sequence[Object]
    catalogue: Catalogue
    settings: Settings
    now: datetime
    stop: Stop | None = None
    """Asked now and then whether the best repack so far must do."""


def pod(question: Question, namespace: str, name: str) -> Explanation:
    """Why a pod waits, or where it is.

    Raises:
        UnknownNameError: There is no such pod.
    """
    key = f"{namespace}/{name}"
    found = next((o for o in question.objects if isinstance(o, Pod) and o.meta.key == key), None)
    if found is None:
        raise UnknownNameError(
            _unknown("pod", key, [o for o in question.objects if isinstance(o, Pod)])
        )
    asked = ", ".join(
        f"{resource} {units.format_quantity(resource, amount)}"
        for resource, amount in sorted(found.requests.items())
        if resource != resources.PODS
    )
    facts = [("requests", asked or "nothing")]
    if found.node_name:
        facts.append(("node", found.node_name))
        return _said(f"Pod {key} runs on node {found.node_name}.", facts)
    if found.is_finished:
        return _said(f"Pod {key} has ended.", facts)
    if found.is_daemon:
        return _said(
            f"Pod {key} belongs to a DaemonSet: it comes with its node, and no node is made for it.",
            facts,
        )
    made = forecast(question.objects, question.catalogue, question.settings)
    return _of_waiting(key, made, facts)


def node(question: Question, name: str) -> Explanation:
    """Why a node is still here, what it costs, and what blocks moving it until when.

    Raises:
        UnknownNameError: There is no such node.
    """
    cluster = _cluster(question)
    snapshot = cluster.snapshot(question.now)
    found = snapshot.by_name.get(name)
    if found is None:
        raise UnknownNameError(_unknown("node", name, snapshot.state_nodes))
    usd = prices.of_nodes(snapshot, question.catalogue).get(found.name)
    facts = [*_facts_of_node(found), ("price", _price(usd))]
    if found.claim is None:
        return _said(
            f"Node {name} has no NodeClaim: another controller, or a person, decides when it goes.",
            facts,
        )
    if found.is_deleting:
        return _said(f"Node {name} is going.", facts, _conditions(found))
    claims = [s.claim_name for s in snapshot.state_nodes if s.claim is not None]
    why, goes = _decided_about(found.claim_name, claims, cluster, question)
    apart: list[str] = []
    if why is not None and why.reason == "Unconsolidatable" and not goes:
        if len(claims) <= TOGETHER_MOST:
            goes = _decided(_cluster(question), question)[1].get(found.claim_name, "")
        else:
            apart = [
                f"it was looked at by itself; what all {len(claims)} nodes could become together is said of a NodePool"
            ]
    if goes:
        return _said(f"Node {name} is about to go.", facts, [goes])
    if why is None:
        return _said(f"Node {name} is kept: nothing speaks for taking it away.", facts)
    remedies = [advice.KEPT[why.reason]] if why.reason in advice.KEPT else []
    return _said(
        f"Node {name} is still here: {why.reason}.", facts, [why.message, *apart], remedies
    )


def node_pool(question: Question, name: str) -> Explanation:
    """What a NodePool has, may, and would do.

    Raises:
        UnknownNameError: There is no such NodePool.
    """
    cluster = _cluster(question)
    snapshot = cluster.snapshot(question.now)
    found = snapshot.node_pool(name)
    if found is None:
        raise UnknownNameError(_unknown("NodePool", name, snapshot.node_pools))
    own = [s for s in snapshot.state_nodes if s.nodepool == name and s.claim is not None]
    known = prices.of_nodes(snapshot, question.catalogue)
    usd = sum(known.get(s.name, 0.0) for s in own)
    used = resources.add(*(s.capacity for s in own))
    facts = [("nodes", str(len(own))), ("price", _price(usd))]
    facts += [
        (
            f"limit {r}",
            f"{units.format_quantity(r, used.get(r, 0))} of {units.format_quantity(r, most)}",
        )
        for r, most in sorted((found.limits or {}).items())
    ]
    ready = find(found.conditions, "Ready")
    if found.invalid or (ready is not None and ready.status == "False"):
        why = found.invalid or (ready.message if ready is not None else "")
        return _said(
            f"NodePool {name} is not ready: no node is made for it.",
            facts,
            [why],
            [advice.WAITING["NodePoolNotReady"]],
        )
    made = forecast(question.objects, question.catalogue, question.settings)
    return _of_pool(found, made, _decided(cluster, question), own, facts)


def _of_waiting(key: str, made: Forecast, facts: list[tuple[str, str]]) -> Explanation:
    for existing in made.existing_nodes:
        if key in existing.added:
            return _said(f"Pod {key} fits on node {existing.name}, which has room for it.", facts)
    for new in made.new_nodes:
        if key in new.pods:
            facts += [
                ("nodepool", new.nodepool),
                ("instance types", _first(new.instance_types)),
                ("capacity type", new.capacity_type),
                ("zones", ", ".join(new.zones)),
                ("price", _price(new.usd_per_hour)),
                ("shares it with", _counted(len(new.pods) - 1, "other pod")),
            ]
            return _said(f"Pod {key} gets a new node of NodePool {new.nodepool}.", facts)
    for each in made.unschedulable:
        if key in each.pods:
            others = len(each.pods) - 1
            facts += (
                [("alike", f"{_counted(others, 'other pod')} waiting for the same reasons")]
                if others
                else []
            )
            return _said(
                f"Pod {key} fits nowhere.",
                facts,
                [str(b) for b in each.blockers],
                _remedies(each.blockers),
            )
    return _said(f"Pod {key} is not planned for: {_aside(made)}.", facts)


def _of_pool(
    found: NodePool,
    made: Forecast,
    decided: _Decided,
    own: Sequence[StateNode],
    facts: list[tuple[str, str]],
) -> Explanation:
    kept, going, repacked = decided
    name = found.meta.name
    new = [node for node in made.new_nodes if node.nodepool == name]
    refused = [b for each in made.unschedulable for b in each.blockers if b.nodepool == name]
    facts += (
        [
            (
                "would make",
                f"{_counted(len(new), 'node')} for {_counted(sum(len(n.pods) for n in new), 'pod')}",
            )
        ]
        if new
        else []
    )
    counted: dict[str, int] = {}
    for state_node in own:
        if state_node.claim_name in going:
            counted["about to go"] = counted.get("about to go", 0) + 1
        elif state_node.claim_name in kept:
            reason = kept[state_node.claim_name].reason
            counted[reason] = counted.get(reason, 0) + 1
    facts += [
        (f"kept, {reason}", _counted(count, "node")) for reason, count in sorted(counted.items())
    ]
    moves = sorted({why for claim, why in going.items() if any(s.claim_name == claim for s in own)})
    reasons = [*([repacked] if repacked else []), *moves, *dict.fromkeys(str(b) for b in refused)]
    return _said(f"NodePool {name} is ready.", facts, reasons, _remedies(refused))


def _decided_about(
    claim: str, claims: Sequence[str], cluster: Cluster, question: Question
) -> tuple[Kept | None, str]:
    """Why a NodeClaim is kept, now or in a minute if that may differ, and why it goes; empty when it stays."""
    why: Kept | None = None
    for now in (question.now, question.now + LOOKED):
        # Consolidation has looked at all others and found nothing.
        round_ = Look(
            at=now - LOOKED,
            changes=cluster.snapshot(now).changes,
            tried=frozenset(claims) - {claim},
        )
        cluster.planned(Report(looks={consolidation.LOOK: round_}), now)
        plan = _tick(cluster, question, now)
        goes = _goes(plan).get(claim, "")
        why = next((each for each in plan.report.kept if each.node_claim == claim), None)
        if goes or why is None or why.reason not in _PASSING:
            return why, goes
    return why, ""


def _decided(cluster: Cluster, question: Question) -> _Decided:
    """What the core says of every NodeClaim within a minute in which nothing is carried out, and of all of them."""
    kept: dict[str, Kept] = {}
    going: dict[str, str] = {}
    repacked = ""
    now = question.now
    for _ in range(TICKS_MOST):
        plan = _tick(cluster, question, now)
        cluster.planned(plan.report, now)
        kept |= {each.node_claim: each for each in plan.report.kept}
        looked = [str(x.repacked) for x in plan.report.looks.values() if x.repacked is not None]
        repacked = repacked or "".join(looked[:1])
        going = {**_goes(plan), **going}
        if plan.wake_at is None or plan.wake_at > question.now + LOOKED:
            break
        if question.stop is not None and question.stop():
            break
        now = plan.wake_at
    return kept, going, repacked


def _tick(cluster: Cluster, question: Question, now: datetime) -> Plan:
    return tick(cluster.snapshot(now), question.catalogue, question.settings, now, question.stop)


def _goes(plan: Plan) -> dict[str, str]:
    """NodeClaims that a plan takes away, and why."""
    going = {claim: str(p) for p in plan.report.proposals for claim in p.claims}
    for command in plan.commands:
        going |= _begun(command, going)
    return going


def _begun(command: Command, known: Mapping[str, str]) -> Mapping[str, str]:
    """NodeClaims that a command begins to take away, and why."""
    if isinstance(command, DeleteNodeClaim):
        return {} if command.name in known else {command.name: f"{command.reason}: now"}
    if isinstance(command, PatchNodeClaim) and command.name not in known:
        written = (command.annotations or {}).get(labels.DISRUPTION_COMMAND)
        if written:
            return {command.name: f"{json.loads(written)['reason']}: its turn has come"}
    return {}


def _cluster(question: Question) -> Cluster:
    return cluster_of(question.objects, question.catalogue, question.settings)


def _facts_of_node(found: StateNode) -> list[tuple[str, str]]:
    known = found.labels
    used, there = found.used(), found.allocatable
    return [
        ("nodepool", found.nodepool or "none"),
        ("instance type", known.get(labels.INSTANCE_TYPE, "unknown")),
        ("zone", known.get(labels.ZONE, "unknown")),
        ("capacity type", known.get(labels.CAPACITY_TYPE, "unknown")),
        ("pods", str(sum(1 for p in found.pods if not p.is_finished))),
        *(
            (resource, f"{100 * used.get(resource, 0) / there[resource]:.0f} % requested")
            for resource in (resources.CPU, resources.MEMORY)
            if there.get(resource)
        ),
    ]


def _conditions(found: StateNode) -> list[str]:
    """What a node that is going says it waits for."""
    conditions = found.claim.conditions if found.claim is not None else ()
    return [f"{c.type}: {c.message}" for c in conditions if c.status != "True" and c.message]


def _remedies(blockers: Sequence[Blocker]) -> list[str]:
    return list(
        dict.fromkeys(advice.WAITING[b.reason] for b in blockers if b.reason in advice.WAITING)
    )


def _price(usd: float | None) -> str:
    return "unknown" if usd is None else f"${usd:.4f} an hour, ${730 * usd:,.0f} a month"


def _counted(number: int, noun: str) -> str:
    return f"{number} {noun}{'' if number == 1 else 's'}"


def _first(names: Sequence[str]) -> str:
    more = len(names) - 3
    return ", ".join(names[:3]) + (f" and {more} dearer ones" if more > 0 else "")


def _aside(made: Forecast) -> str:
    return (
        "; ".join(made.notes)
        or "its scheduler is another one, or it is held back by a scheduling gate"
    )


def _unknown(kind: str, name: str, there: Sequence[Pod | StateNode | NodePool]) -> str:
    names = [each.name if isinstance(each, StateNode) else each.meta.key for each in there]
    alike = sorted(each for each in names if name.rpartition("/")[2][:6] in each)[:5]
    near = f"; there are {', '.join(alike)}" if alike else ""
    return f"there is no {kind} {name} among {len(names)}{near}"


def _said(
    title: str,
    facts: Sequence[tuple[str, str]],
    reasons: Sequence[str] = (),
    remedies: Sequence[str] = (),
) -> Explanation:
    return Explanation(
        title=title, facts=tuple(facts), reasons=tuple(reasons), remedies=tuple(remedies)
    )
