"""Histories of a whole cluster in which everything goes wrong; whatever happens, no rule is broken and peace mends all.

`make simulate SEED=7` replays one. The rules are in invariants.py, what goes wrong in faults.py.
"""

import hashlib
from collections.abc import Callable
from typing import Any

import pytest
from tests.simulation import conftest, faults, shrinking

from daiku import commands
from daiku.api import encode
from daiku.kube import eviction
from daiku.kube.client import Client
from daiku.lifecycle import audit, collection, termination
from daiku.model.pod import Pod
from daiku.runtime.carrier import Carrier
from daiku.scheduling import audit as scheduling_audit
from daiku.scheduling import expected, prices
from daiku.surge import hold

versioned = encode._patches


def test_whatever_happens_no_rule_is_broken_and_peace_mends_all(seeds: range) -> None:
    for seed in seeds:
        history, failure = shrinking.live(seed)
        conftest.lived["histories"] += 1
        conftest.lived.update(history.world.faults.counts)
        if failure is not None:
            pytest.fail(shrinking.report(seed, failure), pytrace=False)
        history.world.forget()
        del history
        conftest.sweep()


def test_every_kind_of_fault_really_happened() -> None:
    if conftest.lived["histories"] < 100:
        pytest.skip("too few histories were lived through in this process")

    assert [k for k in faults.KINDS if not conftest.lived[k]] == []


def test_the_same_seed_makes_the_same_history() -> None:
    def digest() -> str:
        history, _failure = shrinking.live(3)
        return hashlib.sha256(history.world.story.last(10**6).encode()).hexdigest()

    assert digest() == digest()


def _everything_left(*_values: object) -> bool:
    return True


def _nothing(*_values: object) -> tuple[()]:
    return ()


def _no_amounts(*_values: object) -> dict[str, int]:
    return {}


def _deleted(client: Client, command: commands.Evict) -> bool:
    pod = {"namespace": command.namespace, "name": command.name, "uid": command.uid}
    eviction.delete(client, commands.DeletePod(**pod, grace_seconds=5))
    return True


def _unversioned(*parts: Any) -> encode.Patches:
    made = versioned(*parts)
    for each in (made.metadata, made.status):
        if each is not None:
            each["metadata"] = {k: v for k, v in each["metadata"].items() if k != "resourceVersion"}
    return made


def _unheld(*_values: object) -> hold.Hold:
    return hold.Hold()


def _dear(*_values: object) -> float:
    return 100.0


@pytest.mark.parametrize(
    ("where", "name", "instead", "rules"),
    [
        pytest.param(
            Carrier, "_fence", _nothing, {"leader"}, id="a deposed leader that goes on writing"
        ),
        pytest.param(
            termination, "_drain", _everything_left, {"pod lost"}, id="a node ended under its pods"
        ),
        pytest.param(
            termination, "_detach", _everything_left, {"volume"}, id="a volume torn away"
        ),
        pytest.param(
            termination, "_end_instance", _everything_left, {"claim lost"}, id="a claim let go early"
        ),
        pytest.param(
            Pod, "must_not_be_disrupted", _nothing, {"do-not-disrupt"},
            id="a pod evicted that must not be",
        ),
        pytest.param(
            eviction, "evict", _deleted, {"pdb"}, id="a pod deleted without asking its budgets"
        ),
        pytest.param(
            hold, "before", _unheld, {"surge"}, id="an eviction before the new pod is ready"
        ),
        pytest.param(
            collection, "orphans", _nothing, {"orphan", "nothing is left after scale to zero"},
            id="an instance that nobody collects",
        ),
        pytest.param(
            expected, "pool_usage", _no_amounts, {"limits"}, id="more nodes than a pool may have"
        ),
        pytest.param(
            encode, "_patches", _unversioned, {"overwritten"}, id="a write over somebody else's"
        ),
        pytest.param(prices, "of_node", _dear, {"price"}, id="a move that costs more than it saves"),
    ],
)  # fmt: skip
def test_a_controller_that_breaks_a_rule_is_found_out(
    where: object, name: str, instead: Callable[..., object], rules: set[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    """The rules have teeth: each of these mistakes is found within some histories."""
    monkeypatch.setattr(where, name, instead)
    monkeypatch.setattr(audit, "audit", _nothing)
    monkeypatch.setattr(scheduling_audit, "audit", _nothing)

    failures = (failure for _history, failure in map(shrinking.live, range(80)))

    assert any(failure is not None and failure.rule in rules for failure in failures)


def test_a_failure_is_told_with_its_seed_and_a_story(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(termination, "_drain", _everything_left)
    monkeypatch.setattr(audit, "audit", _nothing)
    seed, failure = next((s, f) for s in range(40) if (f := shrinking.live(s)[1]) is not None)

    text = shrinking.report(seed, failure)

    assert f"make simulate SEED={seed}" in text
    assert "TerminateInstance" in text
