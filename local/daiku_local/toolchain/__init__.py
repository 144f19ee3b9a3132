"""The programs that the laptop world is made of, in one folder, made on first use.

etcd, the Kubernetes control plane, kubectl, kwok and the Pulumi CLI with its Python language host.
Each comes from its project's official release with a pinned checksum where that can be reached,
else it is built from its pinned Go modules. Both take minutes, so the result is kept in the cache
for every checkout. What is made, from what: pins.py. The provider plugins are not here; they are
Daiku's own (local/bin).
"""

import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

from daiku_local import paths
from daiku_local.toolchain import locking, pins, progress, recipe, release, source, store
from daiku_local.toolchain.errors import ToolchainError

__all__ = ["ToolchainError", "Tools", "ensure", "install"]


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


def ensure(report: Callable[[str], None] = progress.to_stderr) -> Tools:
    """Give every tool that Daiku pins, made now if the cache lacks it.

    Args:
        report: Takes a line of progress; nothing is reported when nothing is to be done.

    Raises:
        ToolchainError: One could not be made.
    """
    return install(pins.BUNDLES, paths.cache_folder(), report)


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
    reachable = _reachable(bundles, platform, report)
    for bundle in bundles:
        begun = time.monotonic()
        origin, size = _make_one(bundle, kept, platform, reachable, report)
        report(
            f"{bundle.title}: ready after {time.monotonic() - begun:.0f} s, "
            f"{size >> 20} MiB, {origin}"
        )
    report(f"all tools are ready after {time.monotonic() - start:.0f} s")


def _make_one(
    bundle: recipe.Bundle,
    kept: store.Store,
    platform: str,
    reachable: set[str],
    report: Callable[[str], None],
) -> tuple[str, int]:
    """Make and install `bundle`; gives its origin and its size in bytes."""
    official = bundle.releases.get(platform)
    if official is not None and urlsplit(official.url).netloc in reachable:
        try:
            with kept.workshop() as folder:
                made = release.download(bundle.title, official, folder, report)
                return "official release", kept.install(bundle, made, official.url)
        except release.ReleaseUnusable as refused:
            report(f"{bundle.title}: {refused}; building it instead")
    with kept.workshop() as folder:
        made = source.build(bundle, folder, report)
        return "built from source", kept.install(bundle, made, "built from Go modules")


def _reachable(
    bundles: Iterable[recipe.Bundle], platform: str, report: Callable[[str], None]
) -> set[str]:
    """Hosts of releases that answer; says which do not."""
    urls = [b.releases[platform].url for b in bundles if platform in b.releases]
    hosts = release.reachable_hosts(urls)
    if silent := sorted({urlsplit(url).netloc for url in urls} - hosts):
        report(
            f"no answer from {' and '.join(silent)} within {release.PATIENCE_SECONDS:.0f} s: "
            "building from source what would be downloaded there"
        )
    return hosts
