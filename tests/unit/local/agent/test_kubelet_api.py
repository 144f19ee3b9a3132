"""Logs of pods that are processes: what is asked for, which file it is, and what of it is given."""

import io
from pathlib import Path

import pytest

from daiku_local.agent import kubelet_api
from daiku_local.agent.kubelet_api import NoAnswerError, Wanted


def nothing() -> None:
    pass


def test_what_kubectl_asks_is_understood() -> None:
    assert kubelet_api.wanted("follow=true&tailLines=5&limitBytes=9&previous=true") == Wanted(
        follow=True, lines=5, bytes_max=9, previous=True
    )
    assert kubelet_api.wanted("timestamps=false") == Wanted()


@pytest.mark.parametrize("query", ["sinceSeconds=5", "sinceTime=2026-01-01", "timestamps=true"])
def test_times_that_a_log_does_not_have_are_refused(query: str) -> None:
    with pytest.raises(NoAnswerError, match="no times of its own"):
        kubelet_api.wanted(query)


def test_the_log_is_that_of_the_last_run_or_of_the_one_before(tmp_path: Path) -> None:
    folder = tmp_path.joinpath(*kubelet_api.LOGS)
    folder.mkdir(parents=True)
    for name in ("a_web_9", "a_web_10", "a_web-2_11", "b_web_12"):
        (folder / f"{name}.log").touch()

    def found(*, previous: bool) -> str:
        return kubelet_api.log_file(tmp_path, "a", "web", previous=previous).name

    assert found(previous=False) == "a_web_10.log"
    assert found(previous=True) == "a_web_9.log"
    with pytest.raises(NoAnswerError, match="has not been restarted"):
        kubelet_api.log_file(tmp_path, "b", "web", previous=True)
    with pytest.raises(NoAnswerError, match="pod a/other has no container: kwok plays it"):
        kubelet_api.log_file(tmp_path, "a", "other", previous=False)


LOG = b"one\ntwo\nthree\n"


@pytest.mark.parametrize(
    ("asked", "given"),
    [
        (Wanted(), LOG),
        (Wanted(lines=2), b"two\nthree\n"),
        (Wanted(lines=0), b""),
        (Wanted(lines=9), LOG),
        (Wanted(bytes_max=5), b"one\nt"),
        (Wanted(lines=2, bytes_max=3), b"two"),
    ],
)
def test_so_much_of_a_log_is_given(asked: Wanted, given: bytes) -> None:
    pieces = kubelet_api.read(io.BytesIO(LOG), asked, is_over=lambda: True, pause=nothing)

    assert b"".join(pieces) == given


def test_a_log_that_is_followed_goes_on_until_the_pod_has_ended(tmp_path: Path) -> None:
    file = tmp_path / "log"
    file.write_bytes(LOG)
    coming = [b"four\n", b"", b"five\n"]

    def pause() -> None:
        with file.open("ab") as log:
            log.write(coming.pop(0))

    with file.open("rb") as opened:
        pieces = kubelet_api.read(
            opened, Wanted(follow=True, lines=1), is_over=lambda: not coming, pause=pause
        )
        assert b"".join(pieces) == b"three\nfour\nfive\n"


@pytest.mark.parametrize("kind", ["exec", "attach", "stats"])
def test_what_is_not_there_is_said(kind: str) -> None:
    with pytest.raises(NoAnswerError, match=f"{kind} does not exist in a laptop world"):
        kubelet_api.pod_of(kind, ["a", "web", "main"])
