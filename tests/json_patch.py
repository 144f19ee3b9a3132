"""JSON patches (RFC 6902) as an API server applies them, as far as they are used: test, add, remove."""

import copy
from typing import Any

Json = dict[str, Any]


class TestFailed(Exception):
    """The document is not what the patch was made for."""

    __test__ = False


def apply(document: Json, operations: list[Json]) -> Json:
    """What comes of `document`, which stays as it is.

    Raises:
        TestFailed: A `test` fails, or what is to be removed is not there.
    """
    made = copy.deepcopy(document)
    for each in operations:
        *above, last = [
            p.replace("~1", "/").replace("~0", "~") for p in each["path"][1:].split("/")
        ]
        place: Any = made
        try:
            for part in above:
                place = place[int(part)] if isinstance(place, list) else place[part]
            _apply(place, last, each)
        except (KeyError, IndexError) as error:
            raise TestFailed(f"{each}: {error}") from error
    return made


def _apply(place: Any, last: str, operation: Json) -> None:
    key: Any = int(last) if isinstance(place, list) and last != "-" else last
    match operation["op"]:
        case "test":
            found = place[key] if isinstance(place, list) else place.get(key)
            if found != operation["value"]:
                raise TestFailed(f"{operation}: found {found}")
        case "remove":
            del place[key]
        case "add" if isinstance(place, list):
            place.append(operation["value"])
        case "add":
            place[key] = operation["value"]
        case other:
            raise NotImplementedError(other)
