"""What is installed beside the controller, as a CycloneDX document: `python -m daiku.bill_of_materials`.

The image is built from pinned packages; who runs it must be able to ask which, without running it: the build
writes this into the image. It lists the Python packages of the environment that runs it. Those of the base
image's system are the base image's own to list.

Source: CycloneDX 1.5, its JSON form. Same environment, same document: no serial number, no time.
"""

import json
import re
from collections.abc import Iterable
from importlib import metadata
from typing import Any, Final

NAME: Final = "daiku"


def document(installed: Iterable[metadata.Distribution]) -> dict[str, Any]:
    """The bill of what is `installed`, the controller itself at its head."""
    parts = sorted((_part(each) for each in installed), key=lambda part: part["name"])
    own = next(part for part in parts if part["name"] == NAME)
    return {
        "bomFormat": "CycloneDX",
        "specVersion": "1.5",
        "version": 1,
        "metadata": {"component": own | {"type": "application"}},
        "components": [part for part in parts if part is not own],
    }


def _part(installed: metadata.Distribution) -> dict[str, Any]:
    # The one spelling of a name that package URLs take.
    name = re.sub(r"[-_.]+", "-", installed.name).lower()
    reference = f"pkg:pypi/{name}@{installed.version}"
    content = {"type": "library", "bom-ref": reference, "name": name, "version": installed.version}
    facts = installed.metadata.json
    licence = facts.get("license_expression") or facts.get("license")
    known = {"licenses": [_licence(str(licence))]} if licence else {}
    return {**content, **known, "purl": reference}


def _licence(words: str) -> dict[str, Any]:
    """An expression where it is one; some packages put the first line of a whole text there."""
    is_expression = len(words) < 80 and "\n" not in words
    return {"expression": words} if is_expression else {"license": {"name": words.splitlines()[0]}}


if __name__ == "__main__":
    print(json.dumps(document(metadata.distributions()), indent=1))  # noqa: T201
