"""What a set of tools is made of: the vocabulary in which pins.py is written.

A *bundle* is made and replaced as one: the files that come out of one release archive, or out of
the Go modules that stand in for it. A bundle without a release for a platform is always built
there: nothing is downloaded whose checksum is not pinned.
"""

import dataclasses
import hashlib
import json
import platform
from collections.abc import Mapping
from dataclasses import dataclass, field

GIB = 1024**3

_ARCHITECTURES = {"x86_64": "amd64", "amd64": "amd64", "aarch64": "arm64", "arm64": "arm64"}


def this_platform() -> str:
    """System and architecture of this machine in Go's words, such as "linux/amd64"."""
    machine = platform.machine().lower()
    return f"{platform.system().lower()}/{_ARCHITECTURES.get(machine, machine)}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Release:
    """An official archive, and what is taken out of it."""

    url: str
    """Where it lies; a .tar.gz or a .zip."""
    algorithm: str
    """Name of the hash function, as hashlib knows it."""
    digest: str
    """What the hash of the archive must be, in hexadecimal."""
    members: Mapping[str, str]
    """Path inside the archive, to the name of the tool."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Build:
    """One run of `go build` in a folder of its own."""

    files: Mapping[str, str]
    """Name to content of every file in the folder; go.mod is one of them."""
    packages: Mapping[str, str]
    """Import path of a command, to the name of the tool."""
    link_flags: str = "-s -w"
    """Value of -ldflags."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Scripts:
    """Files that a Go module carries and that need no building."""

    module: str
    """Module and version, such as "example.org/module@v1.2.3"."""
    files: Mapping[str, str]
    """Path inside the module, to the name of the tool."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Bundle:
    """Tools that are made together."""

    name: str
    """Short name, such as "kubernetes"."""
    version: str
    """Version, as its project writes it."""
    builds: tuple[Build, ...]
    """How it is built from source."""
    scripts: tuple[Scripts, ...] = ()
    """What is copied out of modules when it is built."""
    releases: Mapping[str, Release] = field(default_factory=dict[str, Release])
    """Platform to official archive; a platform that is absent is built."""
    build_minutes: float = 1
    """How long a first build takes on two cores, so that people know what they wait for."""
    build_bytes: int = GIB
    """Disk space that a first build takes, Go's caches included."""

    @property
    def title(self) -> str:
        """Name and version, for people."""
        return f"{self.name} {self.version}"

    @property
    def built_tools(self) -> tuple[str, ...]:
        """Names of the tools that a build makes; a release makes these at least."""
        names = [name for build in self.builds for name in build.packages.values()]
        names += [name for scripts in self.scripts for name in scripts.files.values()]
        return tuple(names)


def key(bundles: tuple[Bundle, ...], platform_name: str) -> str:
    """Twelve hexadecimal digits that change when any pin, recipe or the platform does."""
    recipes = [dataclasses.asdict(bundle) for bundle in bundles]
    for content in recipes:
        for estimate in ("build_minutes", "build_bytes"):
            del content[estimate]
    text = json.dumps([platform_name, recipes], sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:12]
