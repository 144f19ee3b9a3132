"""The API's own rules, asked at preview: what an API server would refuse of a NodePool or an EC2NodeClass.

They belong to the controller, like the definitions that they are read from (`crds`), and are loaded from beside those:
a component runs where no controller is installed. No Pulumi in here.
"""

import functools
import importlib.util
from collections.abc import Mapping
from types import ModuleType
from typing import Any

from daiku_infra import crds

Problem = tuple[str, str]
"""Where, such as spec.weight, and what is wrong there."""

KNOWN_LATE = "known-late"
"""Stands for a text that an update learns on its way."""


def problems_of(kind: str, spec: Mapping[str, Any]) -> list[Problem]:
    """Say what the API refuses of a spec.

    Args:
        kind: NodePool or EC2NodeClass.
        spec: The spec, in the words of the API, with all that the stack fills in.
    """
    return _rules().problems_of(kind, spec)


@functools.cache
def _rules() -> ModuleType:
    """The controller's module of rules, which imports nothing of the controller."""
    path = crds.folder().parent / "api" / "api_rules.py"
    found = importlib.util.spec_from_file_location("daiku_infra.rules_of_the_api", path)
    if found is None or found.loader is None:
        raise crds.CrdsMissingError(f"the API's rules are not in {path}: install the package daiku")
    module = importlib.util.module_from_spec(found)
    found.loader.exec_module(module)
    return module
