"""Numbers as people read them."""

from typing import Final

HOURS_PER_MONTH: Final = 730


def hourly(usd: float) -> str:
    """Dollars per hour."""
    return f"{usd:,.4f}"


def monthly(usd_per_hour: float) -> str:
    """Dollars per month of 730 hours."""
    return f"{usd_per_hour * HOURS_PER_MONTH:,.0f}"


def signed(figure: str) -> str:
    """A figure as a difference: with a plus when it grows, "=" when it is nothing as far as it is shown."""
    value = float(figure.replace(",", ""))
    return "=" if value == 0 else f"+{figure}" if value > 0 else figure
