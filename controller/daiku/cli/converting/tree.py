"""Manifests as trees that remember their comments.

A comment hangs on the key that it follows. A key that moves takes its comments along; those of keys that are given up
are gathered and put at the head of the object, so that no comment is ever lost.
"""

# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false
# pyright: reportUnknownParameterType=false, reportMissingTypeArgument=false
# ruamel.yaml's containers are of anything; this module is where that is said once.

import io
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any, Final

from ruamel.yaml import YAML
from ruamel.yaml.comments import CommentedMap, CommentedSeq
from ruamel.yaml.error import YAMLError

WIDTH: Final = 4096
"""Columns at which lines would be wrapped: not at all."""

if TYPE_CHECKING:

    class Tree(dict[str, Any]):
        """A mapping of a manifest."""

        ca: Any

        def yaml_set_start_comment(self, comment: str) -> None:
            """Write lines above it."""
else:
    Tree = CommentedMap


class UnreadableError(Exception):
    """A file is no YAML; the message says where."""


def read(source: str, content: bytes) -> list[Any]:
    """The documents of a file, empty ones left out.

    Raises:
        UnreadableError: It is no YAML.
    """
    try:
        return [each for each in _yaml().load_all(content.decode()) if each is not None]
    except (YAMLError, UnicodeDecodeError, ValueError, RecursionError) as error:
        raise UnreadableError(f"{source}: {' '.join(str(error).split())}") from error


def write(objects: Iterable[Tree]) -> str:
    """Objects as documents of one text."""
    texts: list[str] = []
    for each in objects:
        written = io.StringIO()
        _yaml().dump(each, written)
        texts.append(written.getvalue().rstrip("\n") + "\n")
    return "---\n".join(texts)


def make(**fields: Any) -> Tree:
    """A mapping of what is not None, in this order."""
    return Tree((key, value) for key, value in fields.items() if value is not None)


def listed(*items: Any) -> list[Any]:
    """A list that can hold comments."""
    return CommentedSeq(items)


def move(source: Tree, key: str, target: Tree, to: str = "") -> bool:
    """Take a key with its comments from one mapping to another; whether it was there."""
    if key not in source:
        return False
    target[to or key] = source.pop(key)
    if key in source.ca.items:
        target.ca.items[to or key] = source.ca.items.pop(key)
    return True


def child(tree: Tree, key: str) -> Tree:
    """The mapping at `key`, made if there is none."""
    found = tree.get(key)
    if not isinstance(found, Tree):
        found = Tree()
        tree[key] = found
    return found


def comments(tree: Any) -> list[str]:
    """Every comment in a tree, without its mark, in no particular order."""
    return [line for token in _tokens(tree) for line in _lines(token)]


def head(tree: Tree, lines: Iterable[str]) -> None:
    """Write comments above an object."""
    text = "\n".join(lines)
    if text:
        above = tree.ca.comment[1] if tree.ca.comment and tree.ca.comment[1] else []
        known = [line for token in above for line in _lines(token)]
        tree.yaml_set_start_comment("\n".join([*known, text]))


def _yaml() -> YAML:
    yaml = YAML(typ="rt")
    yaml.preserve_quotes = True
    yaml.width = WIDTH
    yaml.indent(mapping=2, sequence=4, offset=2)
    return yaml


def _tokens(tree: Any) -> Iterator[Any]:
    """Comment tokens of a container and of what is in it."""
    if isinstance(tree, Tree | CommentedSeq):
        yield from _flat(tree.ca.comment)
        yield from _flat(tree.ca.end)
        for held in tree.ca.items.values():
            yield from _flat(held)
        for each in tree.values() if isinstance(tree, Tree) else tree:
            yield from _tokens(each)


def _flat(held: Any) -> Iterator[Any]:
    if isinstance(held, list):
        for each in held:
            yield from _flat(each)
    elif held is not None:
        yield held


def _lines(token: Any) -> list[str]:
    lines = (line.strip() for line in str(token.value).splitlines())
    return [line.lstrip("#").strip() for line in lines if line.startswith("#")]
