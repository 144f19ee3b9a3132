"""A drain with a controller, without one, without an API server, and with an AWS that will not let go."""

from dataclasses import dataclass, field

import pytest

from daiku_infra import draining
from daiku_infra.draining import NotSweptError, UnreachableError


@dataclass(kw_only=True)
class World:
    """A cluster with an account. Claims go one a tick while a controller lives; instances go with them."""

    claims: int = 3
    lives: bool = True
    answers: bool = True
    holds: bool = False
    stubborn: bool = False
    now: float = 0.0
    asked_to_go: bool = False
    released: list[str] = field(default_factory=list)
    said: list[str] = field(default_factory=list)
    orphans: int = 0

    def _must_answer(self) -> None:
        if not self.answers:
            raise UnreachableError("connection refused")

    def nodes_wanted(self) -> list[str]:
        self._must_answer()
        return [f"nodeclaims/{number}" for number in range(self.claims)]

    def delete_wanted(self) -> None:
        self._must_answer()
        self.asked_to_go = True

    def renewed(self) -> str:
        return str(self.now) if self.lives else "long ago"

    def release(self) -> list[str]:
        self._must_answer()
        self.released, self.claims = self.nodes_wanted(), 0
        return self.released

    def leftovers(self) -> list[str]:
        return [f"instance i-{number}" for number in range(self.claims + self.orphans)]

    def remove_leftovers(self) -> list[str]:
        if self.stubborn:
            return ["i-0: UnauthorizedOperation"]
        self.orphans = -self.claims
        return []

    def kept(self) -> list[str]:
        return ["volume vol-1"] if self.holds else []

    def sleep(self, seconds: float) -> None:
        self.now += seconds
        if self.asked_to_go and self.lives and self.claims:
            self.claims -= 1

    def drain(self, deadline: float = 900) -> None:
        draining.drain(
            self,
            self,
            deadline_seconds=deadline,
            say=self.said.append,
            clock=lambda: self.now,
            sleep=self.sleep,
        )


def test_a_living_controller_does_it_by_itself() -> None:
    world = World()

    world.drain()

    assert (world.claims, world.released, world.said) == (0, [], [])


def test_an_empty_cluster_is_left_at_once() -> None:
    world = World(claims=0)

    world.drain()

    assert world.now == 0
    assert not world.asked_to_go


def test_a_dead_controller_is_waited_for_no_longer_than_its_lease_allows() -> None:
    world = World(lives=False)

    world.drain()

    assert world.now < draining.SILENT_SECONDS + 10
    assert world.released == ["nodeclaims/0", "nodeclaims/1", "nodeclaims/2"]
    assert any("no sign of life" in line for line in world.said)


def test_pods_that_will_not_leave_are_taken_by_force_after_the_deadline() -> None:
    world = World(claims=1000)

    world.drain(deadline=60)

    assert 60 <= world.now < 80
    assert any("now by force: nodeclaims/0" in line and "more" in line for line in world.said)
    assert world.claims == 0


def test_without_an_api_server_the_account_is_swept_all_the_same() -> None:
    world = World(claims=0, orphans=30, answers=False)

    world.drain()

    assert world.leftovers() == []
    assert "found by their tags alone" in world.said[0]


def test_what_aws_will_not_let_go_is_named_with_its_reason() -> None:
    world = World(claims=0, orphans=2, stubborn=True)

    with pytest.raises(
        NotSweptError, match=r"instance i-0, instance i-1; AWS says: .*Unauthorized"
    ):
        world.drain()


def test_volumes_with_data_are_told_of_and_kept() -> None:
    world = World(claims=0, holds=True)

    world.drain()

    assert world.said == ["left in the account, because it holds data: volume vol-1"]


def test_a_second_run_has_nothing_left_to_do() -> None:
    world = World(lives=False)
    world.drain()
    first = world.now

    world.drain()

    assert world.now == first
