"""Settings of the controller as typed arguments; it reads them from its environment.

Here are those that people choose. What the program itself knows, such as the cluster's name and the queue, it gives
without being asked. A test compares names and defaults with the controller's own table. No Pulumi in here.
"""

import dataclasses
from dataclasses import dataclass, field
from typing import cast

GATES = (
    "NodeRepair",
    "ReservedCapacity",
    "SpotToSpotConsolidation",
    "NodeOverlay",
    "StaticCapacity",
    "CapacityBuffer",
)
"""Features that may be turned on or off."""
LOG_LEVELS = ("debug", "info", "error")
PREFERENCES = ("Respect", "Ignore")
MIN_VALUES = ("Strict", "BestEffort")


@dataclass(frozen=True, slots=True, kw_only=True)
class ControllerSettingsArgs:
    """How the controller works."""

    log_level: str = "info"
    """Least level of log lines: debug, info, error."""
    batch_idle_duration: str = "500ms"
    """A batch of pods ends when none came for this long."""
    batch_max_duration: str = "1s"
    """A batch of pods ends after this at the latest."""
    solve_max_duration: str = "2s"
    """The search for cheaper nodes ends after this with the best it has found."""
    per_node_cost: float = 0.0
    """Dollars per hour that a node costs beside its instance; above 0, fewer and larger nodes are made."""
    price_guard: float = 2.0
    """How many times the on-demand list price of a type that would do a new node may cost, 1 or more."""
    price_guard_patience: str = "5m"
    """After how long of waiting twice as much is paid, and again after as long."""
    enable_zonal_shift: bool = False
    """Launch nothing in zones that the cluster is shifted away from."""
    disable_dry_run: bool = False
    """Take node classes as Ready without having tried a launch."""
    isolated_vpc: bool = False
    """Call no Pricing API. Environment turns it on where private subnets have no NAT gateway."""
    vm_memory_overhead_percent: float = 0.075
    """Share of memory that the hypervisor keeps, from 0 up to 1."""
    reserved_enis: int = 0
    """Network interfaces that are not for pods."""
    drain_on_rebalance_recommendation: bool = False
    """Replace a spot node when EC2 recommends to, not only when it interrupts."""
    preference_policy: str = "Respect"
    """Whether nodes are made for what pods prefer: Respect, Ignore."""
    min_values_policy: str = "Strict"
    """Whether a node is made when fewer values are left than minValues asks: Strict, BestEffort."""
    kube_client_qps: float = 200.0
    """Requests to the API server per second."""
    kube_client_burst: int = 300
    """Requests to the API server that may come at once."""
    feature_gates: dict[str, bool] = field(default_factory=dict[str, bool])
    """Features to turn on or off, such as SpotToSpotConsolidation."""


def environment(settings: ControllerSettingsArgs) -> dict[str, str]:
    """Variables for those settings that are not the controller's own defaults."""
    usual = ControllerSettingsArgs()
    return {
        setting.name.upper(): _text(getattr(settings, setting.name))
        for setting in dataclasses.fields(settings)
        if getattr(settings, setting.name) != getattr(usual, setting.name)
    }


def _text(value: object) -> str:
    """A value as the controller reads it."""
    if isinstance(value, dict):
        gates = cast("dict[str, bool]", value)
        return ",".join(f"{name}={_text(on)}" for name, on in sorted(gates.items()))
    return str(value).lower() if isinstance(value, bool) else str(value)
