import pytest

from daiku_infra import tags


def test_what_a_stack_asks_for_never_hides_whose_cluster_it_is() -> None:
    assert tags.base("demo", {tags.CLUSTER: "other", "team": "x"}) == {
        tags.CLUSTER: "demo",
        "team": "x",
    }


def test_only_private_subnets_are_found_by_node_classes() -> None:
    assert tags.private_subnet("a", "demo", {})[tags.DISCOVERY] == "demo"
    assert tags.DISCOVERY not in tags.public_subnet("a", {})


def test_each_kind_of_subnet_has_its_own_load_balancers() -> None:
    assert tags.PUBLIC_LOAD_BALANCERS not in tags.private_subnet("a", "demo", {})
    assert tags.INTERNAL_LOAD_BALANCERS not in tags.public_subnet("a", {})


@pytest.mark.parametrize(
    ("key", "expected"),
    [
        pytest.param("karpenter.sh/discovery", True, id="the discovery tag"),
        pytest.param("kubernetes.io/cluster/demo", True, id="ownership by a cluster"),
        pytest.param("eks:eks-cluster-name", True, id="EKS' own"),
        pytest.param("aws:cloudformation:stack-name", True, id="AWS' own"),
        pytest.param("daiku.dev/cluster", True, id="ours"),
        pytest.param("team", False, id="a user's"),
    ],
)
def test_some_keys_mean_something(key: str, expected: bool) -> None:
    assert tags.is_reserved(key) is expected
