"""The part of a stack file that is about how the controller works: controllerSettings. No Pulumi in here."""

from daiku_infra.controller_settings import (
    GATES,
    LOG_LEVELS,
    MIN_VALUES,
    PREFERENCES,
    ControllerSettingsArgs,
)
from daiku_infra.reading import Section

_DURATION = r"(\d+(\.\d+)?(ms|s|m|h))+"
_DOLLARS_MOST = 100
_FACTOR_MOST = 1_000
_INTERFACES_MOST = 15
_REQUESTS_MOST = 100_000
_USUAL = ControllerSettingsArgs()


def read(section: Section) -> ControllerSettingsArgs:
    """Read the settings; what is left out is as the controller has it."""
    return ControllerSettingsArgs(
        log_level=section.choice("logLevel", default=_USUAL.log_level, options=LOG_LEVELS),
        batch_idle_duration=_duration(section, "batchIdleDuration", _USUAL.batch_idle_duration),
        batch_max_duration=_duration(section, "batchMaxDuration", _USUAL.batch_max_duration),
        solve_max_duration=_duration(section, "solveMaxDuration", _USUAL.solve_max_duration),
        per_node_cost=section.number(
            "perNodeCost", default=_USUAL.per_node_cost, low=0, high=_DOLLARS_MOST
        ),
        price_guard=section.number(
            "priceGuard", default=_USUAL.price_guard, low=1, high=_FACTOR_MOST
        ),
        price_guard_patience=_duration(section, "priceGuardPatience", _USUAL.price_guard_patience),
        enable_zonal_shift=section.flag("enableZonalShift", default=_USUAL.enable_zonal_shift),
        disable_dry_run=section.flag("disableDryRun", default=_USUAL.disable_dry_run),
        isolated_vpc=section.flag("isolatedVpc", default=_USUAL.isolated_vpc),
        vm_memory_overhead_percent=section.number(
            "vmMemoryOverheadPercent", default=_USUAL.vm_memory_overhead_percent, low=0, high=0.99
        ),
        reserved_enis=section.whole(
            "reservedEnis", default=_USUAL.reserved_enis, low=0, high=_INTERFACES_MOST
        ),
        drain_on_rebalance_recommendation=section.flag(
            "drainOnRebalanceRecommendation", default=_USUAL.drain_on_rebalance_recommendation
        ),
        preference_policy=section.choice(
            "preferencePolicy", default=_USUAL.preference_policy, options=PREFERENCES
        ),
        min_values_policy=section.choice(
            "minValuesPolicy", default=_USUAL.min_values_policy, options=MIN_VALUES
        ),
        kube_client_qps=section.number(
            "kubeClientQps", default=_USUAL.kube_client_qps, low=1, high=_REQUESTS_MOST
        ),
        kube_client_burst=section.whole(
            "kubeClientBurst", default=_USUAL.kube_client_burst, low=1, high=_REQUESTS_MOST
        ),
        feature_gates=section.section("featureGates", _gates),
    )


def _duration(section: Section, key: str, usual: str) -> str:
    return section.text(key, default=usual, pattern=_DURATION, example="10s")


def _gates(section: Section) -> dict[str, bool]:
    """Those gates that are named."""
    return {name: section.flag(name, default=False) for name in GATES if section.has(name)}
