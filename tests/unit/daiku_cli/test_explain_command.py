import json
from dataclasses import replace

import pytest
import yaml
from tests import build
from tests.unit.daiku_cli.reading import node_pool, workload
from typer.testing import CliRunner, Result

from daiku.api.decisions import Decisions, KeptNode
from daiku.cli import capture, leader
from daiku.cli.capture import Snapshot
from daiku.cli.leader import Word
from daiku.cli.main import app
from daiku.runtime import clock


def explain(*arguments: str, **environ: str) -> Result:
    given = yaml.safe_dump_all([workload(replicas=2), node_pool()])
    return CliRunner().invoke(app, ["explain", *arguments], input=given, env=environ)


def test_json_has_exactly_the_keys_that_programs_rely_on() -> None:
    result = explain("nodepool", "default", "--from", "-", "--format", "json")

    assert list(json.loads(result.stdout)) == [
        "schemaVersion",
        "title",
        "facts",
        "reasons",
        "remedies",
        "source",
        "ageSeconds",
        "whyNotController",
    ]


GUARD = {"karpenter.sh/do-not-disrupt": "true"}
UNREAD = Snapshot(content=b"", notes=(), summary="", why_no_types="no credentials")


def live(monkeypatch: pytest.MonkeyPatch, word: Word, *arguments: str) -> Result:
    """On a cluster on EC2 whose instance types cannot be read, with a controller that says so much."""
    labels = {"karpenter.sh/nodepool": "default"}
    claim = {
        "apiVersion": "karpenter.sh/v1",
        "kind": "NodeClaim",
        "metadata": {"name": "default-a", "labels": labels},
        "spec": {"nodeClassRef": {"group": "karpenter.k8s.aws", "kind": "EC2NodeClass", "name": "default"}},
        "status": {
            "providerID": "aws:///a/i-1",
            "nodeName": "ip-1",
            "conditions": [{"type": t, "status": "True"} for t in ("Launched", "Registered", "Initialized")],
        },
    }  # fmt: skip
    made = {**labels, "karpenter.sh/registered": "true", "karpenter.sh/initialized": "true"}
    node = {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": "ip-1", "labels": made, "annotations": GUARD},
        "spec": {"providerID": "aws:///a/i-1"},
    }
    node_class = {
        "apiVersion": "karpenter.k8s.aws/v1",
        "kind": "EC2NodeClass",
        "metadata": {"name": "default"},
        "spec": {"amiSelectorTerms": [{"alias": "al2023@latest"}], "role": "r"},
    }
    items = [claim, node, node_pool(kind="EC2NodeClass"), node_class]
    content = json.dumps({"apiVersion": "v1", "kind": "List", "items": items}).encode()
    monkeypatch.setattr(capture, "take", lambda *_: replace(UNREAD, content=content))
    monkeypatch.setattr(leader, "ask_here", lambda *_: word)
    return CliRunner().invoke(app, ["explain", *arguments])


def test_the_controllers_word_needs_no_credentials_of_the_cloud(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    kept = KeptNode(
        node_claim="default-a",
        node="ip-1",
        node_pool="default",
        reason="DoNotDisrupt",
        message="its node says so",
        decided=build.NOW,
    )
    said = Decisions(
        version="1", identity="x", leading=True, now=build.NOW, at=build.NOW, kept=(kept,)
    )
    word = Word(decisions=said, heard=clock.monotonic())

    result = live(monkeypatch, word, "node", "ip-1")

    assert result.exit_code == 0, result.output
    assert "Node ip-1 is still here: DoNotDisrupt." in result.stdout
    assert "from the controller, " in result.stdout
    assert "unknown" in result.stdout


def test_nothing_is_decided_here_without_knowing_what_can_be_bought(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    result = live(monkeypatch, Word(why="nobody leads"), "node", "ip-1")

    assert result.exit_code == 2
    assert "cannot be read: no credentials. Or give it with --instance-types" in result.stderr
    assert "The controller's own word is not to be had: nobody leads" in result.stderr
    assert "is still here" not in result.output


def test_text_is_a_sentence_and_what_belongs_to_it() -> None:
    result = explain("nodepool", "default", "--from", "-")

    assert result.stdout.splitlines()[0] == "NodePool default is ready."
    assert "2 pods" in result.stdout


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("pod", "nowhere", "--from", "-"), "there is no pod default/nowhere among 2"),
        (("pod", "shop/nowhere", "--from", "-"), "there is no pod shop/nowhere"),
        (("node", "x", "--from", "/nowhere.json"), "/nowhere.json: No such file"),
        (("reason", "Buget"), "there is no reason Buget"),
        (("node", "x"), "KUBECONFIG=/nowhere does not lead to an API server"),
    ],
)
def test_what_cannot_be_explained_is_one_message(arguments: tuple[str, ...], message: str) -> None:
    result = explain(*arguments, KUBECONFIG="/nowhere")

    assert result.exit_code == 2
    assert message in result.stderr
    assert "Traceback" not in result.output


def test_a_reason_is_explained_without_a_cluster() -> None:
    result = explain("reason", "noplace", KUBECONFIG="/nowhere")

    assert result.exit_code == 0
    assert result.stdout.startswith("NoPlace: some of its pods would have no place.")
    assert "What would change it" in result.stdout
