"""What a person's shell says about which cluster is meant."""

import os
from collections.abc import Mapping
from pathlib import Path


def environ() -> Mapping[str, str]:
    """The environment, with kubectl's own default for where the cluster is."""
    usual = Path.home() / ".kube" / "config"
    return {**({"KUBECONFIG": str(usual)} if usual.is_file() else {}), **os.environ}


def said(error: Exception) -> str:
    """What is wrong with reaching a cluster, with the way to the laptop world where none is named."""
    from daiku.kube.credentials import NoClusterError  # noqa: PLC0415  (half a second, once it failed)

    if isinstance(error, NoClusterError):
        return f"{error}; for the laptop world `daiku local exec -- COMMAND` sets it"
    return str(error)
