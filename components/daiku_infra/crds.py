"""The API's CustomResourceDefinitions, read as files.

They belong to the controller and lie beside its code; nothing of that code is imported. No Pulumi
in here.
"""

import importlib.util
from pathlib import Path
from typing import Any

import yaml

_LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
"""The one in C where there is one: it takes an eighth of the time."""
_CHECKOUT = Path(__file__).resolve().parents[2] / "controller" / "daiku" / "crds"


class CrdsMissingError(Exception):
    """There is no folder that holds the API's definitions."""


def folder() -> Path:
    """Folder of the definitions: of this checkout, or else of the installed controller package."""
    if _CHECKOUT.is_dir():
        return _CHECKOUT
    package = importlib.util.find_spec("daiku")
    for location in (package.submodule_search_locations or []) if package else []:
        found = Path(location) / "crds"
        if found.is_dir():
            return found
    raise CrdsMissingError(
        f"the CustomResourceDefinitions are neither in {_CHECKOUT} nor in an installed package "
        f"daiku: install that package, or set crd_folder"
    )


def load(crd_folder: Path) -> list[dict[str, Any]]:
    """Read the definitions of every *.yaml in `crd_folder`, in the order of their names.

    Raises:
        CrdsMissingError: There are none, or a file holds something else.
    """
    definitions: list[dict[str, Any]] = []
    for path in sorted(crd_folder.glob("*.yaml")):
        contents: list[Any] = [*yaml.load_all(path.read_text(), _LOADER)]
        for content in contents:
            try:
                is_definition = content["kind"] == "CustomResourceDefinition"
            except (TypeError, KeyError):
                is_definition = False
            if not is_definition:
                raise CrdsMissingError(f"{path} holds something else than CRDs: {content!r:.80}")
            definitions.append(content)
    if not definitions:
        raise CrdsMissingError(f"no *.yaml of {crd_folder} holds a CustomResourceDefinition")
    return sorted(definitions, key=lambda definition: definition["metadata"]["name"])
