"""1,000 manifests as public projects have them through `plan` and `convert`: no traceback, and no silent loss.

They are in about half as many files. 4,000 other files were tried once.
"""

import io
import json
from collections import Counter
from typing import Any

import pytest
from tests import public_manifests
from tests.public_manifests import File

from daiku.api import yaml_values
from daiku.api.manifests import ManifestError
from daiku.cli import planning
from daiku.cli.converting import conversion, pieces, tree

FILES = 480
CHUNK = 60
CHUNKS = [range(first, first + CHUNK) for first in range(0, FILES, CHUNK)]
SEEN = frozenset({"Namespace", "PersistentVolumeClaim", "LimitRange", "NodePool", "EC2NodeClass"})
"""Kinds that a plan takes into account and has nothing to say of."""
OLD = frozenset({"Provisioner", "AWSNodeTemplate", "NodePool", "EC2NodeClass"})


def test_there_are_a_thousand_manifests_of_all_shapes() -> None:
    files = [public_manifests.file(seed) for seed in range(FILES)]

    assert sum(len(each.objects) for each in files) >= 1000
    assert len({kind for each in files for kind, _ in each.objects}) > 35
    assert sum(len(each.comments) for each in files) > 1000
    assert any(each.content.startswith(b"\xef\xbb\xbf") for each in files)
    assert any(b"\r\n" in each.content for each in files)
    assert any(each.is_template for each in files)


def planned(content: bytes) -> planning.Answer | list[str]:
    request = planning.Request(sources=("-",), output="json", built_in_node_pool=True)
    try:
        return planning.answer(request, io.BytesIO(content), lambda *_: None, lambda: 0.0)
    except ManifestError as error:
        return error.problems


def objections_to_plan(file: File) -> list[str]:
    """What is wrong with the answer to one file."""
    found = planned(file.content)
    if isinstance(found, list):
        if not (file.is_old or file.is_template or not file.objects):
            return [f"refused: {found}"]
        return [f"unclear: {line!r}" for line in found if not line.strip() or "\n" in line]
    if file.is_template:
        return (
            []
            if any("template of Helm" in note for note in found.notes)
            else ["a template is not noted"]
        )
    if file.is_old:
        return ["what is old is taken"]
    made = json.loads(found.text)
    pods = [pod for node in made["newNodes"] for pod in node["pods"]]
    pods += [pod for each in made["unschedulable"] for pod in each["pods"]]
    said = "\n".join(found.notes)
    wrong = [f"the audit: {note}" for note in found.notes if note.startswith("audit")]
    for each in file.workloads:
        count = sum(1 for pod in pods if f"{pod}-".startswith(f"{each.key}-"))
        if count != each.pods and f"{each.kind} {each.key}" not in said:
            wrong.append(f"{each.kind} {each.key}: {count} of {each.pods} pods, and no note")
    if len(pods) > sum(max(0, each.pods) for each in file.workloads):
        wrong.append("pods of nobody")
    kinds = {kind for kind, _ in file.objects} - SEEN - {each.kind for each in file.workloads}
    return wrong + [f"no word of {kind}" for kind in sorted(kinds) if f"{kind} " not in said]


@pytest.mark.parametrize("seeds", CHUNKS, ids=str)
def test_a_plan_counts_every_workload_or_names_it(seeds: range) -> None:
    found = [
        (seed, each) for seed in seeds for each in objections_to_plan(public_manifests.file(seed))
    ]

    assert found == []


def converted(content: bytes) -> tuple[str, tuple[str, ...]]:
    found = conversion.convert(tree.read("file", content), "")
    return tree.write(found.objects), found.notes


def objects(content: bytes) -> list[Any]:
    """Every object, those of lists too."""
    left = [each for each in yaml_values.documents(content) if each is not None]
    found: list[Any] = []
    while left:
        each = left.pop(0)
        if each["kind"] == "List":
            left[:0] = each["items"]
        else:
            found.append(each)
    return found


def objections_to_conversion(file: File) -> list[str]:
    """What is wrong with what becomes of one file."""
    try:
        text, notes = converted(file.content)
    except tree.UnreadableError as error:
        return [] if file.is_template and "\n" not in str(error) else [f"refused: {error}"]
    if file.is_template:
        # Some braces are YAML by chance; what they mean nobody knows, so they stay.
        return [f"{name} is lost" for _, name in file.objects if name not in text]
    said = "\n".join(notes)
    before, after = objects(pieces.decoded(file.content).encode()), objects(text.encode())
    wrong = [] if converted(text.encode())[0] == text else ["converted again it is something else"]
    names = Counter(str(each["metadata"]["name"]) for each in after if "metadata" in each)
    wrong += [
        f"{kind} {name} is lost"
        for kind, name in file.objects
        if not names[name] and name not in said
    ]
    wrong += [
        f"{token} is lost" for token in file.tokens if token not in text and token not in said
    ]
    lost = Counter(each.rstrip() for each in file.comments) - Counter(pieces.comments(text))
    wrong += [f"the comment {each!r} is lost" for each in lost]
    for each in before:
        is_old = each["kind"] in OLD or "do-not-evict" in str(each)
        if not is_old and each not in after:
            wrong.append(f"{each['kind']} {each.get('metadata')} is something else")
    return wrong + [
        f"{each['kind']} is of {each['apiVersion']}"
        for each in after
        if each["kind"] in OLD and "1beta1" in each["apiVersion"]
    ]


@pytest.mark.parametrize("seeds", CHUNKS, ids=str)
def test_a_conversion_keeps_every_object_and_comment_or_names_it(seeds: range) -> None:
    found = [
        (seed, each)
        for seed in seeds
        for each in objections_to_conversion(public_manifests.file(seed))
    ]

    assert found == []
