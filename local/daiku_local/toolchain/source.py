"""Build a bundle from its Go modules."""

import os
import shutil
from collections.abc import Callable
from pathlib import Path

from daiku_local.toolchain import go as golang
from daiku_local.toolchain import recipe
from daiku_local.toolchain.errors import ToolchainError


def build(bundle: recipe.Bundle, folder: Path, report: Callable[[str], None]) -> Path:
    """Build `bundle` in `folder` and give the folder of the finished tools.

    Raises:
        ToolchainError: There is no Go, no space, or the build failed.
    """
    go = golang.find(bundle.title)
    _check_space(bundle, go, folder)
    minutes = f"{bundle.build_minutes:g} min" if bundle.build_minutes >= 1 else "30 s"
    report(
        f"{bundle.title}: building {', '.join(bundle.built_tools)} with Go {go.version}; "
        f"the first time everything is downloaded and compiled, about {minutes} on two cores"
    )
    tools = folder / "tools"
    tools.mkdir()
    for number, step in enumerate(bundle.builds):
        _build(step, go, folder / f"build-{number}", tools, bundle.title, report)
    for scripts in bundle.scripts:
        source = golang.module_folder(go, scripts.module, tool=bundle.title, folder=folder)
        for path, name in scripts.files.items():
            shutil.copyfile(source / path, tools / name)
    return tools


def _build(
    step: recipe.Build,
    go: golang.Go,
    folder: Path,
    tools: Path,
    title: str,
    report: Callable[[str], None],
) -> None:
    folder.mkdir()
    for name, content in step.files.items():
        (folder / name).write_text(content)
    made = folder / "made"
    made.mkdir()
    for_one = len(step.packages) == 1
    names = list(step.packages.values())
    # With several packages Go names each file after the last part of its path.
    target = str(made / names[0]) if for_one else f"{made}{os.sep}"
    arguments = ["build", "-v", "-o", target, "-ldflags", step.link_flags, *step.packages]
    golang.run(go, arguments, tool=title, folder=folder, report=report)
    for name in names:
        (made / name).rename(tools / name)


def _check_space(bundle: recipe.Bundle, go: golang.Go, folder: Path) -> None:
    for place in (folder, *golang.cache_folders(go, folder)):
        existing = next(p for p in (place, *place.parents) if p.is_dir())
        free = shutil.disk_usage(existing).free
        if free < bundle.build_bytes:
            raise ToolchainError(
                tool=bundle.title,
                problem=f"a build takes up to {bundle.build_bytes / recipe.GIB:.1f} GiB, and "
                f"{existing} has {free / recipe.GIB:.1f} GiB free",
                remedy="free space there, or point DAIKU_CACHE, GOCACHE and GOMODCACHE at a disk that has it",
            )
