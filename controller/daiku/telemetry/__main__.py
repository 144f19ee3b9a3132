"""The page of all metrics, made from the metrics themselves: `python -m daiku.telemetry > docs/metrics.md`."""

from collections.abc import Iterator
from typing import Any, Final

from prometheus_client import Counter, Gauge, Histogram, Summary
from prometheus_client.metrics import MetricWrapperBase

from daiku.telemetry import metrics

KINDS: Final = (
    (Counter, "counter"),
    (Histogram, "histogram"),
    (Gauge, "gauge"),
    (Summary, "summary"),
)
HEAD: Final = """# Metrics

The controller serves these at `/metrics` (port `METRICS_PORT`, 8080). Names that begin with `karpenter_` mean what they
mean in Karpenter, with the same labels, so that dashboards and alerts keep working; `daiku_` is ours. Durations are in
seconds, memory in bytes, prices in USD per hour. A cluster of 10 nodes has
fewer than 200 series. `controller/daiku/monitoring/` has dashboards and alerts to begin with (docs/operations.md).

This page is made from the code: `python -m daiku.telemetry > docs/metrics.md`.

| Metric | Type | Labels | Meaning |
|---|---|---|---|
"""


def page() -> str:
    """The whole page."""
    return HEAD + "".join(f"{row}\n" for row in sorted(_rows()))


def _rows() -> Iterator[str]:
    for each in vars(metrics).values():
        if isinstance(each, MetricWrapperBase):
            known: Any = each
            kind = next(name for type_, name in KINDS if isinstance(each, type_))
            name = f"{known._name}_total" if kind == "counter" else known._name  # noqa: SLF001
            labels = ", ".join(f"`{label}`" for label in known._labelnames) or "-"  # noqa: SLF001
            yield f"| `{name}` | {kind} | {labels} | {known._documentation} |"  # noqa: SLF001


if __name__ == "__main__":
    print(page(), end="")  # noqa: T201
