"""Beside CRDs that are older than it needs, the controller does not start, and says which fields are missing."""

import datetime as dt
import os
import subprocess
from collections.abc import Generator
from typing import Any

import pytest
import yaml
from tests import manifests
from tests.running import DAIKU
from tests.world.kwok_cluster import until

from daiku.api import kinds
from daiku.kube import errors, installed
from daiku.kube.client import Client
from daiku.kube.credentials import Credentials
from daiku_local import down, environment, toolchain, up

pytestmark = pytest.mark.world

KINDS = (*kinds.WATCHED, *kinds.NODE_CLASSES.values())


@pytest.fixture(scope="module")
def environ(tmp_path_factory: pytest.TempPathFactory) -> Generator[dict[str, str]]:
    """How to reach a cluster without CRDs."""
    folder = tmp_path_factory.mktemp("installed") / "world"
    now = dt.datetime.now(dt.UTC)  # noqa: TID251 - certificates must be valid in real time
    world = up.up(folder, toolchain.ensure(), now, _silent)
    yield environment.of_commands(world, toolchain.ensure().folder, os.environ)
    down.down(folder, _silent)


def test_without_crds_there_is_nothing_to_say_with_ours_all_is_well_and_with_older_ones_it_ends(
    environ: dict[str, str],
) -> None:
    client = Client(Credentials(environ))
    assert not _is_refused(client)

    manifests.install(client)
    until(
        lambda: all(_is_described(client, kind) for kind in KINDS if kind.name in installed.WRITTEN)
    )
    assert not _is_refused(client)

    older = yaml.safe_load(next(f for f in manifests.CRDS if f.stem == "nodepools").read_text())
    del _status(older)["nodeClassObservedGeneration"]
    client.patch(
        f"{manifests.PATHS[older['kind']]}/{older['metadata']['name']}", {"spec": older["spec"]}
    )
    until(lambda: _is_refused(client))

    ended = subprocess.run(
        [DAIKU, "run", "--cloud", "kwok", "--bind-address", "127.0.0.1"],
        env=environ | {"POD_NAMESPACE": "kube-system"},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    told = ended.stdout + ended.stderr
    assert ended.returncode == 1
    assert "NodePool of karpenter.sh/v1 has no status.nodeClassObservedGeneration" in told
    assert "kubectl apply --server-side" in told


@pytest.mark.parametrize("kind", sorted(installed.WRITTEN))
def test_our_own_crds_have_every_field_that_is_written(kind: str) -> None:
    crd = next(
        c
        for c in (yaml.safe_load(f.read_text()) for f in manifests.CRDS)
        if c["spec"]["names"]["kind"] == kind
    )
    schema = crd["spec"]["versions"][0]["schema"]["openAPIV3Schema"]

    assert [path for path in installed.WRITTEN[kind] if not _has(schema, path.split("."))] == []


def _has(schema: dict[str, Any], path: list[str]) -> bool:
    found = schema.get("items", schema).get("properties", {}).get(path[0])
    return found is not None and (len(path) == 1 or _has(found, path[1:]))


def _status(crd: dict[str, Any]) -> dict[str, Any]:
    return crd["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["status"][
        "properties"
    ]


def _is_described(client: Client, kind: kinds.Kind) -> bool:
    try:
        return kind.name in client.get(f"/openapi/v3/apis/{kind.api_version}").decode()
    except errors.NotFound:
        return False


def _is_refused(client: Client) -> bool:
    try:
        for kind in KINDS:
            installed.check(client, kind)
    except installed.OldCrdError:
        return True
    return False


def _silent(_line: str) -> None:
    """Take a line of progress and forget it."""
