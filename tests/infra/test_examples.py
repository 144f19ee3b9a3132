"""The examples are programs that run, and words that the package's schema knows."""

import json
import runpy
from typing import Any

import pytest
import yaml
from tests.infra import graph
from tests.infra.conftest import ROOT

from daiku_infra.__main__ import Provider

EXAMPLES = ROOT / "examples"


def run(name: str, config: dict[str, str] | None = None) -> graph.Graph:
    return graph.register(lambda: runpy.run_path(str(EXAMPLES / name / "__main__.py")), config)


def test_the_full_example_is_an_environment_with_pod_identity() -> None:
    made = run("full")

    assert made.one("daiku:index:Environment")
    assert made.one("aws:eks/podIdentityAssociation:PodIdentityAssociation")
    assert made.one("kubernetes:karpenter.sh/v1:NodePool")


def test_the_network_example_makes_no_cluster() -> None:
    made = run("vpc-only")

    assert not made.of("eks:index:Cluster")
    assert len(made.of("aws:ec2/subnet:Subnet")) == 12


def test_the_example_on_an_existing_cluster_makes_only_what_the_autoscaler_needs() -> None:
    made = run("existing-cluster", {"daiku:cluster": "theirs", "daiku:kubeconfig": "{}"})

    assert not made.of("eks:index:Cluster")
    assert not made.of("aws:ec2/vpc:Vpc")
    drain = next(r for r in made.resources.values() if r.type.startswith("pulumi-python:dynamic"))
    assert made.one("kubernetes:karpenter.sh/v1:NodePool").urn in made.needs(drain)


def _wrong_words(given: dict[str, Any], entry: dict[str, Any]) -> set[str]:
    return (given.keys() - entry["inputProperties"].keys()) | (
        set(entry.get("requiredInputs", ())) - given.keys()
    )


@pytest.mark.parametrize("path", sorted(EXAMPLES.glob("*/Pulumi.yaml")), ids=str)
def test_a_yaml_program_uses_the_words_of_the_schema(path: Any) -> None:
    schema = json.loads(Provider().schema or "")
    program = yaml.safe_load(path.read_text())

    for resource in (program.get("resources") or {}).values():
        package, _, name = resource["type"].partition(":")
        assert (
            _wrong_words(resource["properties"], schema["resources"][f"{package}:index:{name}"])
            == set()
        )
