"""Which toleration puts up with which taint.

Source: kubernetes.io/docs/concepts/scheduling-eviction/taint-and-toleration; KEP-5471 for Lt and Gt.
"""

import pytest

from daiku.model import taints
from daiku.model.taints import Taint, Toleration

GPU = Taint("dedicated", "NoSchedule", "gpu")


@pytest.mark.parametrize(
    ("toleration", "taint", "expected"),
    [
        pytest.param(Toleration(key="dedicated", value="gpu"), GPU, True, id="equal key and value"),
        pytest.param(Toleration(key="dedicated", value="cpu"), GPU, False, id="another value"),
        pytest.param(Toleration(key="dedicated"), GPU, False, id="no value is not any value"),
        pytest.param(
            Toleration(key="dedicated", operator="Exists"), GPU, True, id="Exists takes any value"
        ),
        pytest.param(
            Toleration(operator="Exists"), GPU, True, id="Exists without a key takes every taint"
        ),
        pytest.param(Toleration(value="gpu"), GPU, False, id="Equal without a key takes none"),
        pytest.param(
            Toleration(key="dedicated", operator="Exists", effect="NoExecute"),
            GPU,
            False,
            id="another effect",
        ),
        pytest.param(
            Toleration(operator="Exists", effect="NoSchedule"),
            GPU,
            True,
            id="every taint of one effect",
        ),
        pytest.param(
            Toleration(key="sla", operator="Gt", value="900"),
            Taint("sla", "NoSchedule", "950"),
            True,
            id="Gt",
        ),
        pytest.param(
            Toleration(key="sla", operator="Lt", value="900"),
            Taint("sla", "NoSchedule", "950"),
            False,
            id="Lt",
        ),
        pytest.param(
            Toleration(key="sla", operator="Gt", value="900"),
            Taint("sla", "NoSchedule", "high"),
            False,
            id="no number",
        ),
    ],
)
def test_a_toleration_matches(toleration: Toleration, taint: Taint, expected: bool) -> None:
    assert taints.tolerates([toleration], taint) is expected


def test_a_taint_that_only_prefers_keeps_nothing_away() -> None:
    assert taints.untolerated([Taint("soft", "PreferNoSchedule")], ()) is None


@pytest.mark.parametrize(
    ("taint", "expected"),
    [
        (Taint("node.kubernetes.io/not-ready", "NoSchedule"), True),
        (Taint("node.kubernetes.io/unreachable", "NoSchedule"), True),
        (Taint("node.kubernetes.io/unreachable", "NoExecute"), False),
        (Taint("node.cloudprovider.kubernetes.io/uninitialized", "NoSchedule", "true"), True),
        (Taint("karpenter.sh/unregistered", "NoExecute"), True),
        (Taint("readiness.k8s.io/cni", "NoSchedule"), True),
        (GPU, False),
    ],
)
def test_taints_of_a_node_that_comes_up_go_away_by_themselves(taint: Taint, expected: bool) -> None:
    assert taints.is_ephemeral(taint) is expected


def test_merging_keeps_the_value_that_is_there() -> None:
    merged = taints.merge(
        [GPU], [Taint("dedicated", "NoSchedule", "other"), Taint("b", "NoExecute")]
    )

    assert merged == (GPU, Taint("b", "NoExecute"))
