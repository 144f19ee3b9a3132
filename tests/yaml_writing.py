"""YAML as people write it: every style, comments, anchors, other line ends; with a record of what was written.

A generator of files must know what is in them without reading them back, or a reader's mistake would hide its own.
"""

import json
import random
import re
from dataclasses import dataclass, field
from typing import Any, cast

WORDS = (
    *("see https://example.com/#anchor", "it's \"quoted\"", "a: b", "NOTE(me): - [ ] later", "# twice"),
    *("日本語の注釈", "naïve café ☕", "{not: flow}", "100% & *star*", "|", "---", "\ttab"),
)  # fmt: skip
"""What comments say."""
_PLAIN = re.compile(r"[A-Za-z_/][A-Za-z0-9_./@-]*(?:[:=,][A-Za-z0-9_./@-]+)*")
_TAKEN = frozenset({"y", "n", "yes", "no", "on", "off", "true", "false", "null", "none"})
_FLOW_MAX = 60


class Raw(str):
    """A scalar that is written letter by letter."""

    __slots__ = ()


@dataclass(frozen=True)
class Named:
    """A value with an anchor."""

    anchor: str
    value: Any


@dataclass(frozen=True)
class Same:
    """An alias; as the value of `<<` a merge."""

    anchor: str


@dataclass(slots=True)
class Writer:
    """Writes documents in one random style."""

    rng: random.Random
    comments: list[str] = field(default_factory=list[str])
    """Those that were written, from their mark on."""
    indent: int = 2
    list_indent: int = 0
    commented: float = 0.0
    """Share of lines with a comment."""
    flowing: float = 0.0
    """Share of small collections in one line."""

    @classmethod
    def drawn(cls, rng: random.Random) -> "Writer":
        """A writer of some style."""
        return cls(
            rng,
            indent=rng.choice([2, 2, 4]),
            list_indent=rng.choice([0, 2]),
            commented=rng.choice([0.0, 0.1, 0.3]),
            flowing=rng.choice([0.0, 0.2, 0.6]),
        )

    def document(self, value: Any) -> str:
        """One document, without the mark before it."""
        return "\n".join(self._block(value)) + "\n"

    def comment(self) -> str:
        """A comment of which there is no second."""
        text = f"# c{len(self.comments)} {self.rng.choice(WORDS)}"
        self.comments.append(text)
        return text

    def _block(self, value: Any) -> list[str]:
        if isinstance(value, dict):
            return [
                line for k, v in cast("dict[str, Any]", value).items() for line in self._entry(k, v)
            ]
        found: list[str] = []
        for each in cast("list[Any]", value):
            found += self._above()
            if isinstance(each, dict | list) and each and not self._flows(each):
                first, *rest = self._block(each)
                if first.startswith("#"):
                    # A comment alone cannot begin an item.
                    found += ["-", f"  {first}"]
                else:
                    found.append(f"- {first}")
                found += [f"  {line}" if line else "" for line in rest]
            else:
                found.append(f"- {self._inline(each)}{self._beside()}")
        return found

    def _entry(self, key: str, value: Any) -> list[str]:
        head = f"{self._text(key) if key != '<<' else key}:"
        before = self._above()
        if isinstance(value, Named):
            head, value = f"{head} &{value.anchor}", value.value
        if isinstance(value, str) and not isinstance(value, Raw) and "\n" in value:
            return [*before, *self._multi_line(head, value)]
        if isinstance(value, dict | list) and value and not self._flows(value):
            step = self.list_indent if isinstance(value, list) else self.indent
            inner = self._block(value)
            return [
                *before,
                f"{head}{self._beside()}",
                *(f"{' ' * step}{line}" if line else "" for line in inner),
            ]
        return [*before, f"{head} {self._inline(value)}{self._beside()}".rstrip()]

    def _multi_line(self, head: str, value: str) -> list[str]:
        if value.startswith((" ", "\n")) or value.endswith("\n\n") or "\t" in value:
            return [f"{head} {json.dumps(value, ensure_ascii=False)}"]
        mark = "|" if value.endswith("\n") else "|-"
        lines = value.removesuffix("\n").split("\n")
        return [
            f"{head} {mark}{self._beside()}",
            *(f"{' ' * self.indent}{line}" if line else "" for line in lines),
        ]

    def _flows(self, value: Any) -> bool:
        if _has_names(value):
            return False
        return (
            len(str(value)) < _FLOW_MAX
            and "\n" not in str(value)
            and self.rng.random() < self.flowing
        )

    def _inline(self, value: Any) -> str:
        if isinstance(value, Same):
            return f"*{value.anchor}"
        if isinstance(value, dict):
            pairs = cast("dict[str, Any]", value).items()
            return "{" + ", ".join(f"{self._text(k)}: {self._inline(v)}" for k, v in pairs) + "}"
        if isinstance(value, list):
            return "[" + ", ".join(map(self._inline, cast("list[Any]", value))) + "]"
        if isinstance(value, Raw):
            return str(value)
        if isinstance(value, str):
            return self._text(value)
        if value is None:
            return self.rng.choice(["null", "~"])
        return json.dumps(value)

    def _text(self, text: str) -> str:
        forms = [json.dumps(text, ensure_ascii=False)]
        if text.isprintable():
            forms.append("'" + text.replace("'", "''") + "'")
        if _PLAIN.fullmatch(text) and text.lower() not in _TAKEN and "," not in text:
            forms += [text] * 6
        return self.rng.choice(forms)

    def _above(self) -> list[str]:
        if self.rng.random() < self.commented / 2:
            return [*([""] if self.rng.random() < 0.3 else []), self.comment()]
        return []

    def _beside(self) -> str:
        return f"  {self.comment()}" if self.rng.random() < self.commented else ""


def _has_names(value: Any) -> bool:
    if isinstance(value, dict):
        return any(_has_names(v) or k == "<<" for k, v in cast("dict[str, Any]", value).items())
    if isinstance(value, list):
        return any(map(_has_names, cast("list[Any]", value)))
    return isinstance(value, Named)
