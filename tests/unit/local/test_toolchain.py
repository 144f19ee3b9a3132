"""The tool chain's promises, on bundles small enough for a test.

Releases come from an HTTP server of the test, builds from a program of three lines and the real Go.
"""

import contextlib
import hashlib
import http.server
import io
import multiprocessing
import os
import socket
import subprocess
import tarfile
import threading
import time
import zipfile
from collections.abc import Generator
from pathlib import Path

import pytest

from daiku_local import toolchain
from daiku_local.toolchain import recipe
from daiku_local.toolchain import release as releases

HELLO = 'package main\n\nfunc main() { println("hello") }\n'


def archive(*members: str, content: bytes = b"#!/bin/sh\necho released\n") -> bytes:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w:gz") as opened:
        for member in members:
            entry = tarfile.TarInfo(member)
            entry.size = len(content)
            opened.addfile(entry, io.BytesIO(content))
    return buffer.getvalue()


def bundle(
    url: str | None = None, content: bytes = b"", *, main: str = HELLO, version: str = "1.0.0"
) -> recipe.Bundle:
    """A bundle of one tool, "hello"; with a `url` there is a release of `content`."""
    pinned = {}
    if url is not None:
        pinned[recipe.this_platform()] = recipe.Release(
            url=url,
            algorithm="sha256",
            digest=hashlib.sha256(content).hexdigest(),
            members={"package/hello": "hello"},
        )
    return recipe.Bundle(
        name="greeting",
        version=version,
        builds=(
            recipe.Build(
                files={"go.mod": "module example.test/hello\n\ngo 1.24\n", "main.go": main},
                packages={"example.test/hello": "hello"},
            ),
        ),
        releases=pinned,
        build_bytes=1,
    )


class Site:
    """An HTTP server on the loopback that serves one body, after `gate` is open."""

    def __init__(self, body: bytes) -> None:
        self.body = body
        self.downloads = 0
        self.started = threading.Event()
        self.gate = threading.Event()
        self.gate.set()
        site = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_HEAD(self) -> None:
                self.send_response(200)
                self.end_headers()

            def do_GET(self) -> None:
                site.downloads += 1
                self.send_response(200)
                self.send_header("Content-Length", str(len(site.body)))
                self.end_headers()
                half = len(site.body) // 2
                with contextlib.suppress(OSError):
                    self.wfile.write(site.body[:half])
                    self.wfile.flush()
                    site.started.set()
                    site.gate.wait(30)
                    self.wfile.write(site.body[half:])

            def log_message(self, *_: object) -> None:
                """A test prints nothing of its own accord."""

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_address[1]}/greeting.tar.gz"


@contextlib.contextmanager
def serving(body: bytes) -> Generator[Site]:
    site = Site(body)
    thread = threading.Thread(target=site.server.serve_forever, args=(0.01,))
    thread.start()
    try:
        yield site
    finally:
        site.gate.set()
        site.server.shutdown()
        thread.join()
        site.server.server_close()


def contents(cache: Path) -> list[str]:
    return sorted(str(path.relative_to(cache)) for path in cache.rglob("*"))


def test_a_release_is_downloaded_checked_and_unpacked(tmp_path: Path) -> None:
    body = archive("package/README", "package/hello")
    lines: list[str] = []

    with serving(body) as site:
        tools = toolchain.install((bundle(site.url, body),), tmp_path, lines.append)

    assert subprocess.check_output([tools.path("hello")], text=True) == "released\n"
    assert any(site.url in line for line in lines)
    assert "official release" in lines[-2]


def test_a_release_may_be_a_zip(tmp_path: Path) -> None:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as opened:
        opened.writestr("package/hello", "#!/bin/sh\necho zipped\n")
    body = buffer.getvalue()

    with serving(body) as site:
        url = site.url.replace(".tar.gz", ".zip")
        tools = toolchain.install((bundle(url, body),), tmp_path, str)

    assert subprocess.check_output([tools.path("hello")], text=True) == "zipped\n"


def test_a_warm_cache_is_used_without_a_word(tmp_path: Path) -> None:
    body = archive("package/hello")
    lines: list[str] = []
    with serving(body) as site:
        wanted = (bundle(site.url, body),)
        toolchain.install(wanted, tmp_path, lines.append)
    lines.clear()

    tools = toolchain.install(wanted, tmp_path, lines.append)

    assert tools.path("hello").is_file()
    assert lines == []


def test_without_a_release_the_tool_is_built_by_the_go_of_this_environment(tmp_path: Path) -> None:
    lines: list[str] = []

    tools = toolchain.install((bundle(),), tmp_path, lines.append)

    ran = subprocess.run([tools.path("hello")], capture_output=True, text=True, check=True)
    assert ran.stderr == "hello\n"
    assert "built from source" in lines[-2]


@pytest.mark.parametrize(
    ("served", "reason"),
    [
        pytest.param(archive("package/hello", content=b"evil"), "pinned is", id="other bytes"),
        pytest.param(None, "lacks a tool", id="an archive without the tool"),
    ],
)
def test_a_release_that_is_not_as_pinned_is_built_instead(
    tmp_path: Path, served: bytes | None, reason: str
) -> None:
    pinned = archive("package/hello") if served else archive("package/other")
    lines: list[str] = []

    with serving(served or pinned) as site:
        tools = toolchain.install((bundle(site.url, pinned),), tmp_path, lines.append)

    ran = subprocess.run([tools.path("hello")], capture_output=True, text=True, check=True)
    assert ran.stderr == "hello\n"
    assert any(reason in line and "building it instead" in line for line in lines)


def test_an_unreachable_host_is_named_once_and_the_tool_is_built(tmp_path: Path) -> None:
    lines: list[str] = []

    toolchain.install((bundle("http://127.0.0.1:1/x.tar.gz"),), tmp_path, lines.append)

    assert sum("127.0.0.1:1 cannot be reached" in line for line in lines) == 1


def test_a_host_that_never_answers_costs_no_more_than_the_patience() -> None:
    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))
        silent.listen()
        begun = time.monotonic()

        hosts = releases.reachable_hosts(
            [f"http://127.0.0.1:{silent.getsockname()[1]}/x"], patience=0.2
        )

    assert hosts == set()
    assert time.monotonic() - begun < 2


def test_a_failed_build_names_the_tool_the_command_the_output_and_the_remedy(
    tmp_path: Path,
) -> None:
    broken = bundle(main="package main\n\nfunc main() { undefined() }\n")

    with pytest.raises(toolchain.ToolchainError) as caught:
        toolchain.install((broken,), tmp_path, lambda _: None)

    message = str(caught.value)
    assert message.startswith("greeting 1.0.0: ")
    assert "go build" in message
    assert "undefined: undefined" in message
    assert "remedy: " in message


def test_a_build_without_disk_space_is_refused_before_it_begins(tmp_path: Path) -> None:
    huge = recipe.Bundle(
        name="huge", version="1", builds=bundle().builds, build_bytes=10**6 * recipe.GIB
    )
    lines: list[str] = []

    with pytest.raises(toolchain.ToolchainError, match=r"takes up to 1000000\.0 GiB"):
        toolchain.install((huge,), tmp_path, lines.append)

    assert not any("building" in line for line in lines)


def test_a_cache_that_cannot_be_made_is_an_error_with_a_remedy(tmp_path: Path) -> None:
    in_the_way = tmp_path / "file"
    in_the_way.write_text("")

    with pytest.raises(toolchain.ToolchainError, match="DAIKU_CACHE"):
        toolchain.install((bundle(),), in_the_way, lambda _: None)


@pytest.mark.parametrize("damage", ["truncated", "removed", "not executable", "no manifest"])
def test_a_damaged_cache_is_made_again(tmp_path: Path, damage: str) -> None:
    body = archive("package/hello")
    with serving(body) as site:
        wanted = (bundle(site.url, body),)
        hello = toolchain.install(wanted, tmp_path, lambda _: None).path("hello")
        match damage:
            case "truncated":
                os.truncate(hello, 3)
            case "removed":
                hello.unlink()
            case "not executable":
                hello.chmod(0o644)
            case _:
                next(tmp_path.rglob("greeting.json")).unlink()

        toolchain.install(wanted, tmp_path, lambda _: None)

    assert subprocess.check_output([hello], text=True) == "released\n"
    assert site.downloads == 2


def test_another_pin_never_shares_a_folder(tmp_path: Path) -> None:
    body = archive("package/hello")
    with serving(body) as site:
        old = toolchain.install((bundle(site.url, body),), tmp_path, lambda _: None)

        new = toolchain.install(
            (bundle(site.url, body, version="1.0.1"),), tmp_path, lambda _: None
        )

    assert old.folder != new.folder
    assert old.path("hello").is_file()


def test_a_better_estimate_does_not_make_the_tools_again() -> None:
    first = recipe.Bundle(name="a", version="1", builds=(), build_minutes=1, build_bytes=1)
    second = recipe.Bundle(name="a", version="1", builds=(), build_minutes=2, build_bytes=2)

    assert recipe.key((first,), "linux/amd64") == recipe.key((second,), "linux/amd64")
    assert recipe.key((first,), "linux/amd64") != recipe.key((first,), "linux/arm64")


def test_of_two_runs_at_once_one_works_and_the_other_waits_and_says_for_whom(
    tmp_path: Path,
) -> None:
    body = archive("package/hello")
    waited: list[str] = []
    told = threading.Event()

    def report(line: str) -> None:
        waited.append(line)
        told.set()

    with serving(body) as site:
        site.gate.clear()
        wanted = (bundle(site.url, body),)
        runs = [
            threading.Thread(target=toolchain.install, args=(wanted, tmp_path, lambda _: None)),
            threading.Thread(target=toolchain.install, args=(wanted, tmp_path, report)),
        ]
        runs[0].start()
        assert site.started.wait(20)
        runs[1].start()
        assert told.wait(20)
        site.gate.set()
        for run in runs:
            run.join()

    assert site.downloads == 1
    assert len(waited) == 1
    assert f"waiting for process {os.getpid()} (" in waited[0]


def test_a_run_killed_half_way_leaves_nothing_that_the_next_one_trusts(tmp_path: Path) -> None:
    body = archive("package/hello")
    with serving(body) as site:
        site.gate.clear()
        wanted = (bundle(site.url, body),)
        killed = multiprocessing.get_context("spawn").Process(
            target=toolchain.install, args=(wanted, tmp_path, str)
        )
        killed.start()
        assert site.started.wait(30)
        killed.kill()
        killed.join()
        half_done = contents(tmp_path)
        site.gate.set()

        tools = toolchain.install(wanted, tmp_path, str)

    assert any("work-" in name for name in half_done)
    assert not any("bin/hello" in name for name in half_done)
    assert not any("work-" in name for name in contents(tmp_path))
    assert subprocess.check_output([tools.path("hello")], text=True) == "released\n"


def test_a_tool_that_is_not_there_is_answered_with_those_that_are(tmp_path: Path) -> None:
    body = archive("package/hello")
    with serving(body) as site:
        tools = toolchain.install((bundle(site.url, body),), tmp_path, lambda _: None)

    with pytest.raises(toolchain.ToolchainError, match="ask for one of: hello"):
        tools.path("helo")
