"""The programs that the laptop world is made of, in one folder, made on first use.

etcd, the Kubernetes control plane, kubectl, kwok and the Pulumi CLI with its Python language host.
Each comes from its project's official release with a pinned checksum where that can be reached,
else it is built from its pinned Go modules. Both take minutes, so the result is kept in the cache
for every checkout. What is made, from what: pins.py. The provider plugins are not here; they are
Daiku's own (local/bin).
"""

import os
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

from daiku_local import paths
from daiku_local.toolchain import locking, pins, progress, recipe, release, source, store
from daiku_local.toolchain.errors import ToolchainError

__all__ = ["ToolchainError", "Tools", "ensure", "install", "kubernetes_version"]

VARIABLE = "DAIKU_KUBERNETES"
"""Environment variable that names another minor version of Kubernetes than the default."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Tools:
    """Finished tools."""

    folder: Path
    """Folder of the executables, to be put on a PATH."""

    def path(self, name: str) -> Path:
        """The executable `name`.

        Raises:
            ToolchainError: It is not one of the tools.
        """
        path = self.folder / name
        if not path.is_file():
            there = ", ".join(sorted(entry.name for entry in self.folder.iterdir()))
            raise ToolchainError(
                tool=name, problem=f"is not in {self.folder}", remedy=f"ask for one of: {there}"
            )
        return path


def kubernetes_version() -> str:
    """Minor version of the control plane, such as "1.36": $DAIKU_KUBERNETES, else the default.

    Raises:
        ToolchainError: $DAIKU_KUBERNETES names one that is not pinned.
    """
    wanted = os.environ.get(VARIABLE) or pins.KUBERNETES_DEFAULT
    if wanted not in pins.KUBERNETES:
        raise ToolchainError(
            tool="kubernetes",
            problem=f"{VARIABLE} is {wanted!r}",
            remedy=f"set it to one of {', '.join(pins.KUBERNETES)}, or unset it for "
            f"{pins.KUBERNETES_DEFAULT}",
        )
    return wanted


def ensure(
    report: Callable[[str], None] = progress.to_stderr, kubernetes: str | None = None
) -> Tools:
    """Give every tool that Daiku pins, made now if the cache lacks it.

    Args:
        report: Takes a line of progress; nothing is reported when nothing is to be done.
        kubernetes: Minor version of a world that runs; what `kubernetes_version` says for a new one.

    Raises:
        ToolchainError: One could not be made.
    """
    return install(pins.bundles(kubernetes or kubernetes_version()), paths.cache_folder(), report)


def install(
    bundles: tuple[recipe.Bundle, ...], cache: Path, report: Callable[[str], None]
) -> Tools:
    """Give the tools of `bundles`, made in the folder `cache` if it lacks them.

    Raises:
        ToolchainError: One could not be made.
    """
    platform = recipe.this_platform()
    kept = store.Store(root=cache / f"tools-{recipe.key(bundles, platform)}")
    tools = Tools(folder=kept.tools)
    if all(kept.has(bundle) for bundle in bundles):
        return tools
    try:
        with locking.held(kept.lock, report):
            missing = [bundle for bundle in bundles if not kept.has(bundle)]
            if missing:
                _make(missing, kept, platform, report)
    except OSError as error:
        raise ToolchainError(
            tool="tool cache",
            problem=f"{kept.root} cannot be written: {error}",
            remedy="free space there or mend its permissions, or set DAIKU_CACHE to another folder",
        ) from error
    return tools


def _make(
    bundles: list[recipe.Bundle],
    kept: store.Store,
    platform: str,
    report: Callable[[str], None],
) -> None:
    start = time.monotonic()
    report(f"making {', '.join(bundle.title for bundle in bundles)} in {kept.root}, once")
    releases = _reachable_releases(bundles, platform, report)
    if to_build := [bundle for bundle in bundles if bundle.name not in releases]:
        report(
            "a first build downloads and compiles everything: about "
            f"{sum(b.build_minutes for b in to_build):.0f} min on two cores; "
            "an interrupted one goes on where it was"
        )
        with kept.workshop() as folder:
            source.check_space(to_build, folder)
    for bundle in bundles:
        begun = time.monotonic()
        origin, size = _make_one(bundle, releases.get(bundle.name), kept, report)
        if not kept.has(bundle):
            raise ToolchainError(
                tool=bundle.title,
                problem=f"was made, but what is in {kept.tools} cannot be executed",
                remedy="set DAIKU_CACHE to a folder of a disk that is not mounted noexec",
            )
        seconds = time.monotonic() - begun
        report(f"{bundle.title}: ready after {seconds:.0f} s, {size >> 20} MiB, {origin}")
    report(f"all tools are ready after {time.monotonic() - start:.0f} s")


def _make_one(
    bundle: recipe.Bundle,
    official: recipe.Release | None,
    kept: store.Store,
    report: Callable[[str], None],
) -> tuple[str, int]:
    """Make and install `bundle`; gives its origin and its size in bytes."""
    if official is not None:
        try:
            with kept.workshop() as folder:
                made = release.download(bundle.title, official, folder, report)
                return "official release", kept.install(bundle, made, official.url)
        except release.ReleaseUnusable as refused:
            report(f"{bundle.title}: {refused}; building it instead")
            with kept.workshop() as folder:
                source.check_space([bundle], folder)
    with kept.workshop() as folder:
        made = source.build(bundle, folder, report)
        return "built from source", kept.install(bundle, made, "Go modules")


def _reachable_releases(
    bundles: Iterable[recipe.Bundle], platform: str, report: Callable[[str], None]
) -> dict[str, recipe.Release]:
    """Name of each bundle whose release can be had from here, to that release."""
    official = {b.name: b.releases[platform] for b in bundles if platform in b.releases}
    hosts = release.reachable_hosts(pinned.url for pinned in official.values())
    silent = {urlsplit(pinned.url).netloc for pinned in official.values()} - hosts
    if silent:
        report(
            f"{' and '.join(sorted(silent))} cannot be reached from here: "
            "building from source what would come from there"
        )
    return {name: r for name, r in official.items() if urlsplit(r.url).netloc in hosts}
