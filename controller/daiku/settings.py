"""Every knob of the controller: unit, bound, default, and why that default.

Names in the environment and on the command line are Karpenter's where it has the same knob; `runtime` and `cli`
read them (`daiku run --help` shows them all). The core sees this value and nothing else of the outside.
"""

from dataclasses import dataclass, field
from datetime import timedelta
from typing import Literal

from daiku.model.repair import RepairPolicy


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """How the controller decides. Frozen; made once at start."""

    cluster_name: str = ""
    """Name of the EKS cluster; tag and discovery value. Environment CLUSTER_NAME."""
    batch_idle: timedelta = timedelta(seconds=0.5)
    """How long no new pending pod may arrive before a batch is planned; 1 s in Karpenter. BATCH_IDLE_DURATION, more
    than 0."""
    batch_max: timedelta = timedelta(seconds=1)
    """How long the first pod of a batch waits at most; 10 s in Karpenter. Replicas that a workload has announced join
    the batch before they exist, so a longer wait brings little. BATCH_MAX_DURATION, at least the idle duration."""
    registration_ttl: timedelta = timedelta(minutes=15)
    """How long a launched node may take to register before its claim is given up."""
    launch_ttl: timedelta = timedelta(minutes=5)
    """How long a claim may stay without an instance before it is given up."""
    orphan_grace: timedelta = timedelta(seconds=60)
    """Age from which an instance without a claim is an orphan: more than any launch takes to be written down."""
    instance_types_per_launch_max: int = 60
    """Offer types to EC2 per launch: width for spot, within CreateFleet's request size. 1 to 600."""
    commands_in_flight_max: int = 256
    """Commands under way at once; the rest waits for the next tick. At least 1."""
    solve_max: timedelta = timedelta(seconds=2)
    """Time box of one tick's search for cheaper nodes; the best by then is done. SOLVE_MAX_DURATION, more than 0."""
    per_node_cost_usd_per_hour: float = 0.0
    """What a node costs beside its instance (agents, licences); makes fewer, larger nodes cheaper. PER_NODE_COST, at
    least 0."""
    price_guard: float = 2.0
    """How many times the on-demand list price of a type that would do a new node may cost. PRICE_GUARD, at least 1; the
    annotation daiku.dev/price-guard of a NodePool counts before it."""
    price_guard_patience: timedelta = timedelta(minutes=5)
    """After how long of waiting that factor doubles, and again after as long. PRICE_GUARD_PATIENCE, more than 0."""
    drift_soak: timedelta = timedelta(seconds=60)
    """How long a node that replaced a drifted one must be ready before more follow. At least 0."""
    drain_on_rebalance: bool = False
    """Replace a node when EC2 only recommends it. DRAIN_ON_REBALANCE_RECOMMENDATION; off, as in Karpenter."""
    preference_policy: Literal["Respect", "Ignore"] = "Respect"
    """Whether nodes are made for what pods prefer, as long as that is possible. PREFERENCE_POLICY."""
    min_values_policy: Literal["Strict", "BestEffort"] = "Strict"
    """Whether no node is made when fewer values are left than `minValues` asks. MIN_VALUES_POLICY."""
    repair_policies: tuple[RepairPolicy, ...] = ()
    """When a node counts as broken, by its cloud's word; none: nothing is repaired (gate NodeRepair)."""
    node_class_kind: tuple[str, str] | None = None
    """Group and kind of the node classes whose NodePools and NodeClaims are ours; None: every kind."""
    extra: dict[str, str] = field(default_factory=dict[str, str])
    """Feature gates by name; unknown ones are refused at start."""

    def is_on(self, gate: str) -> bool:
        """Whether a feature gate is on."""
        return self.extra.get(gate) == "true"
