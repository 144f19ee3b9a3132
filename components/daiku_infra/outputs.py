"""An output that is handed out only when other things are there too.

Order in a Pulumi program is best carried by values: whoever takes such a value waits for all that it
stands on, and on destroy goes before all of it, in whatever stack or component it lives.
"""

from typing import Any, TypeVar, cast

import pulumi

T = TypeVar("T")


def once(value: pulumi.Input[T], *there: pulumi.Input[Any]) -> pulumi.Output[T]:
    """Give `value` when everything of `there` exists."""
    return pulumi.Output.all(value, *there).apply(lambda values: cast("T", values[0]))


def before(*values: pulumi.Input[Any]) -> list[Any]:
    """Write `depends_on` for a resource that takes none of `values` and yet must wait for them."""
    return [pulumi.Output.all(*values).apply(lambda _: None)]
