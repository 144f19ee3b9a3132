"""Manifests as trees that remember their comments.

A comment hangs on the key that it follows. A key that moves takes its comments along; what is lost on the way is found
by comparing texts (`pieces.comments`), so no comment depends on that.

Aliases and merge keys are written out when a document is read: what two places share, a change of one would change in
the other.
"""

# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false
# pyright: reportUnknownParameterType=false, reportMissingTypeArgument=false
# ruamel.yaml's containers are of anything; this module is where that is said once.

import io
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final

import yaml
from ruamel.yaml import YAML
from ruamel.yaml.anchor import Anchor
from ruamel.yaml.comments import CommentedMap, CommentedSeq, TaggedScalar
from ruamel.yaml.error import YAMLError
from ruamel.yaml.scalarstring import SingleQuotedScalarString
from ruamel.yaml.tag import Tag

from daiku.cli.converting import pieces

WIDTH: Final = 4096
"""Columns at which lines would be wrapped: not at all."""
VALUES_MAX: Final = 300_000
"""Values of one document with its aliases written out; the largest CustomResourceDefinitions have 50,000."""
_RESOLVER: Final = yaml.resolver.Resolver()
_LETTERS: Final = frozenset("yYnN")
"""Booleans of YAML 1.1 that not every reader takes for such."""

if TYPE_CHECKING:

    class Tree(dict[str, Any]):
        """A mapping of a manifest."""

        ca: Any
        fa: Any

        def insert(self, position: int, key: str, value: Any) -> None:
            """Put a key at a position."""
else:
    Tree = CommentedMap


class UnreadableError(Exception):
    """A file is no YAML; the message says where."""


class MisshapenError(Exception):
    """A field holds something else than its kind has there; the message says which."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Document:
    """One document of a file."""

    value: Any
    """What it says; never None."""
    text: str
    """As it was read, without the mark before it; empty when it is to be written anew."""
    comments: tuple[str, ...] = ()


def read(source: str, content: bytes) -> list[Document]:
    """The documents of a file, empty ones left out.

    Raises:
        UnreadableError: It is no YAML.
    """
    number = 0
    try:
        text = pieces.decoded(content)
        plain = pieces.of_json(text)
        if plain is not None:
            return [Document(value=of_plain(plain), text="")]
        found: list[Document] = []
        kept = ""
        for each in pieces.split(text):
            number += 1
            whole, kept = kept + each, ""
            value = _load(each)
            if value is not None:
                made = _document(value, whole)
                found.append(made if _can_end(each, value) else replace(made, text=""))
            elif pieces.comments(whole):
                # A document of comments alone stands for itself before the next one.
                kept = whole if whole.endswith("\n") else whole + "\n"
        if kept and found:
            last = found.pop()
            found.append(_document(last.value, _ended(last.text) + kept))
    except (UnicodeDecodeError, RecursionError, ValueError, YAMLError) as error:
        where = f"{source}, document {number}" if number else source
        raise UnreadableError(f"{where}: {_said(error)}{_remedy(content)}") from error
    return found


def write(texts: Iterable[Any]) -> str:
    """Objects, or their texts, as documents of one text."""
    return f"{pieces.MARK}\n".join(
        _ended(each if isinstance(each, str) else dump(each)) for each in texts
    )


def dump(value: Any) -> str:
    """One value as a document, with as many of its comments as its place allows."""
    for form in (value, _bare(value)):
        written = io.StringIO()
        try:
            _yaml().dump(form, written)
            text = written.getvalue().removesuffix("...\n")
            if plain(_yaml().load(text)) == plain(value):
                return text
        except (YAMLError, ValueError, TypeError, AttributeError, IndexError, AssertionError):
            # A comment in a place where the library cannot write it.
            continue
    raise MisshapenError("it cannot be written as YAML again")


def make(**fields: Any) -> Tree:
    """A mapping of what is not None, in this order."""
    return Tree((_text(key), _text(each)) for key, each in fields.items() if each is not None)


def listed(*items: Any) -> list[Any]:
    """A list that can hold comments."""
    return CommentedSeq(items)


def of_plain(value: Any) -> Any:
    """A value of JSON as a tree."""
    if isinstance(value, dict):
        return Tree((_text(key), of_plain(each)) for key, each in value.items())
    return listed(*map(of_plain, value)) if isinstance(value, list) else _text(value)


def _text(value: Any) -> Any:
    """A text in quotes if it would be something else without; any other value as it is.

    The library quotes what YAML 1.2 reads as something else. kubectl reads YAML 1.1, where yes and on are booleans.
    """
    if type(value) is not str:
        return value
    tag = _RESOLVER.resolve(yaml.ScalarNode, value, (True, False))
    is_text = tag.endswith(":str") and value not in _LETTERS
    return value if is_text else SingleQuotedScalarString(value)


def plain(value: Any) -> Any:
    """What a tree says, to compare: without comments, styles and order of keys."""
    if isinstance(value, dict):
        return {str(key): plain(each) for key, each in value.items()}
    if isinstance(value, list):
        return [plain(each) for each in value]
    if isinstance(value, TaggedScalar):
        return f"{value.tag} {value.value}"
    for kind in (bool, int, float, str):
        if isinstance(value, kind):
            return kind.__name__, repr(kind(value))
    return type(value).__name__, str(value)


def move(source: Tree, key: str, target: Tree, to: str = "") -> bool:
    """Take a key with its comments from one mapping to another; whether it was there."""
    if key not in source:
        return False
    put(target, to or key, source.pop(key))
    if key in source.ca.items:
        target.ca.items[to or key] = source.ca.items.pop(key)
    return True


def put(tree: Tree, key: str, value: Any) -> None:
    """Add a key; a mapping that was written in one line becomes one of several."""
    tree[key] = value
    if tree.fa.flow_style():
        tree.fa.set_block_style()


def rename(tree: Tree, old: str, new: str) -> None:
    """Give a key another name, in its place and with its comments."""
    position = list(tree).index(old)
    held = tree.ca.items.pop(old, None)
    tree.insert(position, new, tree.pop(old))
    if held is not None:
        tree.ca.items[new] = held


def child(tree: Tree, key: str) -> Tree:
    """The mapping at `key`, made if there is none.

    Raises:
        MisshapenError: There is something else.
    """
    found = tree.get(key)
    if found is None:
        found = tree[key] = Tree()
    if not isinstance(found, Tree):
        raise MisshapenError(f"{key} is {str(found)[:40]!r} and no mapping")
    return found


def at(value: Any, *path: str) -> Tree | None:
    """The mapping at a path, or None; nothing is made."""
    for key in path:
        value = value.get(key) if isinstance(value, Tree) else None
    return value if isinstance(value, Tree) else None


def reach(value: Tree, *path: str) -> Tree | None:
    """The mapping at a path, or None where the path ends before it.

    Raises:
        MisshapenError: There is something else on the path.
    """
    for key in path:
        if value.get(key) is None:
            return None
        value = child(value, key)
    return value


def items(tree: Tree, key: str) -> Sequence[Tree]:
    """The mappings of the list at `key`.

    Raises:
        MisshapenError: There is something else.
    """
    found = tree.get(key)
    if found is None:
        return ()
    if not (isinstance(found, list) and all(isinstance(each, Tree) for each in found)):
        raise MisshapenError(f"{key} is {str(found)[:40]!r} and no list of mappings")
    return found


def named(value: Any) -> str:
    """The name of an object; empty when it has none."""
    metadata = at(value, "metadata")
    return str(metadata.get("name") or "") if metadata is not None else ""


def copied(value: Any) -> Any:
    """A tree of its own, comments and all."""
    return _expanded(value, [VALUES_MAX])


def _document(value: Any, text: str) -> Document:
    return Document(value=value, text=text, comments=tuple(pieces.comments(text)))


def _can_end(text: str, value: Any) -> bool:
    """Whether a text means the same with a line end after it: not if it ends within a block that has none yet."""
    is_ended = text.endswith("\n") or not ("|" in text or ">" in text)
    return is_ended or plain(_load(text + "\n")) == plain(value)


def _load(text: str) -> Any:
    value = _yaml().load(text)
    # Only what names something can share it.
    return _expanded(value, [VALUES_MAX]) if "&" in text else value


def _expanded(value: Any, room: list[int]) -> Any:
    """A value with aliases and merge keys written out."""
    room[0] -= 1
    if room[0] < 0:
        raise ValueError(f"has more than {VALUES_MAX} values when its aliases are written out")
    if type(value) not in {CommentedMap, CommentedSeq}:
        if hasattr(value, Anchor.attrib):
            # A scalar of the library: the name that it was given goes.
            delattr(value, Anchor.attrib)
        return value
    made: Any
    if isinstance(value, CommentedMap):
        made = Tree((key, _expanded(each, room)) for key, each in value.items())
    else:
        made = CommentedSeq([_expanded(each, room) for each in value])
    made.ca.comment = value.ca.comment
    made.ca.end = list(value.ca.end)
    made.ca.items.update({key: list(held) for key, held in value.ca.items.items() if key != "<<"})
    if value.fa.flow_style():
        made.fa.set_flow_style()
    if hasattr(value, Tag.attrib):
        setattr(made, Tag.attrib, getattr(value, Tag.attrib))
    return made


def _bare(value: Any) -> Any:
    """A tree without comments."""
    if type(value) is CommentedMap:
        made = Tree((key, _bare(each)) for key, each in value.items())
    elif type(value) is CommentedSeq:
        made = listed(*map(_bare, value))
    else:
        return value
    if hasattr(value, Tag.attrib):
        setattr(made, Tag.attrib, getattr(value, Tag.attrib))
    return made


def _yaml() -> YAML:
    made = YAML(typ="rt")
    made.preserve_quotes = True
    made.width = WIDTH
    made.indent(mapping=2, sequence=4, offset=2)
    return made


def _ended(text: str) -> str:
    return text if text.endswith("\n") else text + "\n"


def _said(error: Exception) -> str:
    return pieces.said(error) if not isinstance(error, RecursionError) else "is nested too deep"


def _remedy(content: bytes) -> str:
    if b"{{" not in content:
        return ""
    return "; it looks like a template of Helm: give what `helm template` makes of its chart"
