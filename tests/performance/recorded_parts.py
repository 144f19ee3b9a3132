"""Parts that all recorded objects have: times, metadata, owners, and whose field is whose."""

import hashlib
import json
from datetime import datetime, timedelta
from typing import Any, Final

from daiku.api import encode
from daiku.runtime import clock

Json = dict[str, Any]

BORN: Final = clock.now() - timedelta(days=1)


def stamp(at: datetime | None = None) -> str:
    """A time as it is written."""
    return encode.time(at or clock.now())


def encoded(value: Json) -> bytes:
    """As compact as the API server is."""
    return json.dumps(value, separators=(",", ":")).encode()


def uid_of(name: str) -> str:
    """As long as a real one."""
    return hashlib.md5(name.encode(), usedforsecurity=False).hexdigest()


def host_of(number: int) -> str:
    """Name of the Node of this number."""
    return f"ip-10-{number // 250}-{number % 250}-7"


def metadata(version: int, name: str, **more: Any) -> Json:
    """Metadata of an object that has been there for a day."""
    return {
        "name": name,
        "uid": uid_of(name),
        "resourceVersion": str(version),
        "generation": 1,
        "creationTimestamp": stamp(BORN),
        **more,
    }


def managed(manager: str, **fields: list[str]) -> list[Json]:
    """Whose fields are whose, in the way the API server says so."""
    return [
        {
            "manager": manager,
            "operation": "Update",
            "apiVersion": "v1",
            "time": stamp(BORN),
            "fieldsType": "FieldsV1",
            "fieldsV1": {f"f:{part}": {f"f:{name}": {} for name in names}},
            **({"subresource": "status"} if part == "status" else {}),
        }
        for part, names in fields.items()
    ]


def owner(api_version: str, kind: str, name: str) -> Json:
    return {
        "apiVersion": api_version,
        "kind": kind,
        "name": name,
        "uid": uid_of(name),
        "controller": True,
        "blockOwnerDeletion": True,
    }
