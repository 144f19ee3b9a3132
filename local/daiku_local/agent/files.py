"""Files that somebody else reads while they change: whole or not at all."""

import json
import os
import threading
from pathlib import Path
from typing import Any

from daiku_local.agent.objects import mapping


def write_private(path: Path, text: str) -> None:
    """Replace a file at once, mode 0600; a reader sees the old or the new text."""
    draft = path.with_name(f".{path.name}.{os.getpid()}.{threading.get_ident()}")
    draft.unlink(missing_ok=True)
    descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(descriptor, "w") as file:
        file.write(text)
    draft.replace(path)


def read_json(path: Path) -> dict[str, Any]:
    """The JSON object of a file; an empty one when there is none or it cannot be read."""
    try:
        return mapping(json.loads(path.read_text()))
    except (FileNotFoundError, ValueError):
        return {}
