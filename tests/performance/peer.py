"""The peer: Karpenter with its kwok cloud, built from its Go module into the cache of tools, once.

Only `make bench PEER=1` asks for it. It needs a newer patch release of Go than the one that is pinned for everything
else; the pinned Go gets that by itself, as a module like any other.
"""

import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from daiku_local import paths
from daiku_local.toolchain import go as golang
from daiku_local.toolchain import progress

VERSION: Final = "1.15.0"
_GO: Final = "go1.26.11"
_MODULE: Final = f"sigs.k8s.io/karpenter@v{VERSION}"
_TITLE: Final = f"karpenter {VERSION}"


@dataclass(frozen=True, kw_only=True)
class Peer:
    """What is needed to run it."""

    program: Path
    crds: Sequence[Path]


def built() -> Peer:
    """The program, built now if the cache lacks it (4 minutes on two cores), and its CRDs."""
    found = golang.find(_TITLE)
    go = replace(found, environment={**found.environment, "GOTOOLCHAIN": _GO})
    folder = paths.cache_folder() / f"karpenter-{VERSION}"
    folder.mkdir(parents=True, exist_ok=True)
    source = golang.module_folder(go, _MODULE, tool=_TITLE, folder=folder)
    program = folder / "karpenter"
    if not program.exists():
        _build(go, program)
    crds = [path for part in ("pkg", "kwok") for path in (source / part / "apis/crds").glob("*")]
    return Peer(program=program, crds=sorted(crds))


def _build(go: golang.Go, program: Path) -> None:
    with tempfile.TemporaryDirectory(dir=program.parent) as name:
        folder = Path(name)
        module, _, version = _MODULE.partition("@")
        lines = ("module daiku.dev/toolchain/karpenter", f"require {module} {version}")
        (folder / "go.mod").write_text("\n".join(lines) + "\n")
        arguments = ["build", "-o", "karpenter", "-v", "-ldflags", "-s -w", f"{module}/kwok"]
        golang.run(go, arguments, tool=_TITLE, folder=folder, report=progress.to_stderr)
        (folder / "karpenter").rename(program)
