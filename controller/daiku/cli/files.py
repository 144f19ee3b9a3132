"""The input of commands: files, folders and standard input, as names and bytes."""

import glob
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import BinaryIO, Final

SUFFIXES: Final = (".yaml", ".yml", ".json")
"""What is read of a folder."""
STANDARD_INPUT: Final = "-"
KUSTOMIZATIONS: Final = ("kustomization.yaml", "kustomization.yml", "Kustomization")
CHART: Final = "Chart.yaml"


def read(
    paths: Sequence[str], stdin: BinaryIO, step: Callable[[str], None], problems: list[str]
) -> list[tuple[str, bytes]]:
    """Name and content of every file.

    Args:
        paths: Files, folders, patterns such as apps/**/*.yaml, or - for standard input.
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
            for file in _matching(path):
                step(str(file))
                found.append((str(file), file.read_bytes()))
        except OSError as error:
            problems.append(
                f"{error.filename or path}: {error.strerror or error}; give the path of a file or folder"
            )
        except ValueError as error:
            problems.append(f"{path!r}: {error}")
    return found


def kustomized(names: Sequence[str]) -> list[Path]:
    """The folders of these files that Kustomize would build, of one in another the outer one."""
    return _folders(names, KUSTOMIZATIONS)


def charts(names: Sequence[str]) -> list[Path]:
    """The folders of these files that are charts of Helm, of one in another the outer one."""
    return _folders(names, (CHART,))


def _folders(names: Sequence[str], marks: Sequence[str]) -> list[Path]:
    above = dict.fromkeys(folder for name in names for folder in Path(name).parents)
    marked = [each for each in above if any((each / mark).is_file() for mark in marks)]
    return sorted(each for each in marked if not any(o in each.parents for o in marked))


def _matching(path: str) -> Iterator[Path]:
    """The files that a path names, or a pattern where nothing has its name."""
    if Path(path).exists() or not glob.has_magic(path):
        yield from _files(Path(path))
        return
    found = sorted(glob.glob(path, recursive=True))  # noqa: PTH207  (pathlib's has no absolute patterns)
    if not found:
        raise ValueError("no file matches")
    for each in found:
        if Path(each).is_file():
            yield Path(each)


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
