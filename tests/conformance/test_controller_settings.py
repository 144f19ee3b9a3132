"""The component's typed settings are the controller's own: names, defaults, and what they may be."""

import dataclasses

import pytest

from daiku.runtime import option_table
from daiku_infra import config, controller_settings
from daiku_infra.config import ConfigError
from daiku_infra.controller_settings import ControllerSettingsArgs

OPTIONS = {option.name: option for option in option_table.TABLE}
OF_THE_PROGRAM = {
    "CLOUD", "CLUSTER_NAME", "CLUSTER_ENDPOINT", "CLUSTER_CA_BUNDLE", "BIND_ADDRESS", "METRICS_PORT",
    "HEALTH_PROBE_PORT", "INTERRUPTION_QUEUE", "DISABLE_LEADER_ELECTION", "LEADER_ELECTION_NAME",
    "LEADER_ELECTION_NAMESPACE", "INSTANCE_TYPES_FILE_PATH",
}  # fmt: skip
"""What the program knows better than its author, or what must agree with the drain and the rights."""
OTHERS = ControllerSettingsArgs(
    log_level="debug",
    batch_idle_duration="2s",
    batch_max_duration="30s",
    solve_max_duration="1m30s",
    per_node_cost=0.01,
    price_guard=3.5,
    price_guard_patience="10m",
    enable_zonal_shift=True,
    disable_dry_run=True,
    isolated_vpc=True,
    vm_memory_overhead_percent=0.05,
    reserved_enis=1,
    drain_on_rebalance_recommendation=True,
    preference_policy="Ignore",
    min_values_policy="BestEffort",
    kube_client_qps=50.5,
    kube_client_burst=100,
    feature_gates={"SpotToSpotConsolidation": True, "ReservedCapacity": False},
)
IN_A_STACK_FILE = {
    "logLevel": "debug", "batchIdleDuration": "2s", "batchMaxDuration": "30s", "solveMaxDuration": "1m30s",
    "perNodeCost": 0.01, "priceGuard": 3.5, "priceGuardPatience": "10m",
    "enableZonalShift": True, "disableDryRun": True, "isolatedVpc": True,
    "vmMemoryOverheadPercent": 0.05, "reservedEnis": 1, "drainOnRebalanceRecommendation": True,
    "preferencePolicy": "Ignore", "minValuesPolicy": "BestEffort", "kubeClientQps": 50.5, "kubeClientBurst": 100,
    "featureGates": {"SpotToSpotConsolidation": True, "ReservedCapacity": False},
}  # fmt: skip
SMALLEST = {"clusterName": "demo", "zones": ["us-west-2a", "us-west-2b"], "controllerImage": "x"}


def test_every_option_is_typed_or_the_programs_own() -> None:
    typed = {field.name.upper() for field in dataclasses.fields(ControllerSettingsArgs)}

    assert typed | OF_THE_PROGRAM == OPTIONS.keys()
    assert not typed & OF_THE_PROGRAM


@pytest.mark.parametrize("name", sorted(OPTIONS.keys() - OF_THE_PROGRAM - {"FEATURE_GATES"}))
def test_a_default_is_the_controllers(name: str) -> None:
    usual = getattr(ControllerSettingsArgs(), name.lower())
    text = controller_settings._text(usual)  # pyright: ignore[reportPrivateUsage]

    assert OPTIONS[name].parse(text) == OPTIONS[name].parse(OPTIONS[name].default)


def test_every_feature_gate_is_known() -> None:
    assert set(controller_settings.GATES) == option_table.FEATURE_GATES.keys()


def test_what_is_usual_is_left_to_the_controller() -> None:
    assert controller_settings.environment(ControllerSettingsArgs()) == {}


def test_every_setting_is_given_in_a_form_that_the_controller_reads() -> None:
    given = controller_settings.environment(OTHERS)

    assert given.keys() == OPTIONS.keys() - OF_THE_PROGRAM
    for name, text in given.items():
        OPTIONS[name].parse(text)
    assert given["FEATURE_GATES"] == "ReservedCapacity=false,SpotToSpotConsolidation=true"


def test_a_stack_file_has_a_word_for_every_setting() -> None:
    read = config.parse({**SMALLEST, "controllerSettings": IN_A_STACK_FILE}, region="us-west-2")

    assert read.controller_settings == OTHERS


@pytest.mark.parametrize(
    ("given", "words"),
    [
        pytest.param({"batchIdle": "1s"}, "did you mean batchIdleDuration?", id="half a name"),
        pytest.param({"batchIdleDuration": "1"}, "such as 10s", id="a duration without a unit"),
        pytest.param({"perNodeCost": "cheap"}, "from 0 to 100", id="a word for a number"),
        pytest.param({"priceGuard": 0.5}, "from 1 to 1000", id="a factor below one"),
        pytest.param({"logLevel": "warn"}, "none of debug, info, error", id="another level"),
        pytest.param(
            {"featureGates": {"spotToSpotConsolidation": True}},
            "did you mean SpotToSpotConsolidation?",
            id="wrong case",
        ),
    ],
)
def test_a_setting_that_cannot_be_is_refused_before_anything_is_made(
    given: dict[str, object], words: str
) -> None:
    with pytest.raises(ConfigError, match=words):
        config.parse({**SMALLEST, "controllerSettings": given}, region="us-west-2")
