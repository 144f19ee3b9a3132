import json

import pytest
import yaml
from tests.unit.daiku_cli.reading import node_pool, workload
from typer.testing import CliRunner, Result

from daiku.cli.main import app


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
