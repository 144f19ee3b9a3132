"""Which calls of AWS the controller makes: read from its code, so that none is forgotten."""

# pyright: reportUnknownVariableType=false, reportUnknownMemberType=false
# botocore has no types; its models are data.

import ast
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import botocore.session
from botocore import xform_name

import daiku

CODE = Path(str(daiku.__file__)).parent
PREFIXES = {
    "arc-zonal-shift": "arc-zonal-shift",
    "ssm": "ssm",
    "pricing": "pricing",
    "eks": "eks",
    "iam": "iam",
    "ec2": "ec2",
    "sqs": "sqs",
}
BY_PEOPLE = {*(CODE / "cli").rglob("*.py"), CODE / "cloud" / "aws" / "leftovers.py"}
"""What a command or a destroy calls, with the rights of whoever runs it."""


def made() -> Iterator[str]:
    """service:Operation of each `session.call` and `session.pages`; commands ask with a person's own rights."""
    loader: Any = botocore.session.get_session()
    for path in sorted(set(CODE.rglob("*.py")) - BY_PEOPLE):
        for node in ast.walk(ast.parse(path.read_text())):
            if not (isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute)):
                continue
            words: list[Any] = [a.value for a in node.args[:3] if isinstance(a, ast.Constant)]
            if (
                node.func.attr in {"call", "pages", "partial"}
                and len(words) == 2
                and words[0] in PREFIXES
            ):
                service, operation = words
                names: list[str] = loader.get_service_model(service).operation_names
                (name,) = [n for n in names if xform_name(n) == operation]
                yield f"{PREFIXES[service]}:{name}"
