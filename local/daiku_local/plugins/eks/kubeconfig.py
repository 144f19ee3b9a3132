"""The kubeconfig of the laptop world, which stands for the one that EKS would give."""

import json
from typing import Any

import yaml

from daiku_local import paths, world


def read() -> dict[str, Any]:
    """Give the administrator's kubeconfig of the laptop world.

    Raises:
        NoWorldError: There is no world.
    """
    path = paths.world_folder() / "kubeconfig"
    try:
        return yaml.safe_load(path.read_text())
    except FileNotFoundError:
        raise world.NoWorldError(
            f"no kubeconfig in {path.parent}: start the laptop world with `daiku local up`, and run "
            f"the command through `daiku local exec -- …`"
        ) from None


def as_json() -> str:
    """Give it as one line of JSON."""
    return json.dumps(read())
