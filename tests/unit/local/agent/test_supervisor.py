"""The agent as a whole: what ends it, and what keeps a second one away."""

import threading
from pathlib import Path

import pytest

from daiku_local import world
from daiku_local.agent import supervisor
from daiku_local.agent.supervisor import AgentError, Supervisor


def test_a_thread_that_dies_ends_the_agent(caplog: pytest.LogCaptureFixture) -> None:
    def die() -> None:
        raise RuntimeError("a bug")

    watched = Supervisor()
    watched.start("boot", die).join()

    assert watched.stop.is_set()
    assert watched.failed
    assert "thread 'boot' died" in caplog.text


def test_a_thread_that_is_done_ends_nothing() -> None:
    done = threading.Event()
    watched = Supervisor()

    watched.start("pod", done.set).join()

    assert done.is_set()
    assert not watched.stop.is_set()


def test_a_folder_without_a_world_is_refused(tmp_path: Path) -> None:
    with pytest.raises(world.NoWorldError, match="daiku local up"):
        supervisor.run(tmp_path, {})


def test_a_world_that_is_not_whole_is_refused(tmp_path: Path) -> None:
    world.save(
        world.World(
            folder=str(tmp_path),
            kubernetes_endpoint="https://127.0.0.1:1",
            kubernetes_version="1.34",
            service_account_issuer="https://issuer.example",
            aws_endpoint="http://127.0.0.1:1",
        )
    )

    with pytest.raises(AgentError, match="kubeconfig is missing: make the world anew"):
        supervisor.run(tmp_path, {})
