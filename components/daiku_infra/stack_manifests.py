"""The NodePools of a stack file as manifests: `python -m daiku_infra.stack_manifests stacks/Pulumi.dev.yaml`.

For `daiku plan`, which says what they would do to a cluster, and for anyone who reads YAML. What the stack fills in is
there too: selectors by the discovery tag, and for the instance profile, whose name only AWS knows, the word
`made-by-the-stack`. What is in files of their own is there. Keys are sorted, so that two versions are the same text if
they mean the same. No Pulumi in here.
"""

import sys
from pathlib import Path
from typing import Any, cast

import yaml

from daiku_infra import pool_files, tags

_KINDS = {
    "nodeClasses": ("karpenter.k8s.aws/v1", "EC2NodeClass"),
    "nodePools": ("karpenter.sh/v1", "NodePool"),
}


def manifests_of(stack: dict[str, Any], folder: Path) -> list[dict[str, Any]]:
    """Give the objects that a stack file asks for.

    Args:
        stack: The content of the file.
        folder: The project's, which paths of files begin at.
    """
    config = cast("dict[str, Any]", stack.get("config") or {})
    own = {key.removeprefix("daiku:"): value for key, value in config.items()}
    values = pool_files.with_files(own, folder)
    found = [{"tags": tags.discovery(str(own.get("clusterName", "")))}]
    usual = {"subnetSelectorTerms": found, "securityGroupSelectorTerms": found}
    return [
        {
            "apiVersion": version,
            "kind": kind,
            "metadata": {"name": item["name"]},
            "spec": item["spec"] if kind != "EC2NodeClass" else usual | _profile(item["spec"]),
        }
        for key, (version, kind) in _KINDS.items()
        for item in values.get(key) or ()
    ]


def _profile(spec: dict[str, Any]) -> dict[str, Any]:
    """The spec of a node class with an instance profile or a role."""
    return spec if "role" in spec else {"instanceProfile": "made-by-the-stack", **spec}


def main() -> None:
    """Print the objects of the stack files that are named."""
    if len(sys.argv) < 2:
        sys.exit("usage: python -m daiku_infra.stack_manifests stacks/Pulumi.<stack>.yaml ...")
    found = [
        manifest
        for name in sys.argv[1:]
        for manifest in manifests_of(
            yaml.safe_load(Path(name).read_text()) or {}, Path(name).resolve().parents[1]
        )
    ]
    sys.stdout.write(yaml.safe_dump_all(found))


if __name__ == "__main__":
    main()
