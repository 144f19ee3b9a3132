"""What-if against the audit, and against the same question asked the slow way: of a cluster without the nodes."""

from dataclasses import dataclass, replace

from hypothesis import Phase, given, settings
from hypothesis import strategies as st
from tests import build, plans, strategies
from tests.properties import test_topology_laws as between

from daiku.model.pod import Pod
from daiku.scheduling import problem, solver, whatif
from daiku.scheduling.outcome import Outcome
from daiku.scheduling.solution import Solution
from daiku.settings import Settings

SEARCH = settings(deadline=None, max_examples=60, derandomize=True, phases=[Phase.generate])


@dataclass(frozen=True)
class Question:
    """A cluster on which pods run, and nodes of it that might go."""

    case: between.Case
    gone: frozenset[str]

    @property
    def moved(self) -> list[Pod]:
        return [p for p in self.case.running if p.node_name in self.gone]

    def ask(self, **limits: object) -> Outcome:
        world = whatif.prepare(
            self.case.snapshot(),
            build.catalogue(*self.case.types),
            Settings(preference_policy=self.case.policy),
            {},
        )
        return world.without(self.gone, **limits)  # pyright: ignore[reportArgumentType]

    def without(self) -> between.Case:
        """The cluster without the nodes, with their pods pending."""
        return replace(
            self.case,
            pods=[
                replace(p, node_name="", phase="Pending", unschedulable=True, ready=False)
                for p in self.moved
            ],
            running=[p for p in self.case.running if p.node_name not in self.gone],
            nodes=[n for n in self.case.nodes if n.meta.name not in self.gone],
        )

    def slowly(self) -> Solution:
        slow = self.without()
        catalogue = build.catalogue(*slow.types)
        asked = problem.build(slow.pods, slow.snapshot(), catalogue, preference_policy=slow.policy)
        return solver.solve(asked)


@st.composite
def questions(draw: st.DrawFn) -> Question:
    case = replace(draw(between.cases()), pods=[])
    names = [n.meta.name for n in case.nodes]
    gone = draw(st.sets(st.sampled_from(names), min_size=1)) if names else set()
    return Question(case, frozenset(gone))


@SEARCH
@given(questions(), st.booleans())
def test_every_evicted_pod_has_a_place_or_a_reason(question: Question, landed: bool) -> None:
    outcome = question.ask(landed=landed)

    placed = [*outcome.placements, *(p for n in outcome.new_nodes for p in n.pods)]
    stuck = [p for u in outcome.unschedulable for p in u.pods]
    assert sorted(placed + stuck) == sorted(p.meta.key for p in question.moved)
    assert (outcome.refusal is None) == (not stuck)


@SEARCH
@given(questions(), st.booleans())
def test_places_are_legal_once_the_nodes_are_gone(question: Question, landed: bool) -> None:
    outcome = question.ask(landed=landed)

    case = question.without()
    assert plans.objections(outcome, case.snapshot(), case.types) == []
    assert not frozenset(outcome.placements.values()) & question.gone


@st.composite
def plain_questions(draw: st.DrawFn) -> Question:
    """Without constraints between pods, so that the order of classes does not depend on who else is about."""
    nodes = draw(strategies.nodes())
    pods = draw(strategies.pods(4))
    running = [
        replace(p, node_name=draw(st.sampled_from(nodes)).meta.name, unschedulable=False)
        for p in pods
        if nodes
    ]
    case = between.Case(
        [], running, nodes, draw(strategies.node_pools()), draw(strategies.instance_types())
    )
    names = [n.meta.name for n in nodes]
    gone = draw(st.sets(st.sampled_from(names), min_size=1)) if names else set()
    return Question(case, frozenset(gone))


@SEARCH
@given(plain_questions())
def test_the_answer_is_that_of_a_cluster_without_the_nodes(question: Question) -> None:
    outcome, slow = question.ask(), question.slowly()

    assert dict(outcome.placements) == dict(slow.placements)
    assert outcome.new_nodes == slow.new_nodes
    assert [u.pods for u in outcome.unschedulable] == [u.pods for u in slow.unschedulable]


@SEARCH
@given(questions())
def test_without_new_nodes_none_is_made_and_with_one_at_most_one(question: Question) -> None:
    none, one = question.ask(new_nodes_most=0), question.ask(new_nodes_most=1)

    assert none.new_nodes == ()
    assert one.refusal is not None or len(one.new_nodes) <= 1
    assert (none.refusal is not None) or one.refusal is None
