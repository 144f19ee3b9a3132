"""What is known of one laptop world, and the file it is kept in.

`world.json` is written by `daiku local up` before the first process starts, so that `down` can
always find what to stop. Everybody else only reads it.
"""

import json
import os
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

FILE_NAME = "world.json"
FORMAT = 1


class NoWorldError(Exception):
    """There is no laptop world where one was expected."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Process:
    """A process of the world, identified so that a recycled pid is never mistaken for it."""

    name: str
    """Short name, such as "kube-apiserver"."""
    pid: int
    """Process id; also the id of its own process group."""
    started_ticks: int
    """Start time in clock ticks since boot (field 22 of /proc/PID/stat), 0 where there is no /proc."""
    log: str
    """File that holds its output."""


@dataclass(frozen=True, slots=True, kw_only=True)
class World:
    """One laptop world: where its parts listen and where its files are."""

    folder: str
    """The world folder, absolute."""
    region: str = "us-west-2"
    """The AWS region that the stand-in AWS plays."""
    account: str = "123456789012"
    """The AWS account that the stand-in AWS plays."""
    kubernetes_endpoint: str
    """URL of the kube-apiserver, such as https://127.0.0.1:6443."""
    kubernetes_version: str
    """Minor version of the control plane, such as "1.36"."""
    service_account_issuer: str
    """Issuer of ServiceAccount tokens; an EKS cluster would call it its OIDC issuer."""
    service_cidr: str = "10.100.0.0/16"
    """Addresses of Services."""
    aws_endpoint: str
    """URL of the stand-in AWS, every service, such as http://127.0.0.1:5000."""
    door_endpoint: str = ""
    """URL of the front door, such as http://127.0.0.1:8080: requests to it are load of pods."""
    processes: tuple[Process, ...] = field(default=())
    """What is running, in the order in which it was started."""

    @property
    def kubeconfig(self) -> Path:
        """The administrator's kubeconfig, mode 0600."""
        return Path(self.folder) / "kubeconfig"

    @property
    def pki(self) -> Path:
        """Folder of keys and certificates: ca.crt, service-account.key and the rest."""
        return Path(self.folder) / "pki"

    @property
    def logs(self) -> Path:
        """Folder of one log file per process."""
        return Path(self.folder) / "logs"


def save(world: World) -> None:
    """Write `world` to its folder, so that a reader sees the old or the new state and nothing between."""
    folder = Path(world.folder)
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    text = json.dumps({"format": FORMAT, **asdict(world)}, indent=2)
    draft = folder / f".{FILE_NAME}.{os.getpid()}"
    draft.write_text(text + "\n")
    draft.replace(folder / FILE_NAME)


def load(folder: Path) -> World:
    """Read the world of `folder`.

    Raises:
        NoWorldError: There is none, or another version of Daiku wrote it.
    """
    try:
        content: dict[str, Any] = json.loads((folder / FILE_NAME).read_text())
    except FileNotFoundError:
        raise NoWorldError(
            f"no laptop world in {folder}: start one with `daiku local up`"
        ) from None
    except ValueError as error:
        raise NoWorldError(
            f"{folder / FILE_NAME} cannot be read ({error}): run `daiku local down`, then `up`"
        ) from error
    if content.pop("format", None) != FORMAT:
        raise NoWorldError(
            f"{folder / FILE_NAME} was written by another version: run `daiku local down`, then `up`"
        )
    processes = tuple(Process(**process) for process in content.pop("processes"))
    return World(**content, processes=processes)
