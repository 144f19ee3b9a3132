from pathlib import Path

from daiku.telemetry import __main__ as page

DOCUMENT = Path(__file__).resolve().parents[3] / "docs" / "metrics.md"


def test_the_page_of_metrics_is_what_the_code_has() -> None:
    assert DOCUMENT.read_text() == page.page(), "run: python -m daiku.telemetry > docs/metrics.md"


def test_every_metric_is_named_by_whom_it_belongs_to() -> None:
    rows = [line.split("`")[1] for line in page.page().splitlines() if line.startswith("| `")]

    assert len(rows) >= 25
    assert all(
        name.startswith(("karpenter_", "daiku_", "client_go_", "operator_")) for name in rows
    )
