"""What a person's shell says about which cluster is meant."""

import os
from collections.abc import Mapping
from pathlib import Path


def environ() -> Mapping[str, str]:
    """The environment, with kubectl's own default for where the cluster is."""
    usual = Path.home() / ".kube" / "config"
    return {**({"KUBECONFIG": str(usual)} if usual.is_file() else {}), **os.environ}
