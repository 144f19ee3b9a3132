"""The NodePools of a stack file as manifests: `python -m daiku_infra.stack_manifests stacks/Pulumi.dev.yaml`.

For `daiku plan`, which says what they would do to a cluster, and for anyone who reads YAML. What only the
stack knows, such as the instance profile, is left out. No Pulumi in here.
"""

import sys
from pathlib import Path
from typing import Any, cast

import yaml

_KINDS = {
    "daiku:nodeClasses": ("karpenter.k8s.aws/v1", "EC2NodeClass"),
    "daiku:nodePools": ("karpenter.sh/v1", "NodePool"),
}


def manifests_of(stack: dict[str, Any]) -> list[dict[str, Any]]:
    """Give the objects that a stack file asks for.

    Args:
        stack: The content of the file.
    """
    values = cast("dict[str, Any]", stack.get("config") or {})
    return [
        {
            "apiVersion": version,
            "kind": kind,
            "metadata": {"name": item["name"]},
            "spec": item["spec"],
        }
        for key, (version, kind) in _KINDS.items()
        for item in values.get(key) or ()
    ]


def main() -> None:
    """Print the objects of the stack files that are named."""
    if len(sys.argv) < 2:
        sys.exit("usage: python -m daiku_infra.stack_manifests stacks/Pulumi.<stack>.yaml ...")
    found = [
        manifest
        for name in sys.argv[1:]
        for manifest in manifests_of(yaml.safe_load(Path(name).read_text()) or {})
    ]
    sys.stdout.write(yaml.safe_dump_all(found, sort_keys=False))


if __name__ == "__main__":
    main()
