"""What may be set for one world's agent, in `agent.json` of the world folder; every field is optional.

The file is read anew whenever a value is needed, so that a boot can be slowed down while it runs.
"""

import json
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

from daiku_local.agent.objects import dig, mapping

FILE_NAME = "agent.json"
LOCAL_REGISTRY = "daiku.local/"
"""First part of the images that run as processes of this machine."""


class SettingsError(Exception):
    """agent.json holds something that cannot be used."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """Settings of the agent."""

    boot_delay_seconds: float | None
    """From the moment an instance runs to its Node; None: as the weather says (`daiku local weather`)."""
    images: dict[str, tuple[str, ...]]
    """Image name without tag to the command that its entry point is."""
    token_refresh_seconds: float | None
    """Age at which a pod's token is renewed; None: at 80 percent of its life, as a kubelet does."""


def read(world_folder: Path) -> Settings:
    """Read the settings of a world.

    Raises:
        SettingsError: The file is no JSON object, or a field has another type than it must.
    """
    path = world_folder / FILE_NAME
    try:
        content: Any = json.loads(path.read_text())
    except FileNotFoundError:
        content = {}
    except ValueError as error:
        raise SettingsError(f"{path} is no JSON: {error}") from None
    if not isinstance(content, dict):
        raise SettingsError(f"{path} holds {content!r}: write an object such as {{}}")
    return Settings(
        boot_delay_seconds=_seconds(path, content, "boot_delay_seconds"),
        images=built_in_images() | _images(path, content),
        token_refresh_seconds=_seconds(path, content, "token_refresh_seconds"),
    )


def built_in_images() -> dict[str, tuple[str, ...]]:
    """The local images that every world has: the controller, as installed beside this program."""
    return {f"{LOCAL_REGISTRY}controller": (str(Path(sys.prefix) / "bin" / "daiku"),)}


def _seconds(path: Path, content: Any, field: str) -> float | None:
    value = dig(content, field)
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int | float) or value < 0:
        raise SettingsError(f"{path}: {field} is {value!r}: write a number of seconds, 0 or more")
    return float(value)


def _images(path: Path, content: Any) -> dict[str, tuple[str, ...]]:
    images: dict[str, tuple[str, ...]] = {}
    for name, command in mapping(content, "images").items():
        if not isinstance(command, list) or not command or not name.startswith(LOCAL_REGISTRY):
            raise SettingsError(
                f"{path}: images holds {name!r}: {command!r}: write a name that begins with "
                f"{LOCAL_REGISTRY} and a list, the program and its first arguments"
            )
        images[name] = tuple(str(word) for word in cast("list[Any]", command))
    return images
