"""Why a pod waits, why a node is still here, what a NodePool would do: the core's decisions, asked for one name.

A pod is explained by a forecast of all pods that wait. A node is explained by letting the core decide, while nothing is
carried out, as at the end of a round of consolidation in which this node is the last to be looked at: what it says of
the node then, and what it would do with it. A NodePool is explained by what the core decides within a minute; in a
large cluster by what it decides at once of nodes that are looked at one by one, because an answer must come soon.
Where the controller that leads has said what it decided, its words are the answer, and nothing is computed.
Not here: reading a cluster (`cli.capture`), asking the leader (`cli.leader`), saying it to people (`cli.explain`).
"""

import difflib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Final

from daiku import prospect, reasons
from daiku.api.decisions import Decisions
from daiku.forecast import Forecast, forecast
from daiku.lifecycle import liveness
from daiku.model import labels, resources, units
from daiku.model.condition import find
from daiku.model.nodeclaim import NodeClaim
from daiku.model.nodepool import NodePool
from daiku.model.pod import Pod
from daiku.prospect import Decided, Question
from daiku.reason import WHERE, Reason
from daiku.report import Blocker, Kept
from daiku.scheduling import prices
from daiku.state.cluster import Cluster
from daiku.state.statenode import StateNode

TOGETHER_MOST: Final = 100
"""Nodes that are also looked at together: a fraction of a second."""
_TOGETHER: Final = "what all {} nodes could become together is searched by `daiku plan --repack`"


STAGES: Final[Mapping[str, str]] = {
    "Launched": "has no instance yet",
    "Registered": "waits for its node to join the cluster",
    "Initialized": "has a node that is not ready for pods yet",
}
"""Condition of a NodeClaim, in the order in which they become True -> what is so until then."""


CLUSTER: Final = "cluster"
RECOMPUTED: Final = "recomputed"
CONTROLLER: Final = "controller"
Named = Pod | StateNode | NodePool | NodeClaim | str
"""What can be asked for by name."""


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
    source: str = RECOMPUTED
    """Where it is from: `CONTROLLER` decided it, `RECOMPUTED` here, or there is nothing to decide (`CLUSTER`)."""
    decided: datetime | None = None
    """When the controller found it out; None: in its last decision."""
    silent: str = ""
    """Why the controller's word was not used although it was there."""


def reason(word: str) -> Explanation:
    """What a word says that events, conditions, metrics and other answers give as a reason, however it is capitalised.

    Raises:
        UnknownNameError: Daiku gives no such reason.
    """
    alike = (r for r in reasons.TABLE.values() if r.reason.lower() == word.lower())
    row = reasons.TABLE.get(word) or next(alike, None)
    if row is None:
        raise UnknownNameError(_unknown("reason", word, list(reasons.TABLE)))
    facts = [(kind.value, WHERE[kind]) for kind in row.kinds]
    said = f"{row.reason}: {row.means}."
    return _seen(said, facts, (), [row.remedy] if row.remedy else [])


def pod(
    question: Question, namespace: str, name: str, decided: Decisions | None = None
) -> Explanation:
    """Why a pod waits, or where it is.

    Args:
        question: The cluster.
        namespace: Of the pod.
        name: Of the pod.
        decided: What the controller that leads has said; None: nothing.

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
        where = prospect.cluster_of(question).snapshot(question.now).by_name.get(found.node_name)
        going = ", which is going" if where is not None and where.is_deleting else ""
        return _seen(f"Pod {key} runs on node {found.node_name}{going}.", facts)
    if found.is_finished:
        return _seen(f"Pod {key} has ended.", facts)
    if found.is_daemon:
        return _seen(
            f"Pod {key} belongs to a DaemonSet: it comes with its node, and no node is made for it.",
            facts,
        )
    silent = ""
    if decided is not None:
        told = _told_of_pod(key, decided, question, facts)
        if told is not None:
            return told
        silent = _silent("unschedulable", "placements", decided=decided, about="the pod")
    return replace(_pod_recomputed(key, question, facts), silent=silent)


def _pod_recomputed(key: str, question: Question, facts: list[tuple[str, str]]) -> Explanation:
    """What becomes of a pod that waits, decided here."""
    made = forecast(question.objects, question.catalogue, question.settings)
    home = next((each.name for each in made.existing_nodes if key in each.added), "")
    goes = _given_up(home, question) if home else ""
    if goes:
        return _said(
            f"Pod {key} would fit on node {home}, but that is about to go.",
            facts,
            [goes, "what the pod gets instead is decided once it has gone"],
        )
    return _of_waiting(key, made, facts)


def node(question: Question, name: str, decided: Decisions | None = None) -> Explanation:
    """Why a node is still here, what it costs, and what blocks moving it until when.

    Args:
        question: The cluster.
        name: Of the node, or of its NodeClaim.
        decided: What the controller that leads has said; None: nothing.

    Raises:
        UnknownNameError: There is no such node.
    """
    cluster = prospect.cluster_of(question)
    snapshot = cluster.snapshot(question.now)
    found = snapshot.by_name.get(name)
    if found is None:
        raise UnknownNameError(_unknown("node", name, snapshot.state_nodes))
    return _of_node(found, f"Node {name}", cluster, question, decided)


def node_claim(question: Question, name: str, decided: Decisions | None = None) -> Explanation:
    """What a NodeClaim waits for while its node comes up; then what `node` says.

    Args:
        question: The cluster.
        name: Of the NodeClaim.
        decided: What the controller that leads has said; None: nothing.

    Raises:
        UnknownNameError: There is no such NodeClaim.
    """
    cluster = prospect.cluster_of(question)
    claimed = [s for s in cluster.snapshot(question.now).state_nodes if s.claim is not None]
    found = next((s for s in claimed if s.claim_name == name), None)
    if found is None or found.claim is None:
        raise UnknownNameError(_unknown("NodeClaim", name, [s.claim for s in claimed if s.claim]))
    own = [("node", found.node.meta.name if found.node is not None else "none yet")]
    if found.provider_id:
        own.append(("instance", found.provider_id))
    awaited = next((c for c in STAGES if not found.claim.is_true(c)), "")
    if found.is_deleting or not awaited:
        said = _of_node(found, f"NodeClaim {name}", cluster, question, decided)
        return replace(said, facts=(*own, *said.facts))
    conditions = found.claim.conditions
    known = find(conditions, awaited)
    ends = liveness.ends(
        found.claim, lambda kind: find(conditions, kind), question.settings, question.now
    )
    own += [
        ("given up", f"{end:%Y-%m-%d %H:%M:%S} UTC, {_ending(why)}")
        for end, why in sorted(ends)[:1]
    ]
    why = (known.message or known.reason) if known is not None else ""
    tried = [
        f"{each.why}; tried {units.counted(each.failures, 'time')}, again at {each.until:%H:%M:%S} UTC"
        for each in (decided.failing if decided is not None else ())
        if each.key.rpartition("/")[2] == name
    ]
    said = _seen(
        f"NodeClaim {name} {STAGES[awaited]}.",
        [*own, *_facts_of_node(found)],
        tried or [why or f"its condition {awaited} does not say why"],
    )
    return replace(said, source=CONTROLLER) if tried else said


def _of_node(
    found: StateNode,
    called: str,
    cluster: Cluster,
    question: Question,
    decided: Decisions | None,
) -> Explanation:
    """What becomes of a node, `called` so by who asked."""
    facts = [*_facts_of_node(found), ("price", _price(_usd(found, question)))]
    if found.claim is None:
        return _seen(
            f"{called} has no NodeClaim: another controller, or a person, decides when it goes.",
            facts,
        )
    if found.is_deleting:
        return _seen(f"{called} is going.", facts, _conditions(found))
    if decided is None:
        return _recomputed(found, called, cluster, question, facts)
    told = _told_of_node(found.claim_name, called, decided, facts)
    if told is not None:
        return told
    silent = _silent("kept", "going", decided=decided, about="the node")
    return replace(_recomputed(found, called, cluster, question, facts), silent=silent)


def _recomputed(
    found: StateNode,
    called: str,
    cluster: Cluster,
    question: Question,
    facts: list[tuple[str, str]],
) -> Explanation:
    """What becomes of a node that is not going yet, decided here."""
    snapshot = cluster.snapshot(question.now)
    claims = [s.claim_name for s in snapshot.state_nodes if s.claim is not None]
    why, goes = prospect.of_one(found.claim_name, claims, cluster, question)
    apart: list[str] = []
    if goes or (why is not None and why.reason == reasons.UNCONSOLIDATABLE):
        if len(claims) <= TOGETHER_MOST:
            together = prospect.within_a_minute(prospect.cluster_of(question), question).going
            if goes and found.claim_name not in together:
                first = f"within a minute the controller takes {_first(sorted(together))} instead"
                return _said(f"{called} could go, but others go first.", facts, [first, goes])
            goes = together.get(found.claim_name, "")
        elif not goes:
            apart = [f"it was looked at by itself; {_TOGETHER.format(f'{len(claims):,}')}"]
    if goes:
        return _said(f"{called} is about to go.", facts, [goes])
    if why is None:
        return _said(f"{called} is kept: nothing speaks for taking it away.", facts)
    return _stays(called, why, facts, apart)


def _stays(
    called: str, why: Kept, facts: list[tuple[str, str]], apart: Sequence[str] = ()
) -> Explanation:
    """That a node stays, and why."""
    said = f"{called} is still here: {why.reason}."
    return _said(said, facts, [why.message, *apart], _remedies([why]))


def _told_of_node(
    claim: str, called: str, decided: Decisions, facts: list[tuple[str, str]]
) -> Explanation | None:
    """What the controller said of a node; None when it said nothing."""
    if claim in decided.going:
        resting = next((p for p in decided.proposals if claim in p.node_claims), None)
        said = _said(f"{called} is about to go.", facts, [decided.going[claim]])
        if resting is None:
            return replace(said, source=CONTROLLER)
        timer = ("acted upon", f"{resting.until:%H:%M:%S} UTC, if it is still right")
        return replace(said, facts=(*facts, timer), source=CONTROLLER, decided=resting.decided)
    kept = next((each for each in decided.kept if each.node_claim == claim), None)
    if kept is None:
        return None
    timer = [("until", f"{kept.until:%H:%M:%S} UTC")] if kept.until is not None else []
    said = _stays(called, kept.kept, [*facts, *timer])
    return replace(said, source=CONTROLLER, decided=kept.decided)


def _told_of_pod(
    key: str, decided: Decisions, question: Question, facts: list[tuple[str, str]]
) -> Explanation | None:
    """What the controller said of a pod that waits; None when it said nothing."""
    group = next((each for each in decided.unschedulable if key in each.pods), None)
    if group is not None:
        return replace(_fits_nowhere(key, group.pods, group.blockers, facts), source=CONTROLLER)
    target = decided.placements.get(key, "")
    if not target:
        return None
    there = prospect.cluster_of(question).snapshot(question.now).by_name.get(target)
    claim = there.claim_name if there is not None else target
    if claim in decided.going:
        why = [decided.going[claim], "what the pod gets instead is decided once it has gone"]
        said = _said(f"Pod {key} would fit on {target}, but that is about to go.", facts, why)
        return replace(said, source=CONTROLLER)
    about = _facts_of_node(there) if there is not None else []
    is_up = there is not None and there.node is not None and there.is_initialized
    title = (
        f"Pod {key} fits on node {target}, which has room for it."
        if is_up
        else f"Pod {key} gets the node of {target}, which comes up."
    )
    return replace(_said(title, [*facts, *about]), source=CONTROLLER)


def _silent(*lists: str, decided: Decisions, about: str) -> str:
    """Why the controller says nothing of something."""
    left_out = sum(decided.omitted.get(name, 0) for name in lists)
    if left_out:
        return f"the controller's answer leaves out {left_out:,} of its decisions, perhaps that on {about}"
    return f"the controller has not said anything of {about} yet"


def node_pool(question: Question, name: str, decided: Decisions | None = None) -> Explanation:
    """What a NodePool has, may, and would do.

    Args:
        question: The cluster.
        name: Of the NodePool.
        decided: What the controller that leads has said; None: nothing.

    Raises:
        UnknownNameError: There is no such NodePool.
    """
    cluster = prospect.cluster_of(question)
    snapshot = cluster.snapshot(question.now)
    found = snapshot.node_pool(name)
    if found is None:
        raise UnknownNameError(_unknown("NodePool", name, snapshot.node_pools))
    own = [s for s in snapshot.state_nodes if s.nodepool == name and s.claim is not None]
    known = [usd for s in own if (usd := _usd(s, question)) is not None]
    price = _price(sum(known) if known or not own else None)
    if 0 < len(known) < len(own):
        price += f", without {units.counted(len(own) - len(known), 'node')} of unknown price"
    used = resources.add(*(s.capacity for s in own))
    facts = [("nodes", f"{len(own):,}"), ("price", price)]
    facts += _requested(
        resources.add(*(s.used() for s in own)), resources.add(*(s.allocatable for s in own))
    )
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
        return _seen(
            f"NodePool {name} is not ready: no node is made for it.",
            facts,
            [why],
            [reasons.remedy(reasons.NODE_POOL_NOT_READY)],
        )
    if decided is not None:
        return _told_of_pool(found, decided, own, facts)
    claims = sum(1 for s in snapshot.state_nodes if s.claim is not None)
    made = _of_those_that_wait(question)
    if claims <= TOGETHER_MOST:
        return _of_pool(found, made, prospect.within_a_minute(cluster, question), own, facts)
    said = _of_pool(found, made, prospect.at_once(cluster, question), own, facts)
    apart = f"nodes were looked at one by one; {_TOGETHER.format(f'{claims:,}')}"
    return replace(said, reasons=(*said.reasons, apart))


def _told_of_pool(
    found: NodePool,
    decided: Decisions,
    own: Sequence[StateNode],
    facts: list[tuple[str, str]],
) -> Explanation:
    """What the controller said of the nodes of a NodePool, and of pods that it refuses."""
    words = Decided(
        kept={each.node_claim: each.kept for each in decided.kept},
        going=decided.going,
        repacked=decided.repacked,
    )
    refused = [b for each in decided.unschedulable for b in each.blockers]
    coming = [s for s in own if not s.is_initialized and not s.is_deleting]
    facts += [("coming up", units.counted(len(coming), "node"))] if coming else []
    said = _of_pool(found, None, words, own, facts, blockers=refused)
    left_out = sum(decided.omitted.get(name, 0) for name in ("kept", "going", "unschedulable"))
    cut = [f"the controller's answer leaves out {left_out:,} decisions"] if left_out else []
    return replace(said, reasons=(*said.reasons, *cut), source=CONTROLLER)


def _given_up(name: str, question: Question) -> str:
    """Why the controller deletes a node at once; empty when it does not."""
    found = prospect.cluster_of(question).snapshot(question.now).by_name.get(name)
    reason = prospect.deleted_now(question).get(found.claim_name) if found else None
    return f"the controller deletes its NodeClaim now: {_ending(reason)}" if reason else ""


def _ending(reason: Reason) -> str:
    """Why a NodeClaim is deleted, with the word that metrics have for it."""
    return f"{reasons.means(reason)} ({reason})"


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
                ("shares it with", units.counted(len(new.pods) - 1, "other pod")),
            ]
            return _said(f"Pod {key} gets a new node of NodePool {new.nodepool}.", facts)
    for each in made.unschedulable:
        if key in each.pods:
            return _fits_nowhere(key, each.pods, each.blockers, facts)
    return _said(f"Pod {key} is not planned for: {_aside(made)}.", facts)


def _fits_nowhere(
    key: str, pods: Sequence[str], blockers: Sequence[Blocker], facts: list[tuple[str, str]]
) -> Explanation:
    """That a pod has no place, with others of which the same is so."""
    others = len(pods) - 1
    facts += (
        [("alike", f"{units.counted(others, 'other pod')} waiting for the same reasons")]
        if others
        else []
    )
    said = [str(b) for b in blockers]
    return _said(f"Pod {key} fits nowhere.", facts, said, _remedies(blockers))


def _of_pool(
    found: NodePool,
    made: Forecast | None,
    decided: Decided,
    own: Sequence[StateNode],
    facts: list[tuple[str, str]],
    *,
    blockers: Sequence[Blocker] = (),
) -> Explanation:
    kept, going, repacked = decided.kept, decided.going, decided.repacked
    name = found.meta.name
    new = [node for node in made.new_nodes if node.nodepool == name] if made else []
    homeless = made.unschedulable if made else ()
    refused = [*blockers, *(b for each in homeless for b in each.blockers)]
    refused = [b for b in refused if b.nodepool == name]
    facts += (
        [
            (
                "would make",
                f"{units.counted(len(new), 'node')} for {units.counted(sum(len(n.pods) for n in new), 'pod')}",
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
            label = f"kept, {kept[state_node.claim_name].reason}"
            counted[label] = counted.get(label, 0) + 1
    facts += [(label, units.counted(count, "node")) for label, count in sorted(counted.items())]
    moves = sorted({going[s.claim_name] for s in own if s.claim_name in going})
    reasons = [*([repacked] if repacked else []), *moves, *dict.fromkeys(str(b) for b in refused)]
    return _said(f"NodePool {name} is ready.", facts, reasons, _remedies(refused))


def _of_those_that_wait(question: Question) -> Forecast | None:
    """What would be made for the pods that wait; None when none does."""
    if any(isinstance(o, Pod) and not (o.node_name or o.is_finished) for o in question.objects):
        return forecast(question.objects, question.catalogue, question.settings)
    return None


def _facts_of_node(found: StateNode) -> list[tuple[str, str]]:
    known = found.labels
    used, there = found.used(), found.allocatable
    return [
        ("nodepool", found.nodepool or "none"),
        ("instance type", known.get(labels.INSTANCE_TYPE, "unknown")),
        ("zone", known.get(labels.ZONE, "unknown")),
        ("capacity type", known.get(labels.CAPACITY_TYPE, "unknown")),
        ("pods", str(sum(1 for p in found.pods if not p.is_finished))),
        *_requested(used, there),
        *_drift(found),
    ]


def _drift(found: StateNode) -> list[tuple[str, str]]:
    """In which respect a node has drifted, if it has."""
    told = find(found.claim.conditions, "Drifted") if found.claim is not None else None
    if told is None or told.status != "True":
        return []
    return [("drifted", f"{told.reason}: {told.message}")]


def _requested(used: Mapping[str, int], there: Mapping[str, int]) -> list[tuple[str, str]]:
    """How much of the cpu and memory that is there pods ask for."""
    return [
        (resource, f"{100 * used.get(resource, 0) / there[resource]:.0f} % requested")
        for resource in (resources.CPU, resources.MEMORY)
        if there.get(resource)
    ]


def _conditions(found: StateNode) -> list[str]:
    """What a node that is going says it waits for."""
    conditions = found.claim.conditions if found.claim is not None else ()
    return [f"{c.type}: {c.message}" for c in conditions if c.status != "True" and c.message]


def _remedies(told: Sequence[Blocker | Kept]) -> list[str]:
    return list(dict.fromkeys(filter(None, (reasons.remedy(each.reason) for each in told))))


def _usd(found: StateNode, question: Question) -> float | None:
    """What a node costs an hour by its labels, whoever made it; None when the catalogue does not say."""
    known, own = prices.in_any_class(question.catalogue), found.labels
    what = own.get(labels.INSTANCE_TYPE, ""), own.get(labels.ZONE, ""), labels.capacity_type(own)
    return known.get(what)


def _price(usd: float | None) -> str:
    return "unknown" if usd is None else f"${usd:.4f} an hour, ${730 * usd:,.0f} a month"


def _first(names: Sequence[str]) -> str:
    more = len(names) - 3
    return ", ".join(names[:3]) + (f" and {more} dearer ones" if more > 0 else "")


def _aside(made: Forecast) -> str:
    return (
        "; ".join(made.notes)
        or "its scheduler is another one, or it is held back by a scheduling gate"
    )


def _name(each: Named) -> str:
    if isinstance(each, str):
        return each
    return each.name if isinstance(each, StateNode) else each.meta.key


def _unknown(kind: str, name: str, there: Sequence[Named]) -> str:
    names = [_name(each) for each in there]
    own = name.rpartition("/")[2]
    # The same name elsewhere first, then names that begin alike, then those that look alike.
    alike = [
        *sorted(each for each in names if each.rpartition("/")[2] == own),
        *sorted(each for each in names if own[:6] in each),
        *difflib.get_close_matches(name, sorted(names), n=5),
    ]
    alike = list(dict.fromkeys(alike))[:5]
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


def _seen(
    title: str,
    facts: Sequence[tuple[str, str]],
    reasons: Sequence[str] = (),
    remedies: Sequence[str] = (),
) -> Explanation:
    """What stands in the cluster, and nobody has to decide."""
    return replace(_said(title, facts, reasons, remedies), source=CLUSTER)
