"""A scenario as people write it: the fields of a `kind: Scenario` document. What is not known here is a mistake.

Quantities are Kubernetes quantities, times Go durations from the start, hours of the day "14:00".
"""

import msgspec

Quantity = str | int | float


class _Part(msgspec.Struct, rename="camel", forbid_unknown_fields=True, gc=False):
    """Unknown fields are refused: a misspelt one would silently simulate something else."""


class DailyNumber(_Part):
    """A number that swings between two values once a day."""

    low: float
    high: float
    peak: str = "14:00"


class LifetimeText(_Part):
    """How long pods work, drawn around a mean."""

    mean: str


class BatchText(_Part):
    """Pods that come at once."""

    pods: int
    at: str = "00:00"
    every: str = "24h"


class WorkloadText(_Part):
    """One workload; exactly one of `replicas`, `perHour` and `batch` says how its pods come."""

    name: str
    namespace: str = "default"
    cpu: Quantity | list[Quantity] | None = None
    memory: Quantity | list[Quantity] | None = None
    labels: dict[str, str] = {}
    template: msgspec.Raw = msgspec.Raw(b"")
    replicas: int | DailyNumber | None = None
    per_hour: float | DailyNumber | None = None
    batch: BatchText | None = None
    lasts: str | LifetimeText | None = None
    max_unavailable: int | None = None


class PoolsText(_Part):
    """Which offerings are meant."""

    instance_type: str = "*"
    zone: str = "*"
    capacity_type: str = "*"


class SoldOutText(PoolsText):
    """A time in which none are left."""

    begins: str = msgspec.field(default="0s", name="from")
    ends: str = msgspec.field(default="", name="to")


class PriceText(PoolsText):
    """Prices times a factor, from a time on."""

    factor: float = 1.0
    at: str = "0s"


class WaveText(PoolsText):
    """A share of spot instances is taken back at once."""

    at: str = "0s"
    share: float = 1.0


class InterruptionsText(_Part):
    """How spot instances are taken back."""

    per_hour: float = 0.0
    waves: list[WaveText] = []


class ScenarioText(_Part):
    """`spec` of a Scenario."""

    duration: str = "24h"
    start: str = "2026-03-02T00:00:00Z"
    seed: int = 1
    boot: str = "40s"
    workloads: list[WorkloadText] = []
    trace: str = ""
    interruptions: InterruptionsText = msgspec.field(default_factory=InterruptionsText)
    sold_out: list[SoldOutText] = []
    prices: list[PriceText] = []


class _Document(msgspec.Struct, rename="camel", gc=False):
    spec: ScenarioText = msgspec.field(default_factory=ScenarioText)


class _TemplateMeta(msgspec.Struct, gc=False):
    labels: dict[str, str] | None = None
    annotations: dict[str, str] | None = None


class Template(msgspec.Struct, gc=False):
    """A pod template, and the pod's spec as it stands."""

    metadata: _TemplateMeta | None = None
    spec: msgspec.Raw = msgspec.Raw(b"{}")


class _WorkloadSpec(msgspec.Struct, gc=False):
    template: Template
    replicas: int | None = None


class Deployed(msgspec.Struct, gc=False):
    """What is read of a Deployment or StatefulSet."""

    spec: _WorkloadSpec


scenarios = msgspec.json.Decoder(_Document)
templates = msgspec.json.Decoder(Template)
deployed = msgspec.json.Decoder(Deployed)
