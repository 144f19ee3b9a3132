"""What a command sees that works with a laptop world, and what a part of the world sees.

Both start from the user's own environment, cleaned of whatever would lead elsewhere: another
cluster, another AWS account, another Pulumi backend, a proxy for the loopback.
"""

import os
import shlex
import sys
from collections.abc import Mapping
from importlib import metadata
from pathlib import Path

from daiku_local import paths
from daiku_local.world import World

LEADS_ELSEWHERE = ("AWS_", "KUBECONFIG", "PULUMI_ACCESS_TOKEN", "PULUMI_CONFIG_PASSPHRASE_FILE")
"""Beginnings of the names that are taken out."""
LOOPBACK = ("127.0.0.1", "localhost")
"""Hosts that no proxy can reach for us."""


def of_commands(world: World, tools: Path, base: Mapping[str, str]) -> dict[str, str]:
    """Environment of a command such as kubectl or pulumi, run by `daiku local exec`.

    Args:
        world: The world that the command shall see.
        tools: Folder of the tool chain's executables.
        base: The caller's environment.
    """
    folder = Path(world.folder)
    search = (tools, own_programs())
    return _cleaned(base) | {
        "DAIKU_WORLD": world.folder,
        "KUBECONFIG": str(world.kubeconfig),
        "AWS_ENDPOINT_URL": world.aws_endpoint,
        "AWS_REGION": world.region,
        "AWS_DEFAULT_REGION": world.region,
        "AWS_ACCESS_KEY_ID": "local",
        "AWS_SECRET_ACCESS_KEY": "local",
        "AWS_EC2_METADATA_DISABLED": "true",
        # A profile there could name another account, region or endpoint.
        "AWS_CONFIG_FILE": os.devnull,
        "AWS_SHARED_CREDENTIALS_FILE": os.devnull,
        "PULUMI_HOME": str(pulumi_home(folder)),
        # An engine that is killed while it writes metadata beside its state leaves a state that it cannot read.
        "PULUMI_BACKEND_URL": f"file://{pulumi_state(folder)}?metadata=skip",
        "PULUMI_CONFIG_PASSPHRASE": "",
        "PULUMI_SKIP_UPDATE_CHECK": "true",
        "PULUMI_DISABLE_AUTOMATIC_PLUGIN_ACQUISITION": "true",
        # A provider of the user's PATH would be taken before the stand-ins.
        "PULUMI_IGNORE_AMBIENT_PLUGINS": "true",
        "PATH": _path(*search, base=base),
    }


def of_parts(folder: Path, tools: Path, base: Mapping[str, str]) -> dict[str, str]:
    """Environment of the world's own processes: nothing of a cluster or an account."""
    return _cleaned(base) | {
        "DAIKU_WORLD": str(folder),
        "PYTHONUNBUFFERED": "1",
        "PATH": _path(tools, own_programs(), base=base),
    }


def own_programs() -> Path:
    """Folder of the programs that are installed beside this Python: `daiku` and its kin."""
    return Path(sys.prefix) / "bin"


def install_plugins(folder: Path) -> None:
    """Have the engine of the world in `folder` find the stand-ins, at the versions of the SDKs that are installed.

    Not on the PATH: of each provider that it finds there the engine warns, several times in a run.
    """
    for program in sorted(paths.stand_in_plugins().iterdir()):
        name = program.name.removeprefix("pulumi-resource-")
        version = metadata.version(f"pulumi-{name}")
        place = pulumi_home(folder) / "plugins" / f"resource-{name}-v{version}"
        place.mkdir(parents=True, exist_ok=True)
        installed = place / program.name
        # Each of two commands at once may be read by the other's engine: a file is there whole or not at all.
        fresh = place / f".{program.name}.{os.getpid()}"
        fresh.write_text(f'#!/bin/sh\nexec {shlex.quote(str(program))} "$@"\n')
        fresh.chmod(0o700)
        fresh.replace(installed)


def pulumi_home(folder: Path) -> Path:
    """Pulumi's own files, such as its workspaces."""
    return folder / "pulumi"


def pulumi_state(folder: Path) -> Path:
    """Pulumi's state of the stacks of this world."""
    return folder / "pulumi-state"


def _cleaned(base: Mapping[str, str]) -> dict[str, str]:
    kept = {name: value for name, value in base.items() if not name.startswith(LEADS_ELSEWHERE)}
    for name in ("NO_PROXY", "no_proxy"):
        direct = [host for host in kept.get(name, "").split(",") if host]
        kept[name] = ",".join([*direct, *(host for host in LOOPBACK if host not in direct)])
    return kept


def _path(*folders: Path, base: Mapping[str, str]) -> str:
    return os.pathsep.join([*map(str, folders), base.get("PATH", os.defpath)])
