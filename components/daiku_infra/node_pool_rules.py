"""What is wrong with NodePools and node classes, said before any API server sees them.

The API's own rules are in its CustomResourceDefinitions (`api_rules`). Here is what those cannot know: that a NodePool
refers to a node class of this stack, that its requirements leave anything to choose from, in the zones of this stack
too, and that a schedule has the fields of cron. No Pulumi in here.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from daiku_infra import api_rules, manifests
from daiku_infra.api_rules import Problem

ZONE = "topology.kubernetes.io/zone"
"""Key of the requirement on availability zones."""

_REQUIREMENTS = "spec.template.spec.requirements"
_REFERENCE = "spec.template.spec.nodeClassRef"
_MACROS = ("@annually", "@yearly", "@monthly", "@weekly", "@daily", "@midnight", "@hourly")
_CRON_FIELDS = 5
_NOTHING: dict[str, Any] = {}


def problems_of_class(spec: Mapping[str, Any]) -> list[Problem]:
    """Say what is wrong with an EC2NodeClass's spec, once the stack has filled in what it knows."""
    filled = manifests.node_class(
        "", {**spec}, cluster="cluster", profile=api_rules.KNOWN_LATE, common_tags={}
    )
    return api_rules.problems_of("EC2NodeClass", filled["spec"])


def problems_of_pool(
    spec: Mapping[str, Any],
    node_class_names: Sequence[str] | None = None,
    zones: Sequence[str] = (),
) -> list[Problem]:
    """Say what is wrong with a NodePool's spec: where, and what.

    Args:
        spec: The spec, in the words of the API.
        node_class_names: The EC2NodeClasses that there are; any when None.
        zones: Its availability zones; any when empty.
    """
    if problems := api_rules.problems_of("NodePool", spec):
        return problems
    return [
        *(_problems_of_reference(spec, node_class_names) if node_class_names is not None else ()),
        *_contradictions(spec, zones),
        *_problems_of_schedules(spec),
    ]


def _problems_of_reference(spec: Mapping[str, Any], known: Sequence[str]) -> Iterator[Problem]:
    """A node class of ours must be one of this stack."""
    reference = spec["template"]["spec"]["nodeClassRef"]
    if reference["kind"] == "EC2NodeClass" and reference["name"] not in known:
        yield (
            f"{_REFERENCE}.name",
            f"{reference['name']!r} is no node class of this stack; there is: {', '.join(known) or 'none'}",
        )


@dataclass(slots=True)
class _Choice:
    """What requirements leave of the values of one label."""

    allowed: set[str] | None = None
    """The only ones; None for any."""
    refused: set[str] = field(default_factory=set[str])
    """Not these."""
    least: float = float("-inf")
    """No number below this."""
    most: float = float("inf")
    """No number above this."""
    absent: bool = False
    """A node may not have the label."""
    present: bool = False
    """A node must have the label."""

    def narrow(self, operator: str, values: Sequence[str]) -> None:
        """Take one more requirement into account."""
        match operator:
            case "In":
                self.allowed = {*values} if self.allowed is None else self.allowed & {*values}
            case "NotIn":
                self.refused |= {*values}
            case "DoesNotExist":
                self.absent = True
            case "Gt" | "Gte":
                self.least = max(self.least, int(values[0]) + (operator == "Gt"))
            case "Lt" | "Lte":
                self.most = min(self.most, int(values[0]) - (operator == "Lt"))
            case _:
                pass
        self.present |= operator not in {"NotIn", "DoesNotExist"}

    def is_empty(self) -> bool:
        """Whether no value is left."""
        if self.absent:
            return self.present
        if self.allowed is None:
            return self.least > self.most
        return not any(self._fits(value) for value in self.allowed - self.refused)

    def _fits(self, value: str) -> bool:
        if self.least == float("-inf") and self.most == float("inf"):
            return True
        return value.isdigit() and self.least <= int(value) <= self.most


def _contradictions(spec: Mapping[str, Any], zones: Sequence[str]) -> Iterator[Problem]:
    """Say so where requirements of one key leave no value: the NodePool would select nothing."""
    choices: dict[str, _Choice] = {}
    template: dict[str, Any] = spec["template"]
    metadata: dict[str, Any] = template.get("metadata") or _NOTHING
    for requirement in template["spec"]["requirements"]:
        choice = choices.setdefault(requirement["key"], _Choice())
        choice.narrow(requirement["operator"], requirement.get("values") or ())
    for key, value in (metadata.get("labels") or _NOTHING).items():
        choices.setdefault(key, _Choice()).narrow("In", [value])
    for key, choice in choices.items():
        if choice.is_empty():
            yield (
                _REQUIREMENTS,
                f"no value of {key} meets all of them: this NodePool would select nothing; take one of them out",
            )
    zone = choices.get(ZONE)
    if zone and zones and not zone.is_empty():
        zone.narrow("In", zones)
        if zone.is_empty():
            yield (
                _REQUIREMENTS,
                f"{ZONE} allows none of this stack's zones ({', '.join(zones)}): this NodePool would select nothing",
            )


def _problems_of_schedules(spec: Mapping[str, Any]) -> Iterator[Problem]:
    """A schedule is a macro or five fields; the API's pattern lets more pass."""
    budgets: list[Mapping[str, Any]] = (spec.get("disruption") or _NOTHING).get("budgets") or []
    for index, budget in enumerate(budgets):
        schedule = budget.get("schedule")
        if schedule is None or schedule in _MACROS or len(str(schedule).split()) == _CRON_FIELDS:
            continue
        yield (
            f"spec.disruption.budgets[{index}].schedule",
            f"{schedule!r} has not the five fields of cron, such as 0 9 * * mon-fri",
        )
