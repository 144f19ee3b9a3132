"""What the keeper of EC2NodeClasses writes on NodeClaims when it takes over from another hash."""

import json
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from types import SimpleNamespace
from typing import Any

import pytest
from tests import build
from tests.unit.daiku_edge import aws_facts

from daiku.lifecycle.node_class_drift import HASH, HASH_VERSION
from daiku.runtime.node_classes import NodeClassKeeper

STAMP = {HASH: "7", HASH_VERSION: "daiku-1"}


@dataclass
class Cluster:
    """The API server as far as claims are listed and patched."""

    claims: list[dict[str, Any]]
    patched: dict[str, Any] = field(default_factory=dict[str, Any])

    def list(self, path: str) -> Iterator[Any]:
        assert path.endswith("/nodeclaims")
        yield SimpleNamespace(items=[json.dumps(claim).encode() for claim in self.claims])

    def patch(self, path: str, body: dict[str, Any]) -> bytes:
        self.patched[path.rpartition("/")[2]] = body["metadata"]["annotations"]
        return b"{}"


def _claim(name: str, node_class: str = "default", *, drifted: bool = False) -> dict[str, Any]:
    conditions = [{"type": "Drifted", "status": "True", "lastTransitionTime": "2026-11-20T00:00:00Z"}]  # fmt: skip
    return {
        "metadata": {"name": name, "uid": name, "resourceVersion": "1"},
        "spec": {
            "requirements": [],
            "nodeClassRef": {"group": "karpenter.k8s.aws", "kind": "EC2NodeClass", "name": node_class},
        },
        "status": {"conditions": conditions if drifted else []},
    }  # fmt: skip


def _stamped(known: dict[str, str], *claims: dict[str, Any]) -> dict[str, Any]:
    cluster: Any = Cluster(list(claims))
    provider: Any = None
    found = aws_facts.node_class()
    found = replace(found, meta=build.meta("default"))
    found = replace(found, meta=replace(found.meta, annotations=known))
    keeper = NodeClassKeeper(provider, cluster, lambda: True)

    keeper._stamp_claims(found, STAMP)  # pyright: ignore[reportPrivateUsage]

    return cluster.patched


def test_claims_of_another_version_get_our_hash_so_that_none_drifts_by_it() -> None:
    patched = _stamped({HASH: "1", HASH_VERSION: "v6"}, _claim("a"), _claim("b", "another"))

    assert patched == {"a": STAMP}


def test_a_claim_that_has_drifted_keeps_its_hash() -> None:
    patched = _stamped({HASH: "1", HASH_VERSION: "v6"}, _claim("a", drifted=True))

    assert patched == {"a": {HASH_VERSION: "daiku-1"}}


@pytest.mark.parametrize("known", [{}, {HASH: "1", HASH_VERSION: "daiku-1"}])
def test_claims_of_a_new_class_or_of_ours_are_left_as_they_are(known: dict[str, str]) -> None:
    assert _stamped(known, _claim("a")) == {}
