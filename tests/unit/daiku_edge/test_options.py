"""What can be set from outside, which value wins, and how mistakes are reported."""

from datetime import timedelta

import pytest

from daiku.runtime import options

KWOK = ("--cloud", "kwok")


def test_a_flag_beats_the_environment_which_beats_the_default() -> None:
    environ = {"METRICS_PORT": "9090", "HEALTH_PROBE_PORT": "9091"}

    chosen = options.read([*KWOK, "--metrics-port=7070"], environ)

    assert (chosen.metrics_port, chosen.health_probe_port) == (7070, 9091)
    assert chosen.log_level == "info"


def test_settings_of_the_core_are_read_too() -> None:
    chosen = options.read(KWOK, {"BATCH_IDLE_DURATION": "500ms", "BATCH_MAX_DURATION": "3s"})

    assert chosen.settings.batch_idle == timedelta(milliseconds=500)
    assert chosen.settings.batch_max == timedelta(seconds=3)


def test_the_time_box_and_the_price_of_a_node_can_be_set() -> None:
    chosen = options.read([*KWOK, "--per-node-cost=0.012"], {"SOLVE_MAX_DURATION": "500ms"})

    assert chosen.settings.solve_max == timedelta(milliseconds=500)
    assert chosen.settings.per_node_cost_usd_per_hour == 0.012
    with pytest.raises(options.OptionsError, match="SOLVE_MAX_DURATION is '0s'"):
        options.read(KWOK, {"SOLVE_MAX_DURATION": "0s"})
    with pytest.raises(options.OptionsError, match="--per-node-cost is '-1'"):
        options.read([*KWOK, "--per-node-cost=-1"], {})


def test_the_price_guard_can_be_set() -> None:
    chosen = options.read([*KWOK, "--price-guard=3"], {"PRICE_GUARD_PATIENCE": "10m"})

    assert chosen.settings.price_guard == 3.0
    assert chosen.settings.price_guard_patience == timedelta(minutes=10)
    for wrong in ("0.9", "nan", "inf", "much"):
        with pytest.raises(options.OptionsError, match=f"PRICE_GUARD is '{wrong}'.*1 or more"):
            options.read(KWOK, {"PRICE_GUARD": wrong})


def test_a_pod_listens_on_its_own_address_and_a_laptop_on_the_loopback() -> None:
    assert options.read(KWOK, {"POD_IP": "10.0.3.7"}).bind_address == "10.0.3.7"
    assert options.read(KWOK, {}).bind_address == "127.0.0.1"


def test_an_empty_variable_is_as_good_as_none() -> None:
    assert options.read(KWOK, {"METRICS_PORT": ""}).metrics_port == 8080


def test_options_of_karpenter_that_mean_nothing_here_are_accepted() -> None:
    options.read(
        [*KWOK, "--memory-limit", "-1", "--kube-client-qps=200"], {"ENABLE_PROFILING": "x"}
    )


def test_what_is_asked_for_and_cannot_be_had_is_said_and_nothing_else() -> None:
    chosen = options.read(
        [*KWOK, "--enable-profiling", "true", "--log-output-paths=stdout"],
        {"MEMORY_LIMIT": "1000", "FEATURE_GATES": "NodeOverlay=true,SpotToSpotConsolidation=true"},
    )

    said = "; ".join(chosen.without_effect)
    assert "ENABLE_PROFILING=true has no effect: there is no profiling endpoint" in said
    assert "MEMORY_LIMIT=1000" in said
    assert "NodeOverlay" in said
    assert "SpotToSpotConsolidation" not in said
    assert len(chosen.without_effect) == 3
    assert options.read(KWOK, {}).without_effect == ()


def test_the_pace_of_requests_can_be_set() -> None:
    chosen = options.read([*KWOK, "--kube-client-qps=50"], {"KUBE_CLIENT_BURST": "60"})

    assert (chosen.kube_client_qps, chosen.kube_client_burst) == (50, 60)
    with pytest.raises(options.OptionsError, match="KUBE_CLIENT_BURST is '0'"):
        options.read(KWOK, {"KUBE_CLIENT_BURST": "0"})


def test_all_mistakes_are_reported_together_with_what_is_allowed() -> None:
    with pytest.raises(options.OptionsError) as refused:
        options.read(
            ["--metrics-port", "0", "--colour", "red"],
            {"LOG_LEVEL": "loud", "FEATURE_GATES": "Drift=true"},
        )

    text = str(refused.value)
    assert "--metrics-port is '0'; it may be 1 to 65535" in text
    assert "'--colour' is no option" in text
    assert "LOG_LEVEL is 'loud'; it may be debug, info or error" in text
    assert "FEATURE_GATES is 'Drift=true'" in text


@pytest.mark.parametrize(
    ("environ", "words"),
    [
        pytest.param({}, "CLUSTER_NAME is empty", id="no cluster"),
        pytest.param(
            {"CLUSTER_NAME": "demo", "BATCH_MAX_DURATION": "100ms"},
            "may not be less than BATCH_IDLE_DURATION, which is 0.5s",
            id="a batch that ends before it can be idle",
        ),
        pytest.param(
            {"CLUSTER_NAME": "demo", "METRICS_PORT": "8081"}, "both 8081", id="one port for two"
        ),
    ],
)
def test_values_that_contradict_each_other_are_refused(environ: dict[str, str], words: str) -> None:
    with pytest.raises(options.OptionsError, match=words):
        options.read([], environ)


def test_a_flag_without_a_value_is_a_mistake() -> None:
    with pytest.raises(options.OptionsError, match="--log-level needs a value"):
        options.read([*KWOK, "--log-level"], {})


def test_every_option_is_described() -> None:
    described = options.describe()

    assert "--interruption-queue" in described
    assert "$CLUSTER_NAME" in described


def test_a_longer_idle_duration_alone_raises_the_longest_batch() -> None:
    chosen = options.read(KWOK, {"BATCH_IDLE_DURATION": "5s"}).settings

    assert (chosen.batch_idle, chosen.batch_max) == (timedelta(seconds=5), timedelta(seconds=5))
