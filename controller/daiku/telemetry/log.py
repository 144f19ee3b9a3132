"""The operator's timeline: one line per command and per change of state, as JSON or, on a terminal, for people.

Field names are the field's: level, time (ISO-8601, UTC), logger, message, commit. Nothing of the core logs.
"""

import logging
import sys
from typing import Any, Final

import structlog

LEVELS: Final = {"debug": logging.DEBUG, "info": logging.INFO, "error": logging.ERROR}


def configure(level: str, *, people: bool | None = None) -> None:
    """Set how lines are written to standard output.

    Args:
        level: debug, info or error.
        people: Whether for people; None: if standard output is a terminal.
    """
    for_people = sys.stdout.isatty() if people is None else people
    shared: list[Any] = [
        structlog.contextvars.merge_contextvars,
        structlog.processors.add_log_level,
        structlog.processors.TimeStamper(fmt="iso", utc=True, key="time"),
        structlog.processors.format_exc_info,
    ]
    if for_people:
        last: list[Any] = [
            structlog.dev.ConsoleRenderer(colors=sys.stdout.isatty(), timestamp_key="time")
        ]
    else:
        last = [
            _named,
            structlog.processors.EventRenamer("message"),
            structlog.processors.JSONRenderer(),
        ]
    structlog.configure(
        processors=[*shared, *last],
        wrapper_class=structlog.make_filtering_bound_logger(LEVELS[level]),
        logger_factory=structlog.WriteLoggerFactory(file=sys.stdout),
        cache_logger_on_first_use=False,
    )
    # Libraries speak up only about what is wrong.
    logging.basicConfig(level=logging.ERROR, format="%(levelname)s %(name)s %(message)s")


def get(name: str) -> Any:
    """A logger; `name` says which part speaks."""
    return structlog.get_logger(part=name)


def _named(_logger: Any, _method: str, event: dict[str, Any]) -> dict[str, Any]:
    """Field names and spelling as log collectors know them from other controllers."""
    return {"level": str(event.pop("level")).upper(), "logger": event.pop("part", ""), **event}
