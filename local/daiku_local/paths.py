"""Where things lie on this machine: the tool cache, the world folder, the project.

Two folders matter. The *cache* holds binaries that cost minutes to make and never change; every
checkout shares it. The *world* folder holds one running laptop world and nothing else.
"""

import os
from pathlib import Path


def cache_folder() -> Path:
    """Folder of downloaded and built tools: $DAIKU_CACHE, $XDG_CACHE_HOME/daiku or ~/.cache/daiku."""
    if explicit := os.environ.get("DAIKU_CACHE"):
        return Path(explicit).expanduser().resolve()
    base = os.environ.get("XDG_CACHE_HOME")
    return (Path(base).expanduser() if base else Path.home() / ".cache").resolve() / "daiku"


def project_root(start: Path | None = None) -> Path:
    """Nearest folder at or above `start` (default: the working folder) that holds Pulumi.yaml, else `start`."""
    here = (start or Path.cwd()).resolve()
    for folder in (here, *here.parents):
        if (folder / "Pulumi.yaml").is_file():
            return folder
    return here


def world_folder() -> Path:
    """Folder of the laptop world's state: $DAIKU_WORLD, else .daiku in the project."""
    if explicit := os.environ.get("DAIKU_WORLD"):
        return Path(explicit).expanduser().resolve()
    return project_root() / ".daiku"


def stand_in_plugins() -> Path:
    """Folder of the stand-in Pulumi provider plugins.

    They are on no PATH, only in the plugin cache of a world's own PULUMI_HOME, so that a stack of a real
    account can never be served by a stand-in.
    """
    return Path(__file__).resolve().parents[1] / "bin"
