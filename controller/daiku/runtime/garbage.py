"""When Python looks for garbage that counting references does not find.

The problem: a solve makes hundreds of thousands of small values and keeps most of them, and the collector walks over
all that is young after every 700 of them: up to a third of the time of a large solve. Almost none of our values refer
to each other in cycles, so there is next to nothing to find, and it may be looked for rarely.
"""

import gc
from typing import Final

_YOUNG_MOST: Final = 100_000
"""Values made between two looks at the young ones; about 10 MiB."""
_LOOKS: Final = 50
"""Looks at the young ones between two at the older ones, and of those between two at all."""


def collect_rarely() -> None:
    """Look for cycles a hundred times less often. To be called once, when the process starts."""
    gc.set_threshold(_YOUNG_MOST, _LOOKS, _LOOKS)
