"""The template's hash is the very number that Karpenter writes, so that taking over a cluster replaces no node.

Source: karpenter.sh/nodepool-hash, version v3; values computed by Karpenter itself.
"""

from dataclasses import replace
from datetime import timedelta

import pytest
from tests import build

from daiku.model import nodepool_hash
from daiku.model.instance_type import NodeClassRef
from daiku.model.nodepool import NodeTemplate
from daiku.model.requirements import NO_REQUIREMENTS
from daiku.model.taints import Taint

KWOK = NodeTemplate(
    requirements=NO_REQUIREMENTS,
    node_class=NodeClassRef(group="karpenter.kwok.sh", kind="KWOKNodeClass", name="default"),
    expire_after=timedelta(hours=720),
)
EVERYTHING = replace(
    KWOK,
    labels={"team": "x", "env": "prod"},
    annotations={"k": "v"},
    taints=(Taint("example.com/t", "NoSchedule", "v"), Taint("b", "NoExecute")),
    startup_taints=(Taint("s", "NoSchedule"),),
    termination_grace_period=timedelta(seconds=30),
)


@pytest.mark.parametrize(
    ("template", "expected"),
    [
        pytest.param(KWOK, "12745407319442031341", id="the least there can be"),
        pytest.param(
            replace(KWOK, expire_after=None), "7428780003907761376", id="expireAfter Never"
        ),
        pytest.param(EVERYTHING, "13467697682983095124", id="every field"),
        pytest.param(
            replace(
                KWOK,
                node_class=NodeClassRef(
                    group="karpenter.k8s.aws", kind="EC2NodeClass", name="default"
                ),
            ),
            "6821555240594823858",
            id="another node class",
        ),
    ],
)
def test_the_hash_is_karpenter_s(template: NodeTemplate, expected: str) -> None:
    assert nodepool_hash.of(template) == expected


def test_the_order_of_taints_does_not_count() -> None:
    turned = replace(EVERYTHING, taints=EVERYTHING.taints[::-1])

    assert nodepool_hash.of(turned) == nodepool_hash.of(EVERYTHING)


def test_requirements_are_not_part_of_it() -> None:
    narrowed = replace(KWOK, requirements=build.needs(build.require("team", "In", "x")))

    assert nodepool_hash.of(narrowed) == nodepool_hash.of(KWOK)
