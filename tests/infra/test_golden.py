"""The resource graph of every stack, resource by resource, as it was read and agreed to.

A change of a component shows here as a change of lines. Write them anew with
`DAIKU_WRITE_GOLDEN=1 python -m pytest tests/infra/test_golden.py`, and read the difference.
"""

import os
from pathlib import Path

import pytest
from tests.infra.conftest import run_program, stack_values
from tests.infra.graph import Graph

GOLDEN = Path(__file__).parent / "golden"


def _written(made: Graph) -> str:
    """One line for each resource: the components it lies in, its type, its name."""

    def place(urn: str) -> str:
        types = urn.split("::")[2].split("$")[1:]
        inside = [t.rsplit(":", 1)[-1] for t in types[:-1] if t.startswith("daiku:")]
        return "/".join(inside)

    lines = [f"{place(r.urn)} {r.type} {r.name}".strip() for r in made.resources.values()]
    return "\n".join(sorted(lines)) + "\n"


@pytest.mark.parametrize("stack", ["local", "dev", "prod"])
def test_a_stack_is_made_of_these_resources(stack: str) -> None:
    place = GOLDEN / f"{stack}.txt"
    written = _written(run_program(stack_values(stack)))
    if os.environ.get("DAIKU_WRITE_GOLDEN"):
        place.write_text(written)

    assert written == place.read_text()
