"""What can be said of NodePools and node classes before any API server sees them.

The API's own rules are in its CustomResourceDefinitions. Here is what those cannot know: that a
NodePool refers to a node class of this stack, and the slips that an editor makes. No Pulumi in here.
"""

from collections.abc import Mapping, Sequence
from typing import Any, cast

OPERATORS = ("In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt", "Gte", "Lte")
"""How a requirement may compare."""


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
    return problems


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
