"""Manifests for tests, written short, and read the way the commands read them."""

from typing import Any

import yaml

from daiku.api import configuration, manifests
from daiku.api.configuration import Configuration
from daiku.api.manifests import Document
from daiku.events import Object
from daiku.model.pod import Pod

CONTAINERS = [{"name": "c", "image": "x", "resources": {"requests": {"cpu": "1"}}}]


def workload(
    kind: str = "Deployment", name: str = "web", *, uid: str = "", template: Any = None, **spec: Any
) -> dict[str, Any]:
    """A workload whose pods ask for one cpu."""
    version = "batch/v1" if kind in {"Job", "CronJob"} else "apps/v1"
    made = {"metadata": {"labels": {"app": name}}, "spec": {"containers": CONTAINERS}}
    return {
        "apiVersion": version,
        "kind": kind,
        "metadata": {"name": name} | ({"uid": uid} if uid else {}),
        "spec": {"template": template or made, **spec},
    }


def pod(
    name: str = "one", *, uid: str = "", owner: tuple[str, str] | None = None, **fields: Any
) -> dict[str, Any]:
    """A pod of its own, or one that a controller owns."""
    owners = (
        [{"apiVersion": "apps/v1", "kind": owner[0], "name": owner[1], "uid": "u"}] if owner else []
    )
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "ownerReferences": owners, "labels": fields.pop("labels", {})}
        | ({"uid": uid} if uid else {}),
        "spec": {"containers": CONTAINERS, **fields.pop("spec", {})},
        **fields,
    }


def node_pool(
    name: str = "default", *, uid: str = "", kind: str = "KWOKNodeClass", **spec: Any
) -> dict[str, Any]:
    """A NodePool that takes whatever there is."""
    group = "karpenter.kwok.sh" if kind == "KWOKNodeClass" else "karpenter.k8s.aws"
    template = {
        "spec": {
            "nodeClassRef": {"group": group, "kind": kind, "name": "default"},
            "requirements": [],
        }
    }
    return {
        "apiVersion": "karpenter.sh/v1",
        "kind": "NodePool",
        "metadata": {"name": name} | ({"uid": uid} if uid else {}),
        "spec": {"template": template, **spec},
    }


def documents(*objects: Any) -> list[Document]:
    """What is read of a file with these objects."""
    problems: list[str] = []
    found = manifests.read("f.yaml", yaml.safe_dump_all(objects).encode(), problems)
    assert problems == []
    return found


def configured(*objects: Any) -> Configuration:
    """What these objects say."""
    problems: list[str] = []
    made = configuration.build(documents(*objects), problems, built_in=True)
    assert problems == []
    return made


def problems_of(*objects: Any) -> list[str]:
    """What is wrong with these objects."""
    problems: list[str] = []
    configuration.build(documents(*objects), problems, built_in=True)
    return problems


def pods(found: Configuration) -> list[Pod]:
    """The pods of a configuration."""
    return [each for each in found.objects if isinstance(each, Pod)]


def named(found: Configuration, kind: type[Object]) -> list[str]:
    """Names of the objects of one kind."""
    return [each.meta.name for each in found.objects if isinstance(each, kind)]
