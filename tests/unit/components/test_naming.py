import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from daiku_infra import naming

names = st.from_regex(r"[a-z0-9][a-z0-9-]{0,99}", fullmatch=True)


@given(names, st.integers(12, 128))
def test_a_name_is_never_longer_than_its_limit(name: str, limit: int) -> None:
    assert len(naming.fit(name, limit)) <= limit


@given(names)
def test_a_name_that_fits_stays_as_it_is(name: str) -> None:
    assert naming.fit(name, 100) == name


def test_long_names_that_begin_alike_stay_two_names() -> None:
    start = "c" * 90

    assert naming.fit(f"{start}-one", 64) != naming.fit(f"{start}-two", 64)


@given(names)
def test_names_of_the_longest_cluster_are_within_the_limits_of_aws(cluster: str) -> None:
    region = "ap-southeast-5"

    assert len(naming.role(cluster, region, "kube-system-daiku")) <= 64
    assert len(naming.instance_profile(cluster, region)) <= 128
    assert len(naming.policy(cluster, region, "controller-profiles")) <= 128
    assert len(naming.queue(cluster)) <= 80
    assert len(naming.rule(cluster, "reservation-interruption")) <= 64
    assert len(naming.node_group(cluster)) <= 63


def test_clusters_of_one_name_in_two_regions_share_no_role() -> None:
    assert naming.role("c", "us-west-2", "node") != naming.role("c", "eu-west-1", "node")


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        pytest.param("daiku-local", True, id="letters and dashes"),
        pytest.param("1st_cluster", True, id="a digit first, an underscore"),
        pytest.param("-daiku", False, id="a dash first"),
        pytest.param("dai.ku", False, id="a dot"),
        pytest.param("", False, id="nothing"),
        pytest.param("c" * 101, False, id="101 characters"),
    ],
)
def test_eks_takes_some_names_for_clusters(name: str, expected: bool) -> None:
    assert naming.is_cluster_name(name) is expected
    assert not expected or re.fullmatch(r"[\w-]+", name)
