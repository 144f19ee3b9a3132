"""A set of manifests, brought to v1 together, because kubelet settings move between objects.

What nothing changes is written as it was read. What is written anew keeps its comments: those that have lost their
place stand above the object.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from daiku.cli.converting import alpha, beta, keys, pieces, settings
from daiku.cli.converting.tree import (
    Document,
    MisshapenError,
    Tree,
    at,
    copied,
    dump,
    make,
    named,
    plain,
)

POOLS: Final = "karpenter.sh"
CLASSES: Final = "karpenter.k8s.aws"
MADE_BY_CONTROLLER: Final = frozenset({"Machine", "NodeClaim"})
READ: Final = {
    (POOLS, "Provisioner"): ("v1alpha5",),
    (POOLS, "Machine"): ("v1alpha5",),
    (POOLS, "NodePool"): ("v1beta1", "v1"),
    (POOLS, "NodeClaim"): ("v1beta1", "v1"),
    (CLASSES, "AWSNodeTemplate"): ("v1alpha1",),
    (CLASSES, "EC2NodeClass"): ("v1beta1", "v1"),
}
"""Group and kind -> the versions that are brought to v1."""
BEFORE: Final = ("provisioning.karpenter.sh", "autoscaling.karpenter.sh")
"""API groups that ended before v1alpha5, and have no successor that their objects could be brought to."""
LIST_FIELDS: Final = frozenset({"apiVersion", "kind", "metadata", "items"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Converted:
    """Manifests of v1."""

    objects: tuple[str, ...]
    """The text of each."""
    notes: tuple[str, ...]
    """What means something else than before, was made up, or was left out; one line each."""


@dataclass(slots=True)
class _Source:
    """A document, and what became of it."""

    document: Document
    objects: list[Any]
    """What it holds: itself, or the objects of the list that it is."""
    before: Any
    """What it said."""
    values: list[Any] = field(default_factory=list[Any])
    """What its objects became."""
    texts: list[str] = field(default_factory=list[str])

    @property
    def is_as_before(self) -> bool:
        """Nothing changed that its text says."""
        if not self.document.text or len(self.values) != len(self.objects):
            return False
        same = all(new is old for new, old in zip(self.values, self.objects, strict=True))
        return same and plain(self.document.value) == self.before


def convert(documents: Sequence[Document], node_role: str) -> Converted:
    """Bring manifests to v1.

    Args:
        documents: As `tree.read` gives them.
        node_role: IAM role for node classes that name none; empty: none is known.
    """
    notes: list[str] = []
    sources = [_source(each) for each in documents]
    for source in sources:
        source.values = [v for each in source.objects for v in _one(each, notes, node_role)]
    made = beta.settle_kubelets([v for source in sources for v in source.values], notes)
    for source in sources:
        source.texts = _texts(source, notes)
    _keep_comments(sources)
    texts = [*(text for source in sources for text in source.texts), *map(dump, made)]
    return Converted(objects=tuple(texts), notes=tuple(dict.fromkeys(notes)))


def _source(document: Document) -> _Source:
    objects = _objects(document.value)
    return _Source(document, objects, plain(document.value))


def _objects(value: Any) -> list[Any]:
    """The objects of a list, of lists in it too; else the value itself."""
    items = _items(value)
    return [value] if items is None else [found for each in items for found in _objects(each)]


def _items(value: Any) -> list[Tree] | None:
    """The objects of a list of Kubernetes; None: it is none.

    A kind of somebody's own may end in List too, and have items: its objects have names, which lists have not.
    """
    if not isinstance(value, Tree):
        return None
    kind, items = value.get("kind"), value.get("items")
    if not (isinstance(kind, str) and kind.endswith("List") and isinstance(items, list)):
        return None
    if named(value) or any(key not in LIST_FIELDS for key in value):
        return None
    found: list[Tree] = []
    for each in items:  # pyright: ignore[reportUnknownVariableType]
        if not isinstance(each, Tree):
            return None
        promised = kind.removesuffix("List")
        if promised and each.get("kind", promised) != promised:
            return None
        found.append(each)
    if kind != "List":
        for each in found:
            # Lists of one kind leave out what they promise.
            for number, key in enumerate(("apiVersion", "kind")):
                if key not in each:
                    each.insert(number, key, (value.get("apiVersion"), kind[:-4])[number])
    return found


def _one(value: Any, notes: list[str], node_role: str) -> list[Any]:
    """One object as v1, after what it needs beside; what cannot be converted stays as it is."""
    if not isinstance(value, Tree):
        notes.append(f"a document that is no object stays as it is: {str(value)[:40]!r}")
        return [value]
    made: list[Tree] = []
    said: list[str] = []
    group, kind = str(value.get("apiVersion", "")).partition("/")[0], value.get("kind")
    original = copied(value) if (group, str(kind)) in READ else make()
    try:
        new = _converted(value, said, made, node_role)
    except MisshapenError as error:
        notes.append(f"{_where(original)}: {error}; it stays as it is")
        value.clear()
        value.update(original)
        return [value]
    notes += said
    return [*made, *([new] if new is not None else [])]


def _converted(value: Tree, notes: list[str], made: list[Tree], node_role: str) -> Tree | None:
    """An object as v1; None: it is left out. `made` takes what it needs beside."""
    kind, version = str(value.get("kind", "")), str(value.get("apiVersion", ""))
    group, _, name = version.rpartition("/")
    where = _where(value)
    keys.rename(value, where, notes)
    if group in BEFORE or name not in READ.get((group, kind), (name,)):
        notes.append(
            f"{where}: is of {version}, which is not converted; it stays as it is. Bring it to "
            "karpenter.sh/v1alpha5 or newer by hand, or leave it out"
        )
        return value
    if settings.is_settings(value):
        notes += settings.notes(value)
        return None
    if (group, kind) not in READ:
        return value
    if name != "v1" or "uid" in (at(value, "metadata") or ()):
        keys.as_manifest(value)
    if kind in MADE_BY_CONTROLLER:
        notes.append(f"{where}: belongs to the controller, which makes its own; left out")
        return None
    beside: list[Tree] = []
    if kind == "Provisioner":
        value = alpha.node_pool(value, notes, beside)
    elif kind == "AWSNodeTemplate":
        value = alpha.node_class(value, notes)
    made += [beta.node_class(other, notes, node_role) for other in beside]
    if value.get("apiVersion") == alpha.POOL_BETA:
        return beta.node_pool(value, notes)
    if value.get("apiVersion") == alpha.CLASS_BETA:
        return beta.node_class(value, notes, node_role)
    return value


def _where(value: Tree) -> str:
    return f"{value.get('kind', '')} {named(value)}".strip()


def _texts(source: _Source, notes: list[str]) -> list[str]:
    """What is written for a document."""
    if source.is_as_before:
        return [source.document.text]
    try:
        return [dump(each) for each in source.values]
    except MisshapenError as error:
        notes.append(f"{_where(source.document.value)}: {error}; it stays as it is")
        return [source.document.text]


def _keep_comments(sources: Sequence[_Source]) -> None:
    """Put comments that lost their place above the object, or the first of the objects, of their document."""
    written = [
        Counter(line for text in source.texts for line in pieces.comments(text))
        for source in sources
    ]
    wanted = [Counter(source.document.comments) for source in sources]
    # Comments go along with settings that go to another document.
    elsewhere: Counter[str] = Counter()
    for has, wants in zip(written, wanted, strict=True):
        elsewhere += has - wants
    for source, has, wants in zip(sources, written, wanted, strict=True):
        if not source.texts:
            continue
        lost = wants - has
        moved = lost & elsewhere
        elsewhere -= moved
        lost -= moved
        lines: list[str] = []
        for line in source.document.comments:
            if lost[line]:
                lost[line] -= 1
                lines.append(line)
        # Of a list the first object; else the last, because what is made beside an object stands before it.
        index = 0 if len(source.objects) > 1 else -1
        source.texts[index] = _below_head(source.texts[index], lines)


def _below_head(text: str, lines: Sequence[str]) -> str:
    """The text with comments after those that it begins with."""
    own = text.splitlines(keepends=True)
    start = next((n for n, line in enumerate(own) if not line.startswith("#")), len(own))
    return "".join([*own[:start], *(f"{line}\n" for line in lines), *own[start:]])
