"""Download a bundle from its project's official release.

Nothing that a pinned checksum does not vouch for is unpacked. Whether a host can be reached is
asked once per run, for all hosts at once and with little patience: where it cannot, the caller
builds instead, and nobody waits for one time-out per tool.
"""

import hashlib
import http.client
import shutil
import tarfile
import threading
import time
import urllib.parse
import urllib.request
import zipfile
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import IO

from daiku_local.toolchain import recipe

PATIENCE_SECONDS = 4.0
"""How long all hosts together have to answer."""
STALL_SECONDS = 30.0
"""A download that brings nothing for this long is given up."""
REPORT_SECONDS = 10.0
"""Time between two lines of progress of a download."""
_BLOCK_BYTES = 1 << 20
_NETWORK_ERRORS = (OSError, http.client.HTTPException)


class ReleaseUnusable(Exception):
    """A release could not be taken; the message says why. The bundle can still be built."""


def reachable_hosts(urls: Iterable[str], *, patience: float = PATIENCE_SECONDS) -> set[str]:
    """Which hosts of `urls` answer within `patience` seconds.

    Proxies of the environment are used, as for the download itself. A host that answers with an
    error does not count. A name server that hangs cannot hold the answer up.
    """
    answered: set[str] = set()
    samples = {urllib.parse.urlsplit(url).netloc: url for url in urls}

    def ask(host: str, url: str) -> None:
        try:
            request = urllib.request.Request(url, method="HEAD")  # noqa: S310 - pinned URLs
            with urllib.request.urlopen(request, timeout=patience):  # noqa: S310 - as above
                answered.add(host)
        except _NETWORK_ERRORS:
            return

    threads = [
        threading.Thread(target=ask, args=sample, daemon=True, name=f"probe-{sample[0]}")
        for sample in samples.items()
    ]
    for thread in threads:
        thread.start()
    deadline = time.monotonic() + patience
    for thread in threads:
        thread.join(max(0.0, deadline - time.monotonic()))
    return set(answered)


def download(
    title: str, release: recipe.Release, folder: Path, report: Callable[[str], None]
) -> Path:
    """Download `release` into `folder`, check it, and give the folder of the unpacked tools.

    Args:
        title: What it is, for people.
        folder: An empty folder.
        release: What to download.
        report: Takes a line of progress.

    Raises:
        ReleaseUnusable: The download broke off, or its checksum is not the pinned one.
    """
    report(f"{title}: downloading {release.url}")
    archive = folder / Path(urllib.parse.urlsplit(release.url).path).name
    try:
        digest = _fetch(title, release, archive, report)
    except _NETWORK_ERRORS as error:
        raise ReleaseUnusable(f"{release.url} could not be downloaded: {error}") from error
    if digest != release.digest:
        raise ReleaseUnusable(
            f"{release.url} has {release.algorithm} {digest[:16]}…, pinned is "
            f"{release.digest[:16]}…: not used"
        )
    tools = folder / "tools"
    tools.mkdir()
    try:
        _unpack(archive, release, tools)
    except (KeyError, tarfile.TarError, zipfile.BadZipFile) as error:
        raise ReleaseUnusable(f"{release.url} lacks a tool: {error}") from error
    archive.unlink()
    return tools


def _fetch(
    title: str, release: recipe.Release, archive: Path, report: Callable[[str], None]
) -> str:
    digest = hashlib.new(release.algorithm)
    start = reported = time.monotonic()
    with (
        urllib.request.urlopen(release.url, timeout=STALL_SECONDS) as answer,  # noqa: S310 - pinned
        archive.open("wb") as file,
    ):
        total = int(answer.headers.get("Content-Length") or 0)
        done = 0
        while block := answer.read(_BLOCK_BYTES):
            digest.update(block)
            file.write(block)
            done += len(block)
            now = time.monotonic()
            if now - reported >= REPORT_SECONDS:
                reported = now
                of_total = f" of {total >> 20}" if total else ""
                report(f"{title}: {done >> 20}{of_total} MiB after {now - start:.0f} s")
    return digest.hexdigest()


def _unpack(archive: Path, release: recipe.Release, tools: Path) -> None:
    if archive.suffix == ".zip":
        with zipfile.ZipFile(archive) as opened:
            for member, name in release.members.items():
                with opened.open(member) as source:
                    _write(source, tools / name)
        return
    wanted = dict(release.members)
    # Read as a stream: the members lie anywhere in hundreds of MiB, and one pass finds them all.
    with tarfile.open(archive, mode="r|*") as opened:
        for entry in opened:
            name = wanted.pop(entry.name.removeprefix("./"), None)
            if name is None:
                continue
            source = opened.extractfile(entry)
            if source is None:
                raise KeyError(f"{entry.name} is not a file")
            _write(source, tools / name)
    if wanted:
        raise KeyError(f"no {', '.join(sorted(wanted))} inside")


def _write(source: IO[bytes], target: Path) -> None:
    with target.open("wb") as file:
        shutil.copyfileobj(source, file, _BLOCK_BYTES)
