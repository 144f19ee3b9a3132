"""The company that pods require: where it is, and who would be company for whom.

Source: kube-scheduler, interpodaffinity: only pods count that match all terms of a pod together. Pods that are on
their way out are no company to rely on.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field

from daiku.model.topology import AffinityTerm
from daiku.scheduling.audit.crowd import Crowd, Kind
from daiku.scheduling.audit.ground import Ground, Place

Terms = tuple[AffinityTerm, ...]


@dataclass(slots=True, kw_only=True, eq=False)
class Reach:
    """Where pods are that match all terms of a group."""

    terms: Terms
    domains: dict[tuple[str, str], bool] = field(default_factory=dict[tuple[str, str], bool])
    """Topology key and value of which it is sure that one is there."""
    places: dict[int, bool] = field(default_factory=dict[int, bool])
    """Index of every place with one."""
    is_anywhere: bool = False
    """One is on some node that has one of the labels."""

    def add(self, place: Place) -> None:
        """Such a pod is at `place`."""
        self.places[place.index] = True
        for term in self.terms:
            domains = place.domains(term.key)
            self.is_anywhere |= bool(domains)
            if len(domains) == 1:
                self.domains[term.key, domains[0]] = True

    def covers(self, place: Place) -> bool:
        """Whether all terms are met at `place`, in whichever domain it ends up."""
        return all(
            bool(domains)
            and (place.index in self.places or all((term.key, d) in self.domains for d in domains))
            for term in self.terms
            for domains in (place.domains(term.key),)
        )


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Company:
    """Who is company for whom."""

    everyone: Crowd
    reaches: dict[Terms, Reach]
    _sought: dict[Kind, list[Reach]] = field(default_factory=dict[Kind, list[Reach]])

    def reach(self, terms: Terms) -> Reach | None:
        """The reach of `terms`; None when they ask for nobody."""
        return self.reaches.get(terms)

    def sought(self, kind: Kind) -> list[Reach]:
        """The groups that are looking for pods of `kind`."""
        if kind not in self._sought:
            self._sought[kind] = [
                reach
                for reach in self.reaches.values()
                if all(self.everyone.is_meant(term, kind) for term in reach.terms)
            ]
        return self._sought[kind]

    def let_in(self, kind: Kind, place: Place) -> None:
        """A pod of `kind` is at `place`."""
        for reach in self.sought(kind):
            if place.index not in reach.places:
                reach.add(place)

    def may_begin(self, reach: Reach, kind: Kind, place: Place) -> bool:
        """Whether a pod of `kind` asks for its own kind, and nobody of whom it asks is anywhere."""
        return (
            not reach.is_anywhere
            and reach in self.sought(kind)
            and all(place.domains(term.key) for term in reach.terms)
        )


def gather(ground: Ground, everyone: Crowd, required: Iterable[Terms]) -> Company:
    """The company that is there for those who have the `required` terms."""
    reaches = {terms: Reach(terms=terms) for terms in required if terms}
    company = Company(everyone=everyone, reaches=reaches)
    for kind, at in everyone.there.items():
        for index in at:
            company.let_in(kind, ground.places[index])
    return company
