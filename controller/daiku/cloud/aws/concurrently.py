"""Questions to AWS that do not wait for each other's answers."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

A = TypeVar("A")
B = TypeVar("B")


def both(first: Callable[[], A], second: Callable[[], B]) -> tuple[A, B]:
    """The answers of two calls, asked at the same time. The first one's exception goes before the second one's."""
    with ThreadPoolExecutor(1, "aws") as other:
        later = other.submit(second)
        return first(), later.result()
