"""Whom pods mean that want company or want to be alone: namespaces and revisions.

Source: karpenter-core, provisioning/scheduling/topology_test.go, "Pod Affinity/Anti-Affinity", namespaces;
kube-scheduler's interpodaffinity.
"""

from typing import Any

import pytest
from tests import build
from tests.conformance.company import HOST, TYPES, apart, called, elsewhere, here, near, pod, shared
from tests.plans import Small

from daiku.events import Object
from daiku.model.namespace import Namespace
from daiku.model.requirements import NO_REQUIREMENTS

RUNS = [here(), elsewhere(pod("a", "old", node="here"))]
LABELLED = Namespace(meta=build.meta("other", labels={"team": "x"}))
TEAM_X = build.needs(build.require("team", "In", "x"))
OTHERS = {"namespaces": (), "namespace_selector": TEAM_X}
EVERY = {"namespaces": (), "namespace_selector": NO_REQUIREMENTS}


@pytest.mark.parametrize("kind", ["near", "apart"])
@pytest.mark.parametrize(
    ("means", "there", "meant"),
    [
        pytest.param({}, [], False, id="its own namespace"),
        pytest.param({"namespaces": ("other",)}, [], True, id="another by its name"),
        pytest.param({"namespaces": ("default", "other")}, [], True, id="both by their names"),
        pytest.param(OTHERS, [LABELLED], True, id="another by its labels"),
        pytest.param(OTHERS, [], False, id="a namespace without those labels"),
        pytest.param(
            {"namespaces": ("default",), "namespace_selector": TEAM_X},
            [LABELLED],
            True,
            id="a list and a selector are joined",
        ),
        pytest.param(EVERY, [], True, id="an empty selector means all"),
        pytest.param({"selector": None, **EVERY}, [], False, id="no pod selector means nobody"),
    ],
)
def test_of_which_namespaces(
    kind: str, means: dict[str, Any], there: list[Object], meant: bool
) -> None:
    asked = near("a", **means) if kind == "near" else apart("a", **means)

    told = shared(Small(pods=[pod("b", **asked)], there=[*RUNS, *there], types=TYPES), HOST)

    if kind == "near":
        assert told == (["b+old"] if meant else ["old", "stuck b"])
    else:
        assert told == (["b", "old"] if meant else ["b+old"])


@pytest.mark.parametrize(
    ("operator", "found"),
    [
        pytest.param("In", ["b+old"], id="matchLabelKeys: of its own revision only"),
        pytest.param("NotIn", ["b", "old"], id="mismatchLabelKeys: of other revisions only"),
    ],
)
def test_revisions(operator: str, found: list[str]) -> None:
    """Both have become part of the selector by then: what is asked is to be alone among pods of revision 2."""
    selector = called("a") & build.needs(build.require("revision", operator, "2"))
    old = pod("a", "old", node="here", labels={"app": "a", "revision": "1"})

    small = Small(
        pods=[pod("b", **apart("a", selector=selector))], there=[here(), old], types=TYPES
    )

    assert shared(small, HOST) == found
