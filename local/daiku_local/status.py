"""`daiku local status`: what of the world runs, where it listens and what it costs this machine.

Everything is read from the kernel (/proc) at the moment of asking. Where there is no /proc, only
whether a process lives is known.
"""

import json
import os
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from rich.table import Table

from daiku_local import assembly, down, processes, world

LISTENING = "0A"
"""State of a listening socket in /proc/net/tcp."""
MIB = 1 << 20


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One process of the world."""

    name: str
    """Short name of a part, or of a workload that the agent runs."""
    pid: int | None
    """Process id; None for a part that was never started."""
    alive: bool
    """Whether exactly the recorded process runs."""
    ports: tuple[int, ...]
    """TCP ports that it listens on."""
    memory_bytes: int | None
    """Resident memory; None if unknown."""
    cpu_seconds: float | None
    """Processor time used so far; None if unknown."""
    log: str | None
    """File of its output."""


def observe(folder: Path) -> list[Row]:
    """A row per part and per workload of the world in `folder`.

    Raises:
        NoWorldError: There is none.
    """
    parts = world.load(folder).processes
    listening = _ports_of_sockets()
    rows = [_row(process, listening) for process in parts]
    known = {process.name for process in parts}
    rows += [_never_started(name) for name in assembly.PARTS if name not in known]
    return rows + [_row(process, listening) for process in down.recorded_workloads(folder)]


def as_json(found: world.World, rows: Sequence[Row]) -> str:
    """The rows and where the world is, for programs."""
    return json.dumps(
        {
            "folder": found.folder,
            "kubernetes_endpoint": found.kubernetes_endpoint,
            "kubernetes_version": found.kubernetes_version,
            "aws_endpoint": found.aws_endpoint,
            "door_endpoint": found.door_endpoint,
            "processes": [asdict(row) for row in rows],
        },
        indent=2,
    )


def as_table(found: world.World, rows: Sequence[Row]) -> Table:
    """The rows and where the world is, for people."""
    table = Table(title=f"laptop world in {found.folder}", title_justify="left", box=None)
    table.caption = (
        f"Kubernetes {found.kubernetes_endpoint} ({found.kubernetes_version})\nAWS        {found.aws_endpoint}\n"
        f"door       {found.door_endpoint}"
    )
    table.caption_justify = "left"
    # A name that is cut cannot be looked for.
    table.add_column("process", overflow="fold")
    table.add_column("state")
    for numbers in ("pid", "ports", "memory", "cpu"):
        table.add_column(numbers, justify="right")
    for row in rows:
        table.add_row(
            row.name,
            "alive" if row.alive else "[bold red]dead[/]",
            "" if row.pid is None else str(row.pid),
            " ".join(map(str, row.ports)),
            "" if row.memory_bytes is None else f"{row.memory_bytes // MIB} MiB",
            "" if row.cpu_seconds is None else f"{row.cpu_seconds:.1f} s",
        )
    return table


def _row(process: world.Process, listening: dict[str, int]) -> Row:
    alive = processes.is_alive(process)
    return Row(
        name=process.name,
        pid=process.pid,
        alive=alive,
        ports=_ports(process.pid, listening) if alive else (),
        memory_bytes=_memory_bytes(process.pid) if alive else None,
        cpu_seconds=_cpu_seconds(process.pid) if alive else None,
        log=process.log,
    )


def _never_started(name: str) -> Row:
    return Row(
        name=name, pid=None, alive=False, ports=(), memory_bytes=None, cpu_seconds=None, log=None
    )


def _memory_bytes(pid: int) -> int | None:
    try:
        pages = int(Path(f"/proc/{pid}/statm").read_text().split()[1])
    except (OSError, IndexError):
        return None
    return pages * os.sysconf("SC_PAGE_SIZE")


def _cpu_seconds(pid: int) -> float | None:
    fields = processes.stat_fields(pid)
    if fields is None:
        return None
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def _ports(pid: int, listening: dict[str, int]) -> tuple[int, ...]:
    try:
        descriptors = list(Path(f"/proc/{pid}/fd").iterdir())
    except OSError:
        # It ended while we looked, or there is no /proc.
        return ()
    targets = (_target(descriptor) for descriptor in descriptors)
    return tuple(sorted({listening[target] for target in targets if target in listening}))


def _target(descriptor: Path) -> str:
    """What an open file is; nothing if it was closed meanwhile."""
    try:
        return str(descriptor.readlink())
    except OSError:
        return ""


def _ports_of_sockets() -> dict[str, int]:
    """Port of each listening socket, by the name that /proc/PID/fd has for the socket."""
    ports: dict[str, int] = {}
    for table in (Path("/proc/net/tcp"), Path("/proc/net/tcp6")):
        try:
            lines = table.read_text().splitlines()[1:]
        except OSError:
            continue
        for fields in (line.split() for line in lines):
            if fields[3] == LISTENING:
                ports[f"socket:[{fields[9]}]"] = int(fields[1].rpartition(":")[2], 16)
    return ports
