"""Commands decide with the settings of the cluster's controller, and say whose settings these are."""

import io
import json
from typing import Any

import msgspec
import pytest
import yaml
from tests.unit.daiku_cli import reading
from typer.testing import CliRunner

from daiku.api import configuration
from daiku.api.manifests import ManifestError
from daiku.cli import controller_settings, planning
from daiku.cli.main import app
from daiku.settings import Settings

Json = dict[str, Any]
SECRET = "hunter2"  # noqa: S105  (what must not be found)


def deployment(
    name: str = "daiku", *, args: tuple[str, ...] = ("run",), replicas: int = 2, **env: Any
) -> Json:
    variables = [
        {"name": k, **(v if isinstance(v, dict) else {"value": v})} for k, v in env.items()
    ]
    return {
        "metadata": {
            "name": name,
            "namespace": "kube-system",
            "labels": {"app.kubernetes.io/name": name},
        },
        "spec": {
            "replicas": replicas,
            "template": {
                "spec": {"containers": [{"name": "c", "args": list(args), "env": variables}]}
            },
        },
    }


def document(*there: Json) -> tuple[Json | None, list[str]]:
    notes: list[str] = []
    decoded = [controller_settings.decode(msgspec.json.encode(each)) for each in there]
    return controller_settings.document(decoded, notes), notes


def settings(**env: str) -> Json:
    return {
        "apiVersion": "daiku.dev/v1alpha1",
        "kind": "Settings",
        "metadata": {"name": "controller"},
        "spec": {"of": "Deployment kube-system/daiku", "env": env},
    }


@pytest.mark.parametrize(
    ("there", "of", "env"),
    [
        pytest.param(
            [deployment(BATCH_MAX_DURATION="5s", TOKEN=SECRET, LOG_LEVEL="debug")],
            "daiku",
            {"BATCH_MAX_DURATION": "5s"},
            id="of its environment what decides",
        ),
        pytest.param(
            [deployment(args=("run", "--per-node-cost=0.02"), PER_NODE_COST="0.01")],
            "daiku",
            {"PER_NODE_COST": "0.02"},
            id="a flag before the environment",
        ),
        pytest.param(
            [deployment("karpenter", CLUSTER_NAME="a"), deployment(CLUSTER_NAME="b")],
            "daiku",
            {"CLUSTER_NAME": "b"},
            id="Daiku's before Karpenter's",
        ),
        pytest.param(
            [deployment("karpenter", CLUSTER_NAME="a"), deployment(replicas=0, CLUSTER_NAME="b")],
            "karpenter",
            {"CLUSTER_NAME": "a"},
            id="one that runs before one that does not",
        ),
    ],
)
def test_settings_are_read_from_the_deployment(
    there: list[Json], of: str, env: dict[str, str]
) -> None:
    found, _ = document(*there)

    assert found is not None
    assert found["spec"] == {"of": f"Deployment kube-system/{of}", "env": env}
    assert SECRET not in json.dumps(found)


def test_what_cannot_be_read_is_said() -> None:
    elsewhere = {"valueFrom": {"configMapKeyRef": {"name": "x", "key": "y"}}}

    found, notes = document(deployment(FEATURE_GATES=elsewhere))
    nothing, why = document()

    assert found is not None
    assert notes == [
        "FEATURE_GATES of Deployment kube-system/daiku comes from elsewhere and is not known here"
    ]
    assert nothing is None
    assert why[0].startswith("no settings in it, so defaults are used")


def planned(*objects: Json) -> tuple[Json, tuple[str, ...]]:
    content = yaml.safe_dump_all([reading.node_pool(), *objects]).encode()
    request = planning.Request(sources=("-",), output="json")
    made = planning.answer(request, io.BytesIO(content), lambda *_: None, lambda: 0.0)
    return json.loads(made.text), made.notes


def test_a_plan_is_made_with_them_and_says_so() -> None:
    kind = {"key": "karpenter.sh/capacity-type", "operator": "In", "values": ["on-demand"]}
    wish = {"weight": 1, "preference": {"matchExpressions": [kind]}}
    affinity = {"nodeAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": [wish]}}
    picky = reading.pod(spec={"affinity": affinity})

    usual, without = planned(picky)
    other, notes = planned(picky, settings(PREFERENCE_POLICY="Ignore"))

    bought = [made["newNodes"][0]["capacityType"] for made in (usual, other)]
    assert bought == ["on-demand", "spot"]
    whose = "the settings of Deployment kube-system/daiku are used: PREFERENCE_POLICY=Ignore"
    assert whose in notes
    given_none = "the controller's default settings are used"
    assert any(note.startswith(given_none) for note in without)


def test_settings_that_no_controller_would_take_are_refused() -> None:
    with pytest.raises(ManifestError, match="PER_NODE_COST is 'much'"):
        planned(settings(PER_NODE_COST="much"))


def test_without_a_word_they_are_those_of_a_controller_without_options() -> None:
    found = configuration.build(reading.documents(reading.node_pool()), [])

    made, _ = controller_settings.of(found, [])

    usual = Settings()
    assert (made.batch_max, made.preference_policy) == (usual.batch_max, usual.preference_policy)
    assert made.is_on("ReservedCapacity")


def test_explain_asks_with_them() -> None:
    content = yaml.safe_dump_all(
        [reading.node_pool(), reading.workload(), settings(PER_NODE_COST="0.5")]
    ).encode()

    cluster = planning.cluster([("f.yaml", content)], "")

    assert cluster.settings.per_node_cost_usd_per_hour == 0.5
    assert cluster.notes[0].endswith("daiku are used: PER_NODE_COST=0.5")


def test_of_a_live_cluster_no_instance_types_are_made_up() -> None:
    content = yaml.safe_dump(reading.node_pool()).encode()

    assert planning.cluster([("cluster", content)], "").catalogue.instance_types
    with pytest.raises(ManifestError, match="its instance types and prices are not in the input"):
        planning.cluster([("cluster", content)], "", live=True)


def test_a_simulation_without_a_node_pool_names_the_flag_that_brings_one() -> None:
    content = yaml.safe_dump(reading.workload(replicas=2))

    refused = CliRunner().invoke(app, ["simulate", "-"], input=content)
    asked = CliRunner().invoke(app, ["simulate", "-", "--built-in-nodepool"], input=content)

    assert refused.exit_code == 2
    assert "no NodePool is in configuration 'as given'" in refused.stderr
    assert "--built-in-nodepool" in refused.stderr
    assert asked.exit_code == 0
    assert "planned with a built-in one" in asked.stderr.replace("\n", " ")
