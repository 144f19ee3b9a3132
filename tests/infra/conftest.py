import json
import runpy
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml
from tests.infra import graph

ROOT = Path(__file__).resolve().parents[2]


def stack_values(stack: str) -> dict[str, Any]:
    return yaml.safe_load((ROOT / "stacks" / f"Pulumi.{stack}.yaml").read_text())["config"]


def run_program(values: Mapping[str, Any], endpoint: str = "http://127.0.0.1:9") -> graph.Graph:
    """Run the program of this repository with the values of a stack file.

    Args:
        values: Of the stack file.
        endpoint: AWS_ENDPOINT_URL, as in the laptop world. Nobody calls it: the engine is a mock.
    """
    encoded = {
        key: value if isinstance(value, str) else json.dumps(value) for key, value in values.items()
    }
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("AWS_ENDPOINT_URL", endpoint)
        return graph.register(lambda: runpy.run_path(str(ROOT / "__main__.py")), encoded)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """The mocks leave event loops open, which may be collected at any moment."""
    for item in items:
        if Path(__file__).parent in item.path.parents:
            item.add_marker(
                pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
            )
            item.add_marker(pytest.mark.filterwarnings("ignore:unclosed:ResourceWarning"))


@pytest.fixture(autouse=True)
def loops() -> Iterator[None]:
    """A program that fails keeps its event loops until its error is forgotten."""
    yield
    graph.forget_loops()


@pytest.fixture(scope="session")
def local() -> graph.Graph:
    return run_program(stack_values("local"))


@pytest.fixture(scope="session", params=["local", "dev", "prod"])
def stack(request: pytest.FixtureRequest) -> graph.Graph:
    return run_program(stack_values(request.param))
