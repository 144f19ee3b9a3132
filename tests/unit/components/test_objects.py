import pytest

from daiku_infra import objects


@pytest.mark.parametrize(
    ("version", "kind", "token"),
    [
        pytest.param("v1", "ServiceAccount", "kubernetes:core/v1:ServiceAccount", id="core"),
        pytest.param("apps/v1", "Deployment", "kubernetes:apps/v1:Deployment", id="a group"),
        pytest.param(
            "karpenter.sh/v1", "NodePool", "kubernetes:karpenter.sh/v1:NodePool", id="a custom group"
        ),
    ],
)  # fmt: skip
def test_an_object_has_the_type_that_pulumi_kubernetes_gives_it(
    version: str, kind: str, token: str
) -> None:
    assert objects.token_of({"apiVersion": version, "kind": kind}) == token
