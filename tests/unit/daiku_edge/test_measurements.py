"""Nodes and NodeClaims on their way to the inbox: what of them the cloud is told."""

from dataclasses import replace

import pytest
from tests import build

from daiku import events
from daiku.model import labels
from daiku.model.node import Node
from daiku.model.nodeclaim import NodeClaim
from daiku.runtime.measurements import Measurements

ID = "aws:///us-west-2a/i-1"


class Listener:
    def __init__(self) -> None:
        self.forwarded: list[events.Event] = []
        self.noted: list[tuple[str, str, int]] = []
        self.named: dict[str, str] = {}
        self.door = Measurements(
            self.forwarded.append,
            lambda kind, image, size: self.noted.append((kind, image, size)),
            self.named.__setitem__,
        )


def node(memory: int = 7_900_000_000, name: str = "ip-10-0-0-1") -> Node:
    return Node(
        meta=build.meta(name, labels={labels.INSTANCE_TYPE: "m5.large"}),
        provider_id=ID,
        capacity={"memory": memory},
        allocatable={},
    )


def claim(image: str = "ami-1") -> NodeClaim:
    return replace(build.node_claim("default-1"), provider_id=ID, image_id=image)


@pytest.mark.parametrize("order", [(0, 1), (1, 0)])
def test_a_node_and_its_claim_tell_the_memory_of_a_type_and_image(order: tuple[int, int]) -> None:
    seen = (events.Seen(node()), events.Seen(claim()))
    to = Listener()

    for index in order:
        to.door.put(seen[index])

    assert to.noted == [("m5.large", "ami-1", 7_900_000_000)]
    assert to.forwarded == [seen[index] for index in order]


def test_a_node_without_a_claim_tells_nothing() -> None:
    to = Listener()

    to.door.put(events.Seen(node()))

    assert to.noted == []


def test_what_has_gone_is_not_taken_for_what_comes_after_it() -> None:
    to = Listener()
    to.door.put(events.Seen(claim("ami-old")))
    to.door.put(events.Gone(NodeClaim, "default-1"))

    to.door.put(events.Seen(node()))

    assert to.noted == []


def test_a_list_forgets_what_is_not_in_it() -> None:
    to = Listener()
    to.door.put(events.Seen(node()))
    to.door.put(events.Listed(Node, frozenset({"another"})))

    to.door.put(events.Seen(claim()))

    assert to.noted == []


def test_a_node_that_says_the_same_again_is_not_measured_again() -> None:
    to = Listener()
    to.door.put(events.Seen(claim()))

    for _ in range(3):
        to.door.put(events.Seen(node()))
    to.door.put(events.Seen(node(7_800_000_000)))

    assert [size for _, _, size in to.noted] == [7_900_000_000, 7_800_000_000]


def test_the_name_of_a_node_is_told_with_its_instance_until_it_leaves() -> None:
    to = Listener()

    to.door.put(events.Seen(node()))
    joined = dict(to.named)
    to.door.put(events.Gone(Node, "ip-10-0-0-1"))

    assert joined == {ID: "ip-10-0-0-1"}
    assert to.named == {ID: ""}
