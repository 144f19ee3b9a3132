"""Build a bundle from its Go modules."""

import os
import shutil
from collections.abc import Callable, Sequence
from pathlib import Path

from daiku_local.toolchain import go as golang
from daiku_local.toolchain import recipe
from daiku_local.toolchain.errors import ToolchainError


def check_space(bundles: Sequence[recipe.Bundle], folder: Path) -> None:
    """Make sure that all of `bundles` can be built with what is free now.

    Raises:
        ToolchainError: There is no Go, or too little space in `folder` or in Go's caches.
    """
    titles = ", ".join(bundle.title for bundle in bundles)
    go = golang.find(titles)
    needed = sum(bundle.build_bytes for bundle in bundles)
    for place in (folder, *golang.cache_folders(go, folder)):
        existing = next(path for path in (place, *place.parents) if path.is_dir())
        free = shutil.disk_usage(existing).free
        if free < needed:
            raise ToolchainError(
                tool=titles,
                problem=f"to be built, which takes up to {needed / recipe.GIB:.1f} GiB, but the "
                f"disk of {existing} has {free / recipe.GIB:.1f} GiB free",
                remedy="free space there, or set DAIKU_CACHE, GOCACHE and GOMODCACHE to folders "
                "of a disk that has it",
            )


def build(bundle: recipe.Bundle, folder: Path, report: Callable[[str], None]) -> Path:
    """Build `bundle` in `folder` and give the folder of the finished tools.

    Raises:
        ToolchainError: There is no Go, or the build failed.
    """
    go = golang.find(bundle.title)
    report(
        f"{bundle.title}: building {', '.join(bundle.built_tools)} with Go {go.version}, "
        f"about {_duration(bundle)}"
    )
    tools = folder / "tools"
    tools.mkdir()
    for number, step in enumerate(bundle.builds):
        place = folder / f"build-{number}"
        arguments = _prepare(step, place)
        golang.run(go, arguments, tool=bundle.title, folder=place, report=report)
        for name in step.packages.values():
            (place / "made" / name).rename(tools / name)
    for scripts in bundle.scripts:
        module = golang.module_folder(go, scripts.module, tool=bundle.title, folder=folder)
        for path, name in scripts.files.items():
            shutil.copyfile(module / path, tools / name)
    return tools


def _prepare(step: recipe.Build, folder: Path) -> list[str]:
    """Fill `folder` with what `step` is built from; gives the arguments of go, run there."""
    made = folder / "made"
    made.mkdir(parents=True)
    for name, content in step.files.items():
        (folder / name).write_text(content)
    names = list(step.packages.values())
    # Go names the file of a lone package as told, those of several after the ends of their paths.
    target = f"{made}{os.sep}" if len(names) > 1 else str(made / names[0])
    return ["build", "-v", "-o", target, "-ldflags", step.link_flags, *step.packages]


def _duration(bundle: recipe.Bundle) -> str:
    minutes = bundle.build_minutes
    return f"{minutes:g} min" if minutes >= 1 else f"{minutes * 60:.0f} s"
