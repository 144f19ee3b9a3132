"""The policy pack: `pulumi preview --policy-pack policies`, and for dev `--policy-pack-config policies/advisory.json`.

What is asked of which resource is in rules.py; here it is handed to Pulumi, all of it mandatory.
"""

from collections.abc import Callable
from typing import cast

import rules
from pulumi_policy import (
    EnforcementLevel,
    PolicyPack,
    ReportViolation,
    ResourceValidationArgs,
    ResourceValidationPolicy,
    StackValidationArgs,
    StackValidationPolicy,
)

# Called with a message alone, a report is about the resource at hand.
Report = Callable[[str], None]
Validate = Callable[[ResourceValidationArgs, ReportViolation], None]


def _on_resources(rule: rules.Rule) -> Validate:
    """Report what a rule has against a resource."""

    def validate(args: ResourceValidationArgs, report: ReportViolation) -> None:
        for problem in rule.check(args.resource_type, args.props):
            cast("Report", report)(problem)

    return validate


def _one_discovery_group(args: StackValidationArgs, report: ReportViolation) -> None:
    """Report more or fewer than one security group that node classes find."""
    if problem := rules.discovery_groups([(r.resource_type, r.props) for r in args.resources]):
        cast("Report", report)(problem)


PolicyPack(
    "daiku",
    enforcement_level=EnforcementLevel.MANDATORY,
    policies=[
        *(
            ResourceValidationPolicy(
                name=rule.name, description=rule.description, validate=_on_resources(rule)
            )
            for rule in rules.RULES
        ),
        StackValidationPolicy(
            name="one-discovery-group",
            description="Node classes find exactly one security group by tag.",
            validate=_one_discovery_group,
        ),
    ],
)
