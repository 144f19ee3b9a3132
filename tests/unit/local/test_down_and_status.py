"""What `down` stops and `status` shows, with small programs in place of the world's parts."""

import json
import os
import socket
import sys
from collections.abc import Generator
from dataclasses import asdict
from pathlib import Path

import pytest

from daiku_local import down, processes, status, up, world, world_folder
from daiku_local.world import Process, World


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    place = tmp_path / "world"
    world_folder.claim(place)
    return place


@pytest.fixture
def sleeper(tmp_path: Path) -> Generator[Process]:
    started: list[Process] = []
    command = processes.Command(
        name="etcd",
        arguments=[sys.executable, "-c", "import time; time.sleep(60)"],
        environment={"PATH": os.defpath},
        log=tmp_path / "sleeper.log",
    )
    yield processes.start(command, started.append)
    processes.stop_together(started, 0)


def test_down_without_a_world_says_so_and_makes_nothing(tmp_path: Path) -> None:
    told: list[str] = []

    down.down(tmp_path / "world", told.append)

    assert told == [f"no laptop world in {tmp_path / 'world'}: nothing to do"]
    assert not (tmp_path / "world").exists()


def test_down_stops_what_was_recorded_and_removes_the_folder(
    folder: Path, sleeper: Process
) -> None:
    told: list[str] = []
    world.save(_world(folder, sleeper))

    down.down(folder, told.append)

    assert not processes.is_alive(sleeper)
    assert not folder.exists()
    assert told == ["stopped: etcd", f"removed {folder}"]


def test_down_stops_the_workloads_that_the_agent_left(folder: Path, sleeper: Process) -> None:
    (folder / down.WORKLOADS).mkdir()
    (folder / down.WORKLOADS / "controller.json").write_text(json.dumps(asdict(sleeper)))

    assert down.stop_all(folder) == [sleeper]
    assert not processes.is_alive(sleeper)


def test_down_reads_the_processes_of_another_versions_file(folder: Path, sleeper: Process) -> None:
    content = {"format": 99, "colour": "red", "processes": [asdict(sleeper) | {"size": 7}]}
    (folder / world.FILE_NAME).write_text(json.dumps(content))

    assert down.stop_all(folder) == [sleeper]


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("{", id="half a file"),
        pytest.param("[]", id="not an object"),
        pytest.param('{"processes": [7, {"pid": 2}]}', id="entries that identify nothing"),
        pytest.param(
            '{"processes": [{"name": "x", "pid": 0, "started_ticks": 0, "log": ""}]}',
            id="a pid that would be ourselves",
        ),
    ],
)
def test_down_removes_a_world_whose_record_is_broken(folder: Path, text: str) -> None:
    (folder / world.FILE_NAME).write_text(text)

    down.down(folder, lambda _: None)

    assert not folder.exists()


def test_down_refuses_a_folder_that_is_not_a_worlds(tmp_path: Path) -> None:
    (tmp_path / "thesis.tex").write_text("years of work")

    with pytest.raises(world_folder.ForeignFolderError):
        down.down(tmp_path, lambda _: None)

    assert (tmp_path / "thesis.tex").exists()


def test_status_shows_memory_and_ports_of_a_living_process(folder: Path) -> None:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen()
        ticks = processes.start_ticks(os.getpid())
        assert ticks is not None
        ourselves = Process(name="aws", pid=os.getpid(), started_ticks=ticks, log="log")
        world.save(_world(folder, ourselves))

        row = next(row for row in status.observe(folder) if row.name == "aws")

        assert row.alive
        assert listener.getsockname()[1] in row.ports
        assert row.memory_bytes is not None
        assert row.memory_bytes > 1 << 20


def test_status_shows_parts_that_died_and_parts_that_never_started(folder: Path) -> None:
    gone = Process(name="etcd", pid=os.getpid(), started_ticks=1, log="log")
    world.save(_world(folder, gone))

    rows = {row.name: row for row in status.observe(folder)}

    assert not rows["etcd"].alive
    assert rows["kube-apiserver"].pid is None
    assert not any(row.alive for row in rows.values())


def test_status_as_json_can_be_read_back(folder: Path, sleeper: Process) -> None:
    found = _world(folder, sleeper)
    world.save(found)

    content = json.loads(status.as_json(found, status.observe(folder)))

    assert content["aws_endpoint"] == found.aws_endpoint
    first = content["processes"][0]
    assert (first["name"], first["pid"], first["alive"]) == ("etcd", sleeper.pid, True)


def test_a_world_of_which_nothing_runs_is_no_world_to_work_with(folder: Path) -> None:
    gone = Process(name="etcd", pid=os.getpid(), started_ticks=1, log="log")

    with pytest.raises(world.NoWorldError, match="does not run any more"):
        up.require(_world(folder, gone), lambda _: None)


def test_a_world_that_lost_a_part_can_still_be_looked_into(folder: Path, sleeper: Process) -> None:
    told: list[str] = []

    up.require(_world(folder, sleeper), told.append)

    assert "kube-apiserver" in told[0]
    assert "etcd" not in told[0]


def _world(folder: Path, *running: Process) -> World:
    return World(
        folder=str(folder),
        kubernetes_endpoint="https://127.0.0.1:6443",
        kubernetes_version="1.34",
        service_account_issuer="https://oidc.eks.us-west-2.amazonaws.com/id/ABC",
        aws_endpoint="http://127.0.0.1:5000",
        processes=running,
    )
