"""The folder that holds one laptop world: whose it is, and who may change it now.

`down` removes the whole folder, so a folder is only ever used that was new or empty, and is marked.
`up` and `down` take turns: the lock is the kernel's, on the folder itself, and ends with its holder.
"""

import fcntl
import os
import shutil
from collections.abc import Callable, Generator
from contextlib import contextmanager
from pathlib import Path

MARK = ".daiku-world"
"""File that says that the folder is a world's."""
LOGS = "logs"
"""Folder of the logs; all that stays of a world that could not be started."""


class ForeignFolderError(Exception):
    """The folder holds something that no laptop world put there."""


@contextmanager
def held(folder: Path, report: Callable[[str], None]) -> Generator[None]:
    """Make the folder if needed, mark it, and be the only one who changes it.

    Raises:
        ForeignFolderError: It holds other things, or is no folder.
    """
    while True:
        claim(folder)
        descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
        try:
            _lock(descriptor, folder, report)
            if _is_still(descriptor, folder):
                yield
                return
        finally:
            os.close(descriptor)


def claim(folder: Path) -> None:
    """Make the folder if needed, and mark it as a world's.

    Raises:
        ForeignFolderError: It holds other things, or is no folder.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        if not is_ours(folder) and any(folder.iterdir()):
            raise ForeignFolderError(
                f"{folder} is not empty and not a laptop world's folder: `daiku local down` would "
                "remove it; set DAIKU_WORLD to a folder that is new or empty"
            )
        (folder / MARK).touch()
    except (FileExistsError, NotADirectoryError, PermissionError) as error:
        raise ForeignFolderError(
            f"{folder} cannot be a laptop world's folder ({error.strerror}): set DAIKU_WORLD to a "
            "folder that is new or empty"
        ) from error


def is_ours(folder: Path) -> bool:
    """Whether a world was put there, or may have been before it was stopped half-way."""
    return (folder / MARK).exists()


def clear(folder: Path, *, keep_logs: bool) -> None:
    """Remove everything in the folder but its mark, and perhaps its logs."""
    for entry in folder.iterdir():
        if entry.name == MARK or (keep_logs and entry.name == LOGS):
            continue
        if entry.is_dir() and not entry.is_symlink():
            shutil.rmtree(entry)
        else:
            entry.unlink()


def _lock(descriptor: int, folder: Path, report: Callable[[str], None]) -> None:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        report(f"waiting for another `daiku local up` or `down` on {folder}")
        fcntl.flock(descriptor, fcntl.LOCK_EX)


def _is_still(descriptor: int, folder: Path) -> bool:
    """Whether the folder that is held is the one that lies there: `down` may have removed it."""
    try:
        return os.path.samestat(os.fstat(descriptor), folder.stat())
    except FileNotFoundError:
        return False
