"""What `daiku doctor --stack` sees of an `up` or a `destroy` that did not come to its end."""

import json
from typing import Any

import pytest

from daiku.cli.doctoring import stack
from daiku.cli.doctoring.finding import Finding
from daiku.cli.doctoring.stack import State

HEAD = "urn:pulumi:dev::daiku::"


def resource(kind: str, name: str, **fields: Any) -> dict[str, Any]:
    return {"urn": f"{HEAD}daiku:index:Environment${kind}::{name}", "type": kind, **fields}


def exported(*pending: dict[str, Any]) -> bytes:
    pools = [
        resource(stack.POOL, f"pool-{name}", outputs={"metadata": {"name": name}}, **fields)
        for name, fields in (("spot", {}), ("default", {}), ("old", {"delete": True}))
    ]
    cluster = resource(stack.CLUSTER, "cluster", outputs={"name": "daiku-dev", "id": "daiku-dev"})
    others = [resource("pulumi:pulumi:Stack", "daiku-dev"), resource(stack.POOL, "unknown")]
    return json.dumps(
        {
            "version": 3,
            "deployment": {
                "manifest": {"time": "2026-03-02T12:00:00Z"},
                "resources": [*pools, cluster, *others],
                "pending_operations": list(pending),
            },
        }
    ).encode()


def found(state: State, *there: str, cluster: str = "daiku-dev") -> tuple[list[Finding], list[str]]:
    notes: list[str] = []
    return list(stack.examine(state, there, cluster, notes)), notes


def test_a_stack_whose_pools_are_there_is_well() -> None:
    state = stack.decode("dev", exported())

    assert state.node_pools == ("default", "spot")
    assert found(state, "spot", "default", "of-somebody-else") == ([], [])


def test_pools_that_only_the_stack_believes_in_are_named_with_the_command_that_mends_it() -> None:
    (gone,), _ = found(stack.decode("dev", exported()), "default")

    assert (gone.check, gone.about) == ("stack-nodepools-gone", ("NodePool spot",))
    assert "pulumi up --refresh --stack dev" in gone.remedy
    assert "pulumi destroy --refresh --stack dev" in gone.remedy


def test_what_was_under_way_when_the_engine_ended_is_named() -> None:
    under_way = {"type": "creating", "resource": resource("aws:ec2/vpc:Vpc", "daiku-vpc")}

    (cut, *_), _ = found(stack.decode("dev", exported(under_way)), "default", "spot")

    assert (cut.check, cut.about) == ("stack-interrupted", ("resource daiku-vpc",))
    assert "creating" in cut.cause
    assert cut.remedy.startswith("pulumi refresh --stack dev")


def test_a_stack_is_not_compared_with_another_cluster() -> None:
    state = stack.decode("dev", exported())

    assert found(state, cluster="prod") == (
        [],
        ["stack dev has cluster daiku-dev, KUBECONFIG leads to prod: not compared"],
    )
    assert [each.check for each in found(state, cluster="")[0]] == ["stack-nodepools-gone"]


def test_a_stack_that_has_nothing_yet_is_well() -> None:
    assert found(stack.decode("dev", b'{"version": 3, "deployment": {}}')) == ([], [])


def test_what_is_no_state_is_refused() -> None:
    with pytest.raises(stack.NoStackError, match="stack dev: its state cannot be read"):
        stack.decode("dev", b"[]")


def test_an_engine_that_is_not_there_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/nowhere")

    with pytest.raises(stack.NoStackError, match="`pulumi` is not on the PATH"):
        stack.read("dev")
