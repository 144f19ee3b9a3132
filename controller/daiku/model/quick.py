"""Frozen dataclasses of which there are a hundred thousand, or one in every tick, made in half the time.

The problem: the `__init__` of a frozen dataclass sets each field through `object.__setattr__`, so that a pod takes
2.4 µs: half a second for 100,000 pods with their metadata, each time they are listed. The idea: while it is being made
a value is of a twin class with the same slots that is not frozen, whose fields are set as those of any object.
"""

from dataclasses import MISSING, Field, fields
from typing import Any, Final, TypeVar

_T = TypeVar("_T")
_GIVEN_BY_FACTORY: Final = object()


def made(kind: type[_T]) -> type[_T]:
    """The same dataclass with an `__init__` that does the same sooner.

    Args:
        kind: A dataclass that is frozen, has slots, takes its fields by keyword, and is nobody's child.
    """
    found: tuple[Field[Any], ...] = fields(kind)  # pyright: ignore[reportArgumentType]
    twin = type(f"{kind.__name__}InTheMaking", (), {"__slots__": tuple(f.name for f in found)})
    # No field begins with an underscore and is given to `__init__`.
    known: dict[str, object] = {
        "_become": object.__setattr__,
        "_twin": twin,
        "_kind": kind,
        "_missing": _GIVEN_BY_FACTORY,
    }
    arguments: list[str] = []
    lines: list[str] = []
    for each in found:
        name, value = each.name, each.name
        argument = name
        if each.default is not MISSING:
            known[f"_default_{name}"] = each.default
            argument = f"{name}=_default_{name}"
        elif each.default_factory is not MISSING:
            known[f"_factory_{name}"] = each.default_factory
            argument = f"{name}=_missing"
            value = f"_factory_{name}() if {name} is _missing else {name}"
        arguments.append(argument)
        lines.append(f"    self.{name} = {value}")
    source = "\n".join(
        [
            f"def __init__(self, *, {', '.join(arguments)}):",
            "    _become(self, '__class__', _twin)",
            *lines,
            "    self.__class__ = _kind",
        ]
    )
    exec(source, known)  # noqa: S102  (as `dataclass` does: the names are those of the class itself)
    made_by: Any = known["__init__"]
    made_by.__annotations__ = kind.__init__.__annotations__
    kind.__init__ = made_by
    return kind
