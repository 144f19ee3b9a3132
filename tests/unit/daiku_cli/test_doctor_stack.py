"""What `daiku doctor --stack` sees of an `up` or a `destroy` that did not come to its end."""

import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from daiku.cli.doctoring import stack
from daiku.cli.doctoring.finding import Finding
from daiku.cli.doctoring.stack import State
from daiku.cli.main import app

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


def test_a_cluster_that_is_gone_leaves_what_was_under_way_to_be_named() -> None:
    under_way = {"type": "deleting", "resource": resource(stack.CLUSTER, "cluster")}

    (cut,) = stack.examine(stack.decode("dev", exported(under_way)), None, "", [])

    assert cut.check == "stack-interrupted"
    assert "pulumi cancel --stack dev" in cut.remedy


def test_doctor_examines_a_stack_whose_cluster_cannot_be_asked(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    under_way = {"type": "deleting", "resource": resource(stack.CLUSTER, "cluster")}
    state = stack.decode("dev", exported(under_way))
    monkeypatch.setattr(stack, "read", lambda _name: state)
    arguments = ["doctor", "--format", "json", "--stack", "dev"]

    result = CliRunner().invoke(app, arguments, env={"KUBECONFIG": "/nowhere"})

    said = json.loads(result.stdout)
    assert [each["check"] for each in said["findings"]] == ["stack-interrupted"]
    assert said["notChecked"][0].startswith("the cluster is not examined: ")
    assert CliRunner().invoke(app, ["doctor"], env={"KUBECONFIG": "/nowhere"}).exit_code == 2


def test_a_state_that_was_cut_off_while_it_was_written_is_said_with_what_is_left_of_it(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    engine = tmp_path / "pulumi"
    engine.write_text("#!/bin/sh\necho 'error: failed to load checkpoint: EOF' >&2\nexit 1\n")
    engine.chmod(0o700)
    monkeypatch.setenv("PATH", str(tmp_path))

    with pytest.raises(stack.NoStackError, match=r"remove the empty STACK\.json\.attrs"):
        stack.read("dev")


def test_what_is_no_state_is_refused() -> None:
    with pytest.raises(stack.NoStackError, match="stack dev: its state cannot be read"):
        stack.decode("dev", b"[]")


def test_an_engine_that_is_not_there_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/nowhere")

    with pytest.raises(stack.NoStackError, match="`pulumi` is not on the PATH"):
        stack.read("dev")
