"""What can be said of NodePools and node classes before any API server sees them.

The API's own rules are in its CustomResourceDefinitions. Here is what those cannot know: that a
NodePool refers to a node class of this stack, and the slips that an editor makes. No Pulumi in here.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, cast

OPERATORS = ("In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt", "Gte", "Lte")
"""How a requirement may compare."""
POLICIES = ("WhenEmpty", "WhenEmptyOrUnderutilized")
"""When nodes may be consolidated."""
REASONS = ("Underutilized", "Empty", "Drifted")
"""What a budget may be about."""

_DURATION = re.compile(r"(\d+(s|m|h))+|Never")
_BUDGET_DURATION = re.compile(r"((\d+(h|m))+(0s)?)")
_NODES = re.compile(r"\d+|\d{1,2}%|100%")
_QUANTITY = re.compile(r"\d+(\.\d+)?([mkMGTPE]|[KMGTPE]i)?")
_MACROS = ("@annually", "@yearly", "@monthly", "@weekly", "@daily", "@midnight", "@hourly")


def problems_of_pool(
    spec: Mapping[str, Any], node_class_names: Sequence[str]
) -> list[tuple[str, str]]:
    """Say what is wrong with a NodePool's spec: where, and what.

    Args:
        spec: The spec, in the words of the API.
        node_class_names: The EC2NodeClasses of the stack.
    """
    template = _at(spec, "template", "spec")
    reference = _at(template, "nodeClassRef")
    problems: list[tuple[str, str]] = []
    name = reference.get("name")
    if not name:
        problems.append(
            (
                "spec.template.spec.nodeClassRef",
                "is missing; write {group: karpenter.k8s.aws, kind: EC2NodeClass, name: default}",
            )
        )
    elif reference.get("kind") == "EC2NodeClass" and name not in node_class_names:
        known = ", ".join(node_class_names) or "none"
        problems.append(
            (
                "spec.template.spec.nodeClassRef.name",
                f"{name!r} is no node class of this stack; there is: {known}",
            )
        )
    requirements = template.get("requirements", [])
    if not isinstance(requirements, list):
        return [*problems, ("spec.template.spec.requirements", "is not a list")]
    for index, requirement in enumerate(cast("list[Any]", requirements)):
        place = f"spec.template.spec.requirements[{index}]"
        problems.extend((place, problem) for problem in _problems_of_requirement(requirement))
    problems.extend(_contradictions(cast("list[Any]", requirements)))
    problems.extend(_problems_of_limits(spec))
    problems.extend(_problems_of_disruption(spec))
    return problems


def _contradictions(requirements: Sequence[Any]) -> Iterator[tuple[str, str]]:
    """Say so where requirements of one key leave no value: the NodePool would select nothing."""
    allowed: dict[str, set[str]] = {}
    for requirement in requirements:
        if not isinstance(requirement, dict):
            continue
        fields = cast("dict[str, Any]", requirement)
        key, operator = str(fields.get("key")), fields.get("operator")
        values = {str(value) for value in fields.get("values") or ()}
        if operator == "In" and not values:
            yield "spec.template.spec.requirements", f"{key} In needs at least one value"
        elif operator == "In":
            allowed[key] = allowed[key] & values if key in allowed else values
        elif operator == "NotIn" and key in allowed:
            allowed[key] -= values
        else:
            continue
        if key in allowed and not allowed[key]:
            yield (
                "spec.template.spec.requirements",
                f"no value of {key} meets all of them: this NodePool would select nothing",
            )
            del allowed[key]


def _problems_of_limits(spec: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Limits are quantities, a weight is 1 to 100."""
    for name, quantity in _at(spec, "limits").items():
        if not _QUANTITY.fullmatch(str(quantity)):
            yield f"spec.limits.{name}", f"{quantity!r} is no quantity such as 100 or 512Gi"
    weight = spec.get("weight")
    if weight is not None and not (isinstance(weight, int) and 1 <= weight <= 100):
        yield "spec.weight", f"{weight!r} is not a whole number from 1 to 100"


def _problems_of_disruption(spec: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """When and how many nodes may be disrupted."""
    disruption = _at(spec, "disruption")
    policy = disruption.get("consolidationPolicy")
    if policy is not None and policy not in POLICIES:
        yield "spec.disruption.consolidationPolicy", f"{policy!r} is none of {', '.join(POLICIES)}"
    for place, value in (
        ("spec.disruption.consolidateAfter", disruption.get("consolidateAfter")),
        ("spec.template.spec.expireAfter", _at(spec, "template", "spec").get("expireAfter")),
    ):
        if value is not None and not _DURATION.fullmatch(str(value)):
            yield place, f"{value!r} is no duration such as 30s, 5m, 720h or Never"
    budgets = cast("list[Any]", disruption.get("budgets") or [])
    for index, budget in enumerate(budgets):
        place = f"spec.disruption.budgets[{index}]"
        if isinstance(budget, dict):
            for problem in _problems_of_budget(cast("dict[str, Any]", budget)):
                yield place, problem
        else:
            yield place, f"{budget!r} is not a mapping with nodes"


def _problems_of_budget(budget: Mapping[str, Any]) -> Iterator[str]:
    """Say what is wrong with one budget."""
    nodes = budget.get("nodes")
    if not _NODES.fullmatch(str(nodes)):
        yield f"nodes {nodes!r} is neither a count nor a percentage such as 10%"
    for reason in budget.get("reasons") or ():
        if reason not in REASONS:
            yield f"reason {reason!r} is none of {', '.join(REASONS)}"
    schedule, duration = budget.get("schedule"), budget.get("duration")
    if (schedule is None) != (duration is None):
        yield "schedule and duration belong together: give both or neither"
    if schedule is not None and schedule not in _MACROS and len(str(schedule).split()) != 5:
        yield f"schedule {schedule!r} has not the five fields of cron, such as 0 9 * * mon-fri"
    if duration is not None and not _BUDGET_DURATION.fullmatch(str(duration)):
        yield f"duration {duration!r} is none of whole minutes and hours, such as 8h30m"


def _problems_of_requirement(requirement: Any) -> list[str]:
    """Say what is wrong with one requirement."""
    if not isinstance(requirement, dict):
        return [f"{requirement!r} is not a mapping of key, operator and values"]
    fields = cast("dict[str, Any]", requirement)
    problems: list[str] = []
    if not fields.get("key"):
        problems.append("has no key; write one such as kubernetes.io/arch")
    operator = fields.get("operator")
    if operator not in OPERATORS:
        problems.append(f"operator {operator!r} is none of {', '.join(OPERATORS)}")
    values = fields.get("values", [])
    if not isinstance(values, list) or not all(
        isinstance(v, str) for v in cast("list[Any]", values)
    ):
        problems.append(f"values {values!r} is not a list of texts; put numbers in quotes")
    return problems


def _at(mapping: Mapping[str, Any], *path: str) -> dict[str, Any]:
    """The mapping at a path; empty where there is none."""
    found: Any = mapping
    for key in path:
        found = cast("dict[str, Any]", found).get(key) if isinstance(found, dict) else None
    return cast("dict[str, Any]", found) if isinstance(found, dict) else {}
