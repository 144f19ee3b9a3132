"""The Dockerfile's stages without a container builder: the same lock in a clean root, started as nobody.

What the build stage runs is read from the Dockerfile and run as it is, with the image's folders moved to a
folder of the test. Where a builder is at hand, `docker build -f controller/Dockerfile .` says the same.
"""

import datetime as dt
import json
import os
import re
import shutil
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Generator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from daiku_local import down, toolchain, up
from daiku_local.world import World

pytestmark = pytest.mark.world

ROOT = Path(__file__).resolve().parents[2]
NOBODY = 65532
BUILT = "/opt/daiku"
NEVER_IN_IT = {"pulumi", "moto", "pytest", "uv", "pip", "daiku-infra", "daiku-local"}


@dataclass(frozen=True)
class Image:
    """What the stages left in a folder."""

    root: Path
    settings: list[tuple[str, str]]
    """Instructions of the last stage, with what they say."""

    @property
    def site_packages(self) -> Path:
        [place] = self.root.glob("lib/python3.*/site-packages")
        return place

    def installed(self) -> dict[str, str]:
        """Versions of what is installed, by the folders that installers leave."""
        names = [path.stem for path in self.site_packages.glob("*.dist-info")]
        pairs = [name.rsplit("-", 1) for name in names]
        return {_plain(name): version for name, version in pairs}


def _plain(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def _instructions() -> list[list[tuple[str, str]]]:
    """Stages of the Dockerfile, each its instructions in order."""
    text = (ROOT / "controller" / "Dockerfile").read_text()
    lines = re.sub(r"^#.*\n", "", text, flags=re.MULTILINE).replace("\\\n", " ").splitlines()
    stages: list[list[tuple[str, str]]] = [[]]
    for line in filter(None, map(str.strip, lines)):
        word, _, rest = line.partition(" ")
        if word == "FROM":
            stages.append([])
        stages[-1].append((word, rest.strip()))
    return stages[1:]


def _copy(what: str, into: Path) -> None:
    name, _ = what.split()
    source = ROOT / name
    if source.is_dir():
        shutil.copytree(source, into / name, ignore=shutil.ignore_patterns("__pycache__"))
    else:
        shutil.copy(source, into / name)


@pytest.fixture(scope="module")
def image() -> Generator[Image]:
    """The build stage, run here. It lies where an unprivileged user can reach it."""
    uv = shutil.which("uv") or str(ROOT / ".uv" / "bin" / "uv")
    path = f"{Path(uv).parent}:{os.environ['PATH']}"
    keep = {k: v for k, v in os.environ.items() if not k.startswith(("VIRTUAL_ENV", "PYTHON"))}
    with tempfile.TemporaryDirectory(prefix="daiku-image-") as folder:
        place = Path(folder)
        place.chmod(0o755)
        source, root = place / "src", place / "opt"
        source.mkdir()
        build, last = _instructions()
        for word, rest in build:
            if word == "COPY":
                _copy(rest, source)
            elif word == "RUN" and not rest.startswith("pip install"):
                subprocess.run(
                    ["/bin/sh", "-euc", rest.replace(BUILT, str(root))],
                    cwd=source,
                    env={**keep, "PATH": path, "UV_PYTHON": sys.executable, "UV_SYSTEM_CERTS": "1"},
                    check=True,
                )
        yield Image(root=root, settings=last)


def _pinned() -> dict[str, str]:
    """Versions that the lock pins."""
    lock = (ROOT / "requirements.lock").read_text()
    return {_plain(n): v for n, v in re.findall(r"^([\w.-]+)==([^ ;\\]+)", lock, re.MULTILINE)}


def test_it_holds_what_the_controller_needs_at_the_pinned_versions_and_nothing_else(
    image: Image,
) -> None:
    installed = image.installed()

    assert not NEVER_IN_IT & installed.keys()
    pinned = _pinned()
    assert {n: v for n, v in installed.items() if n != "daiku"}.items() <= pinned.items()
    assert {"daiku", "boto3", "numpy", "highspy"} <= installed.keys()
    assert (image.site_packages / "daiku" / "crds" / "nodepools.yaml").is_file()


def test_it_says_what_is_in_it(image: Image) -> None:
    bill: dict[str, Any] = json.loads((image.root / "sbom.cdx.json").read_text())

    assert bill["bomFormat"] == "CycloneDX"
    assert bill["metadata"]["component"]["name"] == "daiku"
    listed = {part["name"]: part["version"] for part in bill["components"]}
    assert listed == {n: v for n, v in image.installed().items() if n != "daiku"}
    licences = [part.get("licenses") for part in bill["components"]]
    assert sum(licence is not None for licence in licences) > len(licences) / 2


def test_the_last_stage_is_nobodys_and_runs_the_controller(image: Image) -> None:
    said = dict(image.settings)

    assert said["USER"] == f"{NOBODY}:{NOBODY}"
    assert json.loads(said["ENTRYPOINT"]) == ["daiku"]
    assert json.loads(said["CMD"]) == ["run"]
    assert said["COPY"] == f"--from=build {BUILT} {BUILT}"
    assert f"PATH={BUILT}/bin:$PATH" in said["ENV"]


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Generator[World]:
    folder = tmp_path_factory.mktemp("image") / "world"
    now = dt.datetime.now(dt.UTC)  # noqa: TID251 - certificates must be valid in real time
    yield up.up(folder, toolchain.ensure(), now, lambda _: None)
    down.down(folder, lambda _: None)


def _ports() -> tuple[int, int]:
    with socket.socket() as one, socket.socket() as other:
        one.bind(("127.0.0.1", 0))
        other.bind(("127.0.0.1", 0))
        return one.getsockname()[1], other.getsockname()[1]


# The interpreter may lie in root's home, which nobody may enter; with this it may read, and write nothing.
_READ = "-all,+dac_read_search"
AS_NOBODY = (
    "setpriv",
    *(f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups", "--no-new-privs"),
    *(f"--inh-caps={_READ}", f"--ambient-caps={_READ}"),
)


def _start(image: Image, environ: Mapping[str, str], log: Path) -> subprocess.Popen[bytes]:
    """Start it as the image would: as nobody, in a root that it cannot write, with no other environment."""
    prefix = AS_NOBODY if os.geteuid() == 0 else ()
    with log.open("wb") as output:
        return subprocess.Popen(
            [*prefix, str(image.root / "bin" / "daiku"), "run", "--cloud", "kwok"],
            env={
                "PATH": f"{image.root}/bin:/usr/bin:/bin",
                "PYTHONDONTWRITEBYTECODE": "1",
                **environ,
            },
            cwd="/",
            stdout=output,
            stderr=subprocess.STDOUT,
        )


def test_it_starts_there_as_nobody_without_credentials_of_aws(
    image: Image, world: World, tmp_path: Path
) -> None:
    before = {path: path.stat().st_mtime_ns for path in image.root.rglob("*")}
    metrics, health = _ports()
    key = image.root.parent / "kubeconfig"
    key.write_text(world.kubeconfig.read_text())
    if os.geteuid() == 0:
        os.chown(key, NOBODY, NOBODY)
    environ = {
        "KUBECONFIG": str(key),
        "POD_NAMESPACE": "kube-system",
        "BIND_ADDRESS": "127.0.0.1",
        "METRICS_PORT": str(metrics),
        "HEALTH_PROBE_PORT": str(health),
    }
    log = tmp_path / "controller.log"
    process = _start(image, environ, log)
    try:
        until = time.monotonic() + 60
        while not _is_healthy(health):
            assert process.poll() is None, log.read_text()
            assert time.monotonic() < until, log.read_text()
            time.sleep(0.2)
        status = Path(f"/proc/{process.pid}/status").read_text()
        if os.geteuid() == 0:
            assert re.search(rf"^Uid:\s+{NOBODY}\s", status, re.MULTILINE)
    finally:
        process.terminate()
        assert process.wait(20) == 0
    assert {path: path.stat().st_mtime_ns for path in image.root.rglob("*")} == before


def _is_healthy(port: int) -> bool:
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/healthz", timeout=5) as answer:
            return answer.status == 200
    except OSError:
        return False
