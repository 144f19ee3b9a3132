"""What `daiku plan` is given, from files to documents: read as far as it goes, with a note for what it stands for.

A folder of a project holds more than manifests: values and templates of charts, patches, settings of other tools. What
is no object of Kubernetes is noted when there are objects beside it. What Helm and Kustomize make of such a folder is
not known here; the note says the command whose output is.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import BinaryIO

from daiku.api import manifests
from daiku.api.manifests import Document, ManifestError
from daiku.cli import files, judging

Step = Callable[[str, int, int], None]
_BRACES = b"{{"
_TAGGED = "the tag '!"
"""Of the message about a tag that is nobody's but the file's own."""


@dataclass(slots=True)
class Intake:
    """What was read."""

    documents: list[list[Document]] = field(default_factory=list[list[Document]])
    """Of each group of paths."""
    problems: list[str] = field(default_factory=list[str])
    notes: list[str] = field(default_factory=list[str])
    foreign: list[str] = field(default_factory=list[str])
    """What is no object of Kubernetes."""
    parts: list[Path] = field(default_factory=list[Path])
    """Folders whose manifests may be patches, which are nothing by themselves."""

    def forgive(self) -> None:
        """Make notes of problems that say no more than that files are for other tools."""
        forgiven = [each for each in self.problems if self._is_of_a_part(each)]
        self.problems[:] = [each for each in self.problems if each not in forgiven]
        self.notes += [f"not planned: {each}" for each in forgiven]
        if self.problems:
            # Whoever looks for a mistake wants to see everything that was odd.
            self.problems[:0] = self.foreign
        else:
            self.notes += [f"not read: {each}" for each in self.foreign]

    def _is_of_a_part(self, problem: str) -> bool:
        place = Path(problem.partition(", document ")[0])
        return any(folder in place.parents for folder in self.parts)


def take(groups: Sequence[Sequence[str]], stdin: BinaryIO, step: Step) -> Intake:
    """The documents of each group of paths.

    Args:
        groups: Files, folders, patterns, or -.
        stdin: Where - reads from.
        step: Is told what is done now, how many steps are behind it, and how many there are.

    Raises:
        ManifestError: Standard input is named twice.
    """
    if [path for paths in groups for path in paths].count(files.STANDARD_INPUT) > 1:
        raise ManifestError(["standard input (-) can be read once; name a file instead"])
    found = Intake()
    for paths in groups:
        found.documents.append(_read(paths, stdin, step, found))
    return found


def _read(paths: Sequence[str], stdin: BinaryIO, step: Step, into: Intake) -> list[Document]:
    def reading(name: str) -> None:
        step(f"reading {name}", 0, 2)

    known, strange = len(into.problems), len(into.foreign)
    contents = files.read(paths, stdin, reading, into.problems)
    names = [name for name, _ in contents if name != "standard input"]
    kustomized, charts = files.kustomized(names), files.charts(names)
    into.parts += kustomized
    into.notes += [
        f"{each} is built by Kustomize, which is not done here: its files are read as they are; "
        f"`kubectl kustomize {each} | daiku plan --from -` plans what it makes of them"
        for each in kustomized
    ]
    found: list[Document] = []
    unread: dict[Path, int] = {}
    for name, content in contents:
        chart = next((each for each in charts if each in Path(name).parents), None)
        if chart is not None and (_BRACES in content or not _is_plain(Path(name), chart)):
            unread[chart] = unread.get(chart, 0) + 1
        else:
            found += _documents(name, content, into)
    into.notes += [
        f"{chart} is a chart of Helm: {count} of its files are templates and values, and not read; "
        f"`helm template {chart} | daiku plan --from -` plans what it makes of them"
        for chart, count in unread.items()
    ]
    if paths and not found and len(into.problems) == known:
        # With nothing else beside it, what is no object is the mistake.
        alone = into.foreign[strange:]
        into.problems += alone or [_nothing(names or ["standard input"], unread, kustomized)]
        del into.foreign[strange:]
    return judging.judged(found, into.problems, into.notes)


def _documents(name: str, content: bytes, into: Intake) -> list[Document]:
    """The objects of one file; a template of Helm outside of a chart is noted."""
    if Path(name).name in files.KUSTOMIZATIONS:
        return []
    wrong: list[str] = []
    found = manifests.read(name, content, wrong, into.foreign)
    if wrong and _BRACES in content:
        into.foreign.append(
            f"{name}: looks like a template of Helm; `helm template CHART | daiku plan --from -` plans what comes of it"
        )
        return found
    for each in wrong:
        # Tags such as !Ref belong to CloudFormation and the like.
        (into.foreign if _TAGGED in each else into.problems).append(each)
    return found


def _is_plain(path: Path, chart: Path) -> bool:
    """Whether a file of a chart is a manifest by itself: of its crds, or a template without anything to fill in."""
    inside = path.relative_to(chart).parts
    return len(inside) > 1 and inside[0] in {"templates", "crds"}


def _nothing(names: Sequence[str], charts: dict[Path, int], kustomized: Sequence[Path]) -> str:
    for chart in charts:
        return f"{chart} is a chart of Helm; give `helm template {chart} | daiku plan --from -`"
    if kustomized:
        return f"{kustomized[0]} is for Kustomize; give `kubectl kustomize {kustomized[0]} | daiku plan --from -`"
    return f"{', '.join(names)}: holds no object; give manifests, a list, or a snapshot"
