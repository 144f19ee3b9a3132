"""Reads a nested configuration, and collects every mistake in it instead of stopping at the first.

A `Section` hands out the values of one mapping by key. What is asked for is what is known: whatever
else the mapping holds is an unknown key, and the nearest known one is named. A value that is wrong is
noted and replaced by its default, so that reading goes on. No Pulumi in here.
"""

import difflib
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar, cast

T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True)
class Mistake:
    """One thing that is wrong."""

    key: str
    """Where, such as daiku:systemNodeGroup.size."""
    problem: str
    """What is there, and what may be."""

    def __str__(self) -> str:
        """Write it on one line."""
        return f"{self.key}: {self.problem}"


class Section:
    """One mapping of a configuration."""

    def __init__(self, values: Mapping[str, Any], path: str, mistakes: list[Mistake]) -> None:
        """Read `values`, which lie at `path`, and note what is wrong in `mistakes`."""
        self._values = values
        self._path = path
        self._mistakes = mistakes
        self._known: list[str] = []

    def note(self, key: str, problem: str) -> None:
        """Note a mistake at `key`."""
        self._mistakes.append(Mistake(key=self._at(key), problem=problem))

    def has(self, key: str) -> bool:
        """Whether there is a value; asking makes the key a known one."""
        self._known.append(key)
        return self._values.get(key) is not None

    def text(
        self, key: str, *, default: str | None = None, pattern: str = r".+", example: str
    ) -> str:
        """A text that matches `pattern` as a whole; required without a default."""
        value = self._take(key, required=default is None, example=example)
        if value is None:
            return default or ""
        if isinstance(value, str) and re.fullmatch(pattern, value):
            return value
        self.note(key, f"{value!r} is not what belongs here; write something such as {example}")
        return default or ""

    def whole(self, key: str, *, default: int, low: int, high: int) -> int:
        """A whole number between two bounds, both included."""
        value = self._take(key)
        if value is None:
            return default
        try:
            number = int(value) if isinstance(value, str | int) else None
        except ValueError:
            number = None
        if number is None or isinstance(value, bool) or not low <= number <= high:
            self.note(key, f"{value!r} is not a whole number from {low} to {high}")
            return default
        return number

    def number(self, key: str, *, default: float, low: float, high: float) -> float:
        """A number between two bounds, both included."""
        value = self._take(key)
        if value is None:
            return default
        try:
            number = float(value) if isinstance(value, str | int | float) else None
        except ValueError:
            number = None
        if number is None or isinstance(value, bool) or not low <= number <= high:
            self.note(key, f"{value!r} is not a number from {low:g} to {high:g}")
            return default
        return number

    def wholes(self, key: str, *, low: int, high: int) -> list[int]:
        """A list of whole numbers in bounds."""
        values = self._list(key) or []
        for value in values:
            if isinstance(value, bool) or not isinstance(value, int) or not low <= value <= high:
                self.note(key, f"{value!r} is not a whole number from {low} to {high}")
        return [value for value in values if isinstance(value, int)]

    def flag(self, key: str, *, default: bool) -> bool:
        """True or false."""
        value = self._take(key)
        if value is None:
            return default
        if value is True or value == "true":
            return True
        if value is False or value == "false":
            return False
        self.note(key, f"{value!r} is neither true nor false")
        return default

    def choice(self, key: str, *, default: str, options: Sequence[str]) -> str:
        """One of some words."""
        value = self._take(key)
        if value is None:
            return default
        if value not in options:
            self.note(key, f"{value!r} is none of {', '.join(options)}{_nearest(value, options)}")
            return default
        return cast("str", value)

    def texts(
        self, key: str, *, default: Sequence[str] = (), pattern: str = r".+", example: str
    ) -> list[str]:
        """A list of texts, each matching `pattern` as a whole."""
        values = self._list(key)
        if values is None:
            return list(default)
        for value in values:
            if not (isinstance(value, str) and re.fullmatch(pattern, value)):
                self.note(key, f"{value!r} does not belong here; write a list such as [{example}]")
        return [value for value in values if isinstance(value, str)]

    def labels(self, key: str) -> dict[str, str]:
        """A mapping of texts to texts."""
        values = self.mapping(key)
        for name, value in values.items():
            if not isinstance(value, str):
                self.note(f"{key}.{name}", f"{value!r} is not a text; put it in quotes")
        return {name: str(value) for name, value in values.items()}

    def mapping(self, key: str, *, required: bool = False) -> dict[str, Any]:
        """A mapping that is taken as it is."""
        value = self._take(key, required=required, example="a mapping")
        if value is None:
            return {}
        if not isinstance(value, dict):
            self.note(key, f"{value!r} is not a mapping")
            return {}
        return cast("dict[str, Any]", value)

    def section(self, key: str, read: Callable[["Section"], T]) -> T:
        """Read a mapping by the rules of `read`, as if it were empty when it is absent."""
        return self._read(key, self.mapping(key), read)

    def sections(self, key: str, read: Callable[["Section"], T]) -> list[T] | None:
        """Read a list of mappings, each by the rules of `read`; None if there is no list."""
        values = self._list(key)
        if values is None:
            return None
        found: list[T] = []
        for index, value in enumerate(values):
            place = f"{key}[{index}]"
            if isinstance(value, dict):
                found.append(self._read(place, cast("dict[str, Any]", value), read))
            else:
                self.note(place, f"{value!r} is not a mapping")
        return found

    def note_unknown_keys(self) -> None:
        """Note every key that nobody asked for."""
        for key in self._values:
            if key not in self._known:
                allowed = ", ".join(self._known)
                remedy = _nearest(key, self._known) or f"; known here: {allowed}"
                self.note(key, f"there is no such key{remedy}")

    def _read(self, key: str, values: dict[str, Any], read: Callable[["Section"], T]) -> T:
        inner = Section(values, self._at(key), self._mistakes)
        result = read(inner)
        inner.note_unknown_keys()
        return result

    def _list(self, key: str) -> list[Any] | None:
        value = self._take(key)
        if value is None:
            return None
        if not isinstance(value, list):
            self.note(key, f"{value!r} is not a list")
            return None
        return cast("list[Any]", value)

    def _take(self, key: str, *, required: bool = False, example: str = "") -> Any:
        self._known.append(key)
        value = self._values.get(key)
        if value is None and required:
            self.note(key, f"is missing; write something such as {example}")
        return value

    def _at(self, key: str) -> str:
        return f"{self._path}{'' if self._path.endswith(':') else '.'}{key}"


def _nearest(word: Any, known: Sequence[str]) -> str:
    """Offer the known word that looks most like this one."""
    by_lower = {name.lower(): name for name in known}
    close = difflib.get_close_matches(str(word).lower(), by_lower, n=1, cutoff=0.5)
    return f"; did you mean {by_lower[close[0]]}?" if close else ""
