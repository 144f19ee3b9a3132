"""A recorded trace: the pods that came, when, how large they were, and how long they lived.

CSV with a header, or one JSON object a line: `time` and `duration` (seconds, or a time and a Go duration), `cpu`,
`memory`, and if they are there `name` and `labels` ("team=web;tier=1", or an object in JSON).
"""

import csv
import io
import json
from collections.abc import Iterator, Mapping
from typing import Any, Final, cast

from daiku.cli.simulating import texts
from daiku.cli.simulating.templates import Templates
from daiku.simulation.scenario import Arrival

NEEDED: Final = ("time", "duration", "cpu", "memory")
PROBLEMS_MOST: Final = 10
"""Lines that are complained about; a file with more is wrong throughout."""
_WORKLOAD: Final = "trace"


def read(source: str, content: bytes, problems: list[str]) -> list[Arrival]:
    """The pods of a trace, in order of time; the first comes at second 0.

    Args:
        source: Name of the file.
        content: What it holds.
        problems: Takes a line for each thing that cannot be used.
    """
    known = Templates()
    found: list[Arrival] = []
    wrong = 0
    try:
        for number, row in _rows(content):
            try:
                found.append(_arrival(row, known))
            except (ValueError, TypeError, AttributeError) as error:
                wrong += 1
                if wrong <= PROBLEMS_MOST:
                    problems.append(f"{source}, line {number}: {error}")
    except (UnicodeDecodeError, csv.Error, ValueError) as error:
        problems.append(f"{source}: is neither CSV with a header nor JSON lines: {error}")
    if wrong > PROBLEMS_MOST:
        problems.append(f"{source}: and {wrong - PROBLEMS_MOST} more lines")
    if not found and not wrong:
        problems.append(f"{source}: holds no pod; a line needs {', '.join(NEEDED)}")
    first = min((each.at for each in found), default=0.0)
    moved = (
        Arrival(at=a.at - first, workload=a.workload, template=a.template, lasts=a.lasts)
        for a in found
    )
    return sorted(moved, key=lambda a: a.at)


def _rows(content: bytes) -> Iterator[tuple[int, Mapping[str, Any]]]:
    text = content.removeprefix(b"\xef\xbb\xbf").decode()
    if text.lstrip().startswith("{"):
        for number, line in enumerate(text.splitlines(), 1):
            if line.strip():
                yield number, cast("dict[str, Any]", json.loads(line))
        return
    reader = csv.DictReader(io.StringIO(text))
    missing = [name for name in NEEDED if name not in (reader.fieldnames or ())]
    if missing:
        raise ValueError(f"its header lacks {', '.join(missing)}")
    yield from enumerate(reader, 2)


def _arrival(row: Mapping[str, Any], known: Templates) -> Arrival:
    lacks = [name for name in NEEDED if row.get(name) in {None, ""}]
    if lacks:
        raise ValueError(f"lacks {', '.join(lacks)}")
    lasts = _number(row["duration"])
    workload = str(row.get("name") or _WORKLOAD)
    return Arrival(
        at=_at(row["time"]),
        workload=workload,
        template=known.plain(
            workload, str(row["cpu"]), str(row["memory"]), _labels(row.get("labels")), owner="Job"
        ),
        lasts=max(
            1.0, lasts if lasts is not None else texts.seconds(str(row["duration"]), "duration")
        ),
    )


def _at(value: object) -> float:
    found = _number(value)
    return found if found is not None else texts.time(str(value), "time").timestamp()


def _number(value: object) -> float | None:
    try:
        return float(cast("Any", value))
    except (TypeError, ValueError):
        return None


def _labels(value: object) -> dict[str, str]:
    if not value:
        return {}
    if isinstance(value, dict):
        return {str(k): str(v) for k, v in cast("dict[Any, Any]", value).items()}
    pairs = (pair.partition("=") for pair in str(value).split(";") if pair)
    return {key.strip(): text.strip() for key, _, text in pairs}
