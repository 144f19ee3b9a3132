"""One laptop world for the whole journey, in a folder of its own, stopped whatever happens."""

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from daiku_local import inventory, world
from daiku_local.demo.observe import Observer

ROOT = Path(__file__).resolve().parents[2]
DAIKU = str(Path(sys.prefix) / "bin" / "daiku")


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--kills", type=int, default=1, help="how often the controller is killed")


@dataclass(kw_only=True)
class Journey:
    """The world of the journey, and how far it came."""

    folder: Path
    here: world.World
    before: inventory.Inventory
    broken: str = field(default="")

    @property
    def observer(self) -> Observer:
        return Observer(self.here, "default", "app=inflate")

    def daiku(self, *arguments: str, check: bool = True) -> subprocess.CompletedProcess[str]:
        return daiku(self.folder, *arguments, check=check)

    def run(self, *command: str, check: bool = True) -> str:
        """Run a command as `daiku local exec` would, and return what it printed."""
        return self.daiku("local", "exec", "--", *command, check=check).stdout

    def kubectl(self, *arguments: str) -> dict[str, object]:
        return json.loads(self.run("kubectl", *arguments, "-o", "json"))

    def controllers(self) -> list[int]:
        """Process ids of the controller's replicas, as the agent recorded them."""
        records = (self.folder / "workloads").glob("*.json")
        return [int(json.loads(record.read_text())["pid"]) for record in records]


def daiku(folder: Path, *arguments: str, check: bool = True) -> subprocess.CompletedProcess[str]:
    done = subprocess.run(
        [DAIKU, *arguments],
        cwd=ROOT,
        env={**os.environ, "DAIKU_WORLD": str(folder), "NO_COLOR": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    if check and done.returncode:
        pytest.fail(
            f"{arguments} ended with {done.returncode}:\n{done.stdout[-6000:]}\n{done.stderr[-6000:]}",
            pytrace=False,
        )
    return done


def wait(what: str, is_so: Callable[[], bool], seconds: float, every: float = 0.5) -> float:
    """Wait until `is_so`, and return how long it took; fail with `what` when it never is."""
    began = time.monotonic()
    while not is_so():
        if time.monotonic() - began > seconds:
            pytest.fail(f"not within {seconds} s: {what}", pytrace=False)
        time.sleep(every)
    return time.monotonic() - began


@pytest.fixture(scope="module")
def journey(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Journey]:
    folder = tmp_path_factory.mktemp("journey") / "world"
    daiku(folder, "local", "up")
    here = world.load(folder)
    try:
        yield Journey(
            folder=folder, here=here, before=inventory.take(here.aws_endpoint, here.region)
        )
    finally:
        daiku(folder, "local", "down")


@pytest.fixture(autouse=True)
def stages(request: pytest.FixtureRequest, journey: Journey) -> Iterator[None]:
    """A stage that follows a broken one says so at once, and does not wait for what cannot come."""
    if journey.broken:
        pytest.skip(f"the journey ended at {journey.broken}")
    failed = request.session.testsfailed
    yield
    if request.session.testsfailed > failed:
        journey.broken = request.node.name
