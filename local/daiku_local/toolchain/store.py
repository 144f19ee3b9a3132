"""The folder of finished tools, and what is known of each.

A bundle counts as installed when its manifest is there and every file in it has the recorded size.
Manifests are written last, each file is flushed and renamed into place, and work goes on in a
folder of its own beside: a process killed at any moment leaves the old state or the new one.
"""

import hashlib
import json
import os
import shutil
import tempfile
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from daiku_local.toolchain import recipe

_FORMAT = 1
_WORK = "work-"


@dataclass(frozen=True, slots=True, kw_only=True)
class Store:
    """Tools of one set of pins."""

    root: Path
    """Folder of everything; its name holds the key of the pins."""

    @property
    def tools(self) -> Path:
        """Folder of the executables."""
        return self.root / "bin"

    @property
    def lock(self) -> Path:
        """File that the one process holds that installs."""
        return self.root.with_name(f"{self.root.name}.lock")

    def has(self, bundle: recipe.Bundle) -> bool:
        """Whether `bundle` is installed, judged by its manifest and the sizes."""
        try:
            manifest: dict[str, Any] = json.loads(self._manifest(bundle).read_text())
            files: Mapping[str, Mapping[str, Any]] = manifest["files"]
            return (
                manifest["format"] == _FORMAT
                and set(files) >= set(bundle.built_tools)
                and all(self._fits(name, entry["size"]) for name, entry in files.items())
            )
        except (OSError, ValueError, KeyError, TypeError):
            return False

    def install(self, bundle: recipe.Bundle, made: Path, origin: str) -> int:
        """Take every file of the folder `made` as `bundle`'s tools; gives their size in bytes.

        Args:
            bundle: What the files are.
            made: A folder of the workshop with the finished files and nothing else.
            origin: Where they come from, for the manifest.
        """
        self.tools.mkdir(parents=True, exist_ok=True)
        self._manifest(bundle).unlink(missing_ok=True)
        files = {path.name: _finish(path) for path in sorted(made.iterdir())}
        for name in files:
            (made / name).replace(self.tools / name)
        _flush(self.tools)
        manifest = {
            "format": _FORMAT,
            "bundle": bundle.name,
            "version": bundle.version,
            "origin": origin,
            "files": files,
        }
        draft = made / "manifest.json"
        draft.write_text(json.dumps(manifest, indent=2) + "\n")
        _finish(draft)
        draft.chmod(0o644)
        target = self._manifest(bundle)
        target.parent.mkdir(exist_ok=True)
        draft.replace(target)
        _flush(target.parent)
        return sum(int(entry["size"]) for entry in files.values())

    @contextmanager
    def workshop(self) -> Generator[Path]:
        """An empty folder on the same disk, removed at the end. Only the lock's holder may ask."""
        self.root.mkdir(parents=True, exist_ok=True)
        for abandoned in self.root.glob(f"{_WORK}*"):
            shutil.rmtree(abandoned, ignore_errors=True)
        folder = Path(tempfile.mkdtemp(prefix=_WORK, dir=self.root))
        try:
            yield folder
        finally:
            shutil.rmtree(folder, ignore_errors=True)

    def _manifest(self, bundle: recipe.Bundle) -> Path:
        return self.root / "manifests" / f"{bundle.name}.json"

    def _fits(self, name: str, size: int) -> bool:
        path = self.tools / name
        return path.stat().st_size == size and os.access(path, os.X_OK)


def _finish(path: Path) -> dict[str, Any]:
    """Make `path` an executable that survives a power cut; gives its size and checksum."""
    path.chmod(0o755)
    with path.open("rb") as file:
        digest = hashlib.file_digest(file, "sha256").hexdigest()
        os.fsync(file.fileno())
    return {"size": path.stat().st_size, "sha256": digest}


def _flush(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
