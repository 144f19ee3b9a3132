"""What lines can be chosen by. Imported by the command line at once, so nothing heavy is imported here."""

from typing import Final

FILTERS: Final = {
    "name": "name",
    "nodepool": "nodepool",
    "type": "instance_type",
    "zone": "zone",
    "capacity": "capacity_type",
    "state": "state",
}
"""What a person calls a column -> the field of a row."""
