"""Whose a folder is, and who may change it."""

import threading
import time
from pathlib import Path

import pytest

from daiku_local import world_folder


def test_a_new_folder_is_made_private_and_marked(tmp_path: Path) -> None:
    folder = tmp_path / "a" / "world"

    with world_folder.held(folder, _silent):
        assert world_folder.is_ours(folder)
        assert folder.stat().st_mode & 0o777 == 0o700


def test_a_folder_with_other_things_is_refused_and_stays_as_it_is(tmp_path: Path) -> None:
    (tmp_path / "thesis.tex").write_text("years of work")

    with (
        pytest.raises(world_folder.ForeignFolderError, match="not empty"),
        world_folder.held(tmp_path, _silent),
    ):
        pytest.fail("it was given away")

    assert [entry.name for entry in tmp_path.iterdir()] == ["thesis.tex"]


def test_a_file_in_the_folders_place_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_text("")

    with pytest.raises(world_folder.ForeignFolderError, match="DAIKU_WORLD"):
        world_folder.claim(path)


def test_clear_removes_all_but_the_mark_and_perhaps_the_logs(tmp_path: Path) -> None:
    world_folder.claim(tmp_path)
    (tmp_path / "logs").mkdir()
    (tmp_path / "etcd" / "member").mkdir(parents=True)
    (tmp_path / "kubeconfig").write_text("secret")

    world_folder.clear(tmp_path, keep_logs=True)
    assert {entry.name for entry in tmp_path.iterdir()} == {world_folder.MARK, "logs"}

    world_folder.clear(tmp_path, keep_logs=False)
    assert {entry.name for entry in tmp_path.iterdir()} == {world_folder.MARK}


def test_clear_does_not_follow_links_out_of_the_folder(tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "kept").write_text("")
    inside = tmp_path / "world"
    world_folder.claim(inside)
    (inside / "link").symlink_to(outside)

    world_folder.clear(inside, keep_logs=False)

    assert (outside / "kept").exists()


def test_the_second_waits_until_the_first_is_done_and_says_so(tmp_path: Path) -> None:
    folder = tmp_path / "world"
    told: list[str] = []
    order: list[str] = []

    def second() -> None:
        with world_folder.held(folder, told.append):
            order.append("second")

    with world_folder.held(folder, _silent):
        waiter = threading.Thread(target=second)
        waiter.start()
        while not told:
            time.sleep(0.01)
        order.append("first")
    waiter.join(10)

    assert order == ["first", "second"]
    assert "waiting for another" in told[0]


def test_who_waited_for_a_folder_that_was_removed_gets_a_new_one(tmp_path: Path) -> None:
    folder = tmp_path / "world"
    told: list[str] = []
    seen: list[bool] = []

    def second() -> None:
        with world_folder.held(folder, told.append):
            seen.append(world_folder.is_ours(folder))

    with world_folder.held(folder, _silent):
        waiter = threading.Thread(target=second)
        waiter.start()
        while not told:
            time.sleep(0.01)
        (folder / world_folder.MARK).unlink()
        folder.rmdir()
    waiter.join(10)

    assert seen == [True]


def _silent(_line: str) -> None:
    """Take a line of progress and forget it."""
