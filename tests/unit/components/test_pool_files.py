from pathlib import Path

import pytest

from daiku_infra import pool_files
from daiku_infra.pool_files import PoolFileError

POOL = """
apiVersion: karpenter.sh/v1
kind: NodePool
metadata: {name: web}
spec: {weight: 5}
---
apiVersion: karpenter.k8s.aws/v1
kind: EC2NodeClass
metadata: {name: default}
spec: {amiFamily: AL2023}
---
"""


def test_files_add_to_what_the_stack_file_says(tmp_path: Path) -> None:
    (tmp_path / "pools").mkdir()
    (tmp_path / "pools" / "web.yaml").write_text(POOL)
    own = {"name": "own", "spec": {}}

    values = pool_files.with_files(
        {"nodePoolFiles": ["pools/*.yaml"], "nodePools": [own]}, tmp_path
    )

    assert values["nodePools"] == [own, {"name": "web", "spec": {"weight": 5}}]
    assert values["nodeClasses"] == [{"name": "default", "spec": {"amiFamily": "AL2023"}}]


def test_without_files_nothing_changes(tmp_path: Path) -> None:
    assert pool_files.with_files({"zones": ["a"]}, tmp_path) == {"zones": ["a"]}


@pytest.mark.parametrize(
    ("text", "part"),
    [
        pytest.param(
            "kind: Deployment\napiVersion: apps/v1", "holds a Deployment", id="another kind"
        ),
        pytest.param(
            "kind: NodePool\napiVersion: karpenter.sh/v1beta1",
            "`daiku convert`",
            id="an old version",
        ),
        pytest.param("just words", "not an object", id="words"),
        pytest.param("a: [", "is no YAML", id="no YAML"),
    ],
)
def test_a_file_that_holds_something_else_is_named(tmp_path: Path, text: str, part: str) -> None:
    (tmp_path / "x.yaml").write_text(text)

    with pytest.raises(PoolFileError, match=part):
        pool_files.with_files({"nodePoolFiles": ["x.yaml"]}, tmp_path)


def test_a_pattern_that_matches_nothing_is_a_mistake(tmp_path: Path) -> None:
    with pytest.raises(PoolFileError, match="matches 'pools/'"):
        pool_files.with_files({"nodePoolFiles": ["pools/"]}, tmp_path / "nowhere")
