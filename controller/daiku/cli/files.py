"""The input of commands: files, folders and standard input, as names and bytes."""

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import BinaryIO, Final

SUFFIXES: Final = (".yaml", ".yml", ".json")
"""What is read of a folder."""
STANDARD_INPUT: Final = "-"


def read(
    paths: Sequence[str], stdin: BinaryIO, step: Callable[[str], None], problems: list[str]
) -> list[tuple[str, bytes]]:
    """Name and content of every file.

    Args:
        paths: Files, folders, or - for standard input.
        stdin: What - means.
        step: Is told the name of each file before it is read.
        problems: Takes a line for each that cannot be read.
    """
    found: list[tuple[str, bytes]] = []
    for path in paths:
        if path == STANDARD_INPUT:
            step("standard input")
            found.append(("standard input", stdin.read()))
            continue
        try:
            for file in _files(Path(path)):
                step(str(file))
                found.append((str(file), file.read_bytes()))
        except OSError as error:
            problems.append(
                f"{error.filename or path}: {error.strerror or error}; give the path of a file or folder"
            )
        except ValueError as error:
            problems.append(f"{path!r}: {error}")
    return found


def _files(path: Path) -> Iterator[Path]:
    """The file itself, or those of a folder and of the folders in it, in the order of their names."""
    if not path.is_dir():
        yield path
        return
    inside = [each for each in sorted(path.rglob("*")) if each.suffix in SUFFIXES]
    visible = [
        each
        for each in inside
        if each.is_file() and not any(p.startswith(".") for p in each.relative_to(path).parts)
    ]
    if not visible:
        raise ValueError(f"the folder holds no file that ends in {', '.join(SUFFIXES)}")
    yield from visible
