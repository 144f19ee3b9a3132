"""What runs, in one file per pod: how a new agent, or `daiku local down`, finds it again.

Each file is the process itself (the fields of `world.Process`) and what a status needs beside it.
It is written before the process begins its work and removed after it has ended.
"""

import json
import shutil
from collections.abc import Collection
from dataclasses import asdict, dataclass
from pathlib import Path

from daiku_local import world
from daiku_local.agent import files
from daiku_local.agent.objects import Json
from daiku_local.agent.pods import Key

FOLDER = "workloads"


@dataclass(frozen=True, slots=True, kw_only=True)
class Record:
    """A running container."""

    process: world.Process
    """Its process."""
    pod: Key
    """Its pod."""
    ip: str
    """The pod's address."""
    restart_count: int
    """Runs before this one."""
    started_at: str
    """Wall clock."""


def folder(world_folder: Path) -> Path:
    """Where records are."""
    return world_folder / FOLDER


def save(records: Path, record: Record) -> None:
    """Write the record of a pod."""
    content = asdict(record.process) | {
        "pod_uid": record.pod.uid,
        "pod_namespace": record.pod.namespace,
        "pod_name": record.pod.name,
        "ip": record.ip,
        "restart_count": record.restart_count,
        "started_at": record.started_at,
    }
    files.write_private(records / f"{record.pod.uid}.json", json.dumps(content, indent=2) + "\n")


def remove(records: Path, uid: str) -> None:
    """Remove the record of a pod, if there is one."""
    (records / f"{uid}.json").unlink(missing_ok=True)


def sweep(records: Path, known: Collection[str]) -> None:
    """Remove records and folders of every pod that is not known, by uid."""
    for path in records.iterdir():
        if path.stem in known:
            continue
        if path.is_dir():
            shutil.rmtree(path, ignore_errors=True)
        else:
            path.unlink(missing_ok=True)


def read_all(records: Path) -> list[Record]:
    """Every record that can be read."""
    found = [_decode(files.read_json(path)) for path in sorted(records.glob("*.json"))]
    return [record for record in found if record is not None]


def _decode(content: Json) -> Record | None:
    try:
        return Record(
            process=world.Process(
                name=content["name"],
                pid=content["pid"],
                started_ticks=content["started_ticks"],
                log=content["log"],
            ),
            pod=Key(
                namespace=content["pod_namespace"],
                name=content["pod_name"],
                uid=content["pod_uid"],
            ),
            ip=content["ip"],
            restart_count=content["restart_count"],
            started_at=content["started_at"],
        )
    except KeyError:
        return None
