"""Is there an order in which kube-scheduler can bind the pods of a plan where the plan puts them?

kube-scheduler takes pods one by one and judges each by what is there when it comes. Two rules depend on the order: a
pod that requires company cannot come before it, and a pod that is spread must not find its domain too full, while
pods without that constraint may fill it up later. All other rules hold in every order or in none.

So the plan is played: *arrivals* are let in one after the other, each as soon as it is agreeable. Mostly everybody
could come last, which is quick to see. If not, the order of the plan itself is tried. If that fails too, for example
because a part of the plan was dropped, those who were left out are *pressed*: they come first, as soon as they can, and
others only as far as they help them. Who is left in the end breaks a rule. A plan that passes has an order for sure.

Source: kube-scheduler, podtopologyspread and interpodaffinity. The first pod of a group that asks for itself may go
anywhere, as long as no pod that the group asks for is anywhere.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain, groupby
from typing import Final

from daiku.model.pod import Pod
from daiku.scheduling.audit import company, crowd, spread
from daiku.scheduling.audit.company import Company, Reach, Terms
from daiku.scheduling.audit.crowd import Crowd, Kind
from daiku.scheduling.audit.ground import Ground, Place
from daiku.scheduling.audit.spread import Watch, Watches
from daiku.scheduling.audit.violation import Violation

_TRIES: Final = 4
"""Orders that are tried if that of the plan fails: in each, those come early who were left in the ones before."""


@dataclass(slots=True, kw_only=True, eq=False)
class _Arrival:
    """Equal pods that come to one place."""

    place: Place
    kind: Kind
    pod: Pod
    """One of them."""
    watches: tuple[Watch, ...]
    reach: Reach | None
    """Of the company that they require."""
    group: int
    """Equal for those that come one after the other and ask the same."""
    left: int = 0
    """Pods that are not let in yet."""
    is_pressed: bool = False

    @property
    def key(self) -> tuple[int, str]:
        """What tells it apart in every play of the same plan."""
        return self.place.index, self.pod.meta.key

    def uneven(self) -> tuple[Watch, int] | None:
        """A constraint that does not let one of the pods in, and the skew there would be; -1: without a sure domain."""
        for watch in self.watches:
            domains = self.place.domains(watch.constraint.key)
            if len(domains) != 1:
                return watch, -1
            skew = watch.skew(domains[0], more=1 if watch.means(self.kind) else 0)
            if skew > watch.constraint.max_skew:
                return watch, skew
        return None

    @property
    def is_agreeable(self) -> bool:
        """Whether one of the pods can come now."""
        has_company = self.reach is None or self.reach.covers(self.place)
        return has_company and self.uneven() is None


@dataclass(slots=True, kw_only=True, eq=False)
class _Play:
    """Pods being let in."""

    waiting: list[_Arrival]
    company: Company
    watches: Sequence[Watch]
    _counting: dict[Kind, list[Watch]] = field(default_factory=dict[Kind, list[Watch]])

    def as_last(self) -> list[_Arrival]:
        """Who is left if nobody cares about an order as long as everybody could come last; quickly found."""
        self.press({})
        left = [a for a in self.waiting if a.is_pressed]
        if left:
            return left
        for arrival in self.waiting:
            arrival.watches = ()
        return self.pressed_first()

    def in_turn(self) -> list[_Arrival]:
        """Let in one group after the other, in the order in which they are given; who is left."""
        left: list[_Arrival] = []
        for _, group in groupby(self.waiting, key=lambda a: a.group):
            waiting = list(group)
            while self._each(waiting) or self._first(waiting):
                waiting = [a for a in waiting if a.left]
            left += waiting
        return left

    def pressed_first(self) -> list[_Arrival]:
        """Let in whoever can be, those that are pressed first; who is left."""
        while self.waiting:
            pressed = [a for a in self.waiting if a.is_pressed]
            moved = self._each(pressed) or self._first(pressed) or self._help(pressed)
            if not (moved or self._each(self.waiting) or self._first(self.waiting)):
                break
            self.waiting = [a for a in self.waiting if a.left]
        return self.waiting

    def press(self, early: Mapping[tuple[int, str], bool]) -> None:
        """Find out who could not come last, beside those in `early`. The counts are then as before."""
        for arrival in self.waiting:
            self.note(arrival, arrival.left)
        for arrival in self.waiting:
            self.note(arrival, -1)
            arrival.is_pressed = arrival.key in early or arrival.uneven() is not None
            self.note(arrival, 1)
        for arrival in self.waiting:
            self.note(arrival, -arrival.left)

    def counting(self, kind: Kind) -> list[Watch]:
        """Watches that count pods of `kind`."""
        if kind not in self._counting:
            self._counting[kind] = [w for w in self.watches if w.means(kind)]
        return self._counting[kind]

    def _each(self, arrivals: Iterable[_Arrival]) -> bool:
        """Let in a pod of each arrival that is agreeable by then, all of them where they do not mind each other."""
        moved = False
        for arrival in arrivals:
            if arrival.left and arrival.is_agreeable:
                self._let_in(arrival, 1 if arrival.watches else arrival.left)
                moved = True
        return moved

    def _help(self, pressed: Sequence[_Arrival]) -> bool:
        """Let in a pod that pressed ones wait for, the one that stands least in their way; whether there was one."""
        best: tuple[int, _Arrival] | None = None
        for arrival in self.waiting if pressed else ():
            if arrival.is_pressed or not self._is_awaited(arrival, pressed):
                continue
            harm = self._harm(arrival, pressed)
            if (best is None or harm < best[0]) and arrival.is_agreeable:
                best = harm, arrival
        if best is not None:
            self._let_in(best[1], 1)
        return best is not None

    def _is_awaited(self, arrival: _Arrival, pressed: Sequence[_Arrival]) -> bool:
        """Whether its pods are in an emptiest domain of a pressed one, or company for it."""
        for watch in self.counting(arrival.kind):
            domain = watch.domain_of.get(arrival.place.index)
            if domain is not None and watch.counts.get(domain, 0) == watch.least:
                return any(watch in p.watches for p in pressed)
        sought = self.company.sought(arrival.kind)
        return any(p.reach in sought and not p.reach.covers(p.place) for p in pressed if p.reach)

    def _harm(self, arrival: _Arrival, pressed: Sequence[_Arrival]) -> int:
        """In how many domains of pressed ones its pods count."""
        return sum(
            watch in other.watches
            and watch.domain_of.get(arrival.place.index)
            in other.place.domains(watch.constraint.key)
            for watch in self.counting(arrival.kind)
            for other in pressed
        )

    def _first(self, arrivals: Iterable[_Arrival]) -> bool:
        """Let in the first of a group that asks for itself; whether there was one."""
        for arrival in arrivals:
            reach = arrival.reach
            if (
                reach is not None
                and arrival.left
                and self.company.may_begin(reach, arrival.kind, arrival.place)
                and arrival.uneven() is None
            ):
                self._let_in(arrival, 1)
                return True
        return False

    def _let_in(self, arrival: _Arrival, number: int) -> None:
        arrival.left -= number
        self.company.let_in(arrival.kind, arrival.place)
        self.note(arrival, number)

    def note(self, arrival: _Arrival, number: int) -> None:
        """Count so many pods of `arrival` where they come to; fewer than 0 go."""
        for watch in self.counting(arrival.kind):
            watch.note(arrival.kind, arrival.place.index, number)


def check(ground: Ground) -> Iterator[Violation]:
    """Pods that kube-scheduler would not bind where the plan puts them, in any order that was tried."""
    required = tuple(dict.fromkeys(pod.pod_affinity for _, pod in ground.coming))
    spreads = dict.fromkeys(spread.hard(pod) for _, pod in ground.coming)
    if not any(required) and not any(spreads):
        return
    parts = (each for all_of_a_pod in (*required, *spreads) for each in all_of_a_pod)
    everyone = crowd.gather(ground, (part.selector for part in parts))
    least = _begin(ground, everyone, required).as_last()
    if least:
        least = _begin(ground, everyone, required).in_turn()
    early: dict[tuple[int, str], bool] = {}
    for _ in range(_TRIES if least else 0):
        known = len(early)
        early |= {a.key: True for a in least}
        if len(early) == known:
            break
        play = _begin(ground, everyone, required)
        play.press(early)
        least = _fewest(least, play.pressed_first())
    for arrival in least:
        yield _violation(arrival)


def _fewest(one: list[_Arrival], other: list[_Arrival]) -> list[_Arrival]:
    return other if len(other) < len(one) else one


def _begin(ground: Ground, everyone: Crowd, required: Iterable[Terms]) -> _Play:
    """Everybody outside."""
    watches = Watches(ground, everyone)
    together = company.gather(ground, everyone, required)
    return _Play(
        waiting=_arrivals(ground, everyone, watches, together),
        company=together,
        watches=tuple(dict.fromkeys(chain.from_iterable(watches.made.values()))),
    )


def _arrivals(
    ground: Ground, everyone: Crowd, watches: Watches, together: Company
) -> list[_Arrival]:
    """Pods that come, those together that come to one place one after the other and ask the same."""
    found: list[_Arrival] = []
    alike: dict[int, _Arrival] = {}
    latest: object = None
    group = -1
    for place, pod in ground.coming:
        kind, watched, reach = everyone.kind(pod), watches.of(pod), pod.pod_affinity
        if (kind, id(watched), reach) != latest:
            latest, alike, group = (kind, id(watched), reach), {}, group + 1
        if place.index not in alike:
            alike[place.index] = _Arrival(
                place=place,
                kind=kind,
                pod=pod,
                group=group,
                watches=watched,
                reach=together.reach(reach),
            )
            found.append(alike[place.index])
        alike[place.index].left += 1
    return found


def _violation(arrival: _Arrival) -> Violation:
    place, pod = arrival.place, arrival.pod
    subject = f"pod {pod.meta.key} on {place.name}"
    if arrival.reach is not None and not arrival.reach.covers(place):
        keys = " and ".join(dict.fromkeys(t.key for t in arrival.reach.terms))
        return Violation(
            command=place.command,
            rule="PodAffinity",
            node=place.name,
            pod=pod.meta.key,
            found=0,
            message=f"{subject}: no pod that it requires is sure to be in its {keys}",
        )
    watch, skew = arrival.uneven() or (arrival.watches[0], 0)
    key, most = watch.constraint.key, watch.constraint.max_skew
    domains = place.domains(key)
    if len(domains) == 1:
        count = watch.counts.get(domains[0], 0)
        message = (
            f"{key}={domains[0]} has {count} of its pods before it and the emptiest of {len(watch.possible)} "
            f"domains {watch.least}; maxSkew is {most}"
        )
    else:
        choice = f"may have {len(domains)} values" if domains else "is missing"
        message, skew, most = (
            f"its label {key} {choice}, by which the pod is to be spread",
            len(domains),
            1,
        )
    return Violation(
        command=place.command,
        rule="TopologySpread",
        node=place.name,
        pod=pod.meta.key,
        found=skew,
        allowed=most,
        message=f"{subject}: {message}",
    )
