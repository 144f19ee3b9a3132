"""`daiku local down`: stop everything that was recorded, then remove the world's folder.

Order: the agent first, so that it restarts nothing; then what it ran; then the parts, last started
first stopped. Only processes that still are the recorded ones are touched.
"""

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any, cast

from daiku_local import interruption, processes, world, world_folder

AGENT = "agent"
"""Name of the process that starts others."""
WORKLOADS = "workloads"
"""Folder in which the agent records what it runs, one JSON object of world.Process per file."""
GRACE_SECONDS = 8.0
"""How long the agent and workloads may take to end: a controller gives back its lease."""
PART_GRACE_SECONDS = 3.0
"""How long a part may take; its data goes away anyway, so there is nothing to save."""


def down(folder: Path, report: Callable[[str], None]) -> None:
    """Stop the world in `folder` and remove it; without one there is nothing to do.

    Raises:
        ForeignFolderError: The folder is not a world's.
    """
    if not folder.exists():
        report(f"no laptop world in {folder}: nothing to do")
        return
    with world_folder.held(folder, report), interruption.shielded(report):
        stopped = stop_all(folder)
        world_folder.clear(folder, keep_logs=False)
        shutil.rmtree(folder)
    names = ", ".join(process.name for process in stopped) or "nothing was running"
    report(f"stopped: {names}")
    report(f"removed {folder}")


def stop_all(folder: Path) -> list[world.Process]:
    """Stop every recorded process of the world in `folder`. Returns those that were alive."""
    parts = recorded_parts(folder)
    agents = [process for process in parts if process.name == AGENT]
    stopped = processes.stop_together(agents, GRACE_SECONDS)
    stopped += processes.stop_together(recorded_workloads(folder), GRACE_SECONDS)
    for process in reversed(parts):
        if processes.stop(process, PART_GRACE_SECONDS):
            stopped.append(process)
    return stopped


def recorded_parts(folder: Path) -> list[world.Process]:
    """Processes in world.json, as far as they can be read: another version's file will do too."""
    content = _read_json(folder / world.FILE_NAME)
    entries: list[Any] = content.get("processes", [])
    return [process for entry in entries if (process := _process(entry))]


def recorded_workloads(folder: Path) -> list[world.Process]:
    """Processes that the agent runs for pods."""
    files = sorted((folder / WORKLOADS).glob("*.json"))
    return [process for file in files if (process := _process(_read_json(file)))]


def _process(entry: Any) -> world.Process | None:
    """A process from JSON; None if the entry does not identify one."""
    try:
        process = world.Process(
            name=str(entry["name"]),
            pid=int(entry["pid"]),
            started_ticks=int(entry["started_ticks"]),
            log=str(entry["log"]),
        )
    except (KeyError, TypeError, ValueError):
        return None
    # Signals to 0, 1 or less would reach ourselves or everybody.
    return process if process.pid > 1 else None


def _read_json(path: Path) -> dict[str, Any]:
    try:
        content = json.loads(path.read_text())
    except (FileNotFoundError, ValueError):
        return {}
    return cast("dict[str, Any]", content) if isinstance(content, dict) else {}
