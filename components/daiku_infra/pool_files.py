"""NodePools and node classes from YAML files, as people have them already.

They become what a stack file could have said itself, so that one set of rules judges both. No Pulumi in here.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, cast

import yaml

_KEYS = {"NodePool": "nodePools", "EC2NodeClass": "nodeClasses"}
_VERSIONS = ("karpenter.sh/v1", "karpenter.k8s.aws/v1")


class PoolFileError(ValueError):
    """A file cannot be taken; the message says why, and what would be right."""


def with_files(values: Mapping[str, Any], folder: Path) -> dict[str, Any]:
    """Add what the files under the key nodePoolFiles hold to nodePools and nodeClasses.

    Args:
        values: The values of a stack file.
        folder: What paths of files begin at; a pattern such as pools/*.yaml takes all that match.

    Raises:
        PoolFileError: A file is not there, or holds something else.
    """
    result = {**values}
    patterns = values.get("nodePoolFiles")
    for pattern in cast("Sequence[Any]", patterns) if isinstance(patterns, list) else ():
        paths = sorted(folder.glob(str(pattern)))
        if not paths:
            raise PoolFileError(f"no file of {folder} matches {pattern!r}")
        for path in paths:
            for key, item in _objects(path):
                result[key] = [*cast("list[Any]", result.get(key) or []), item]
    return result


def _objects(path: Path) -> list[tuple[str, dict[str, Any]]]:
    """What one file holds: the key it belongs under, and name and spec."""
    try:
        documents: list[Any] = [*yaml.safe_load_all(path.read_text())]
    except yaml.YAMLError as error:
        raise PoolFileError(f"{path} is no YAML: {error}") from error
    found: list[tuple[str, dict[str, Any]]] = []
    for document in documents:
        if document is None:
            continue
        if not isinstance(document, dict):
            raise PoolFileError(f"{path} holds {document!r:.60}, and not an object of Kubernetes")
        content = cast("dict[str, Any]", document)
        key = _KEYS.get(str(content.get("kind")))
        if key is None or content.get("apiVersion") not in _VERSIONS:
            raise PoolFileError(
                f"{path} holds a {content.get('kind')} of {content.get('apiVersion')}; it may hold "
                f"{' and '.join(_KEYS)} of {' and '.join(_VERSIONS)} (`daiku convert` makes them of older ones)"
            )
        name = cast("dict[str, Any]", content.get("metadata") or {}).get("name")
        found.append((key, {"name": name, "spec": content.get("spec") or {}}))
    return found
