"""Limits of NodePools: no plan promises nodes that a limit refuses, and room of another NodePool is used instead."""

from hypothesis import given, settings
from hypothesis import strategies as st
from tests import build

from daiku.model import labels
from daiku.model.pod import Pod
from daiku.model.topology import Spread
from daiku.scheduling import claims, limits, problem, solver
from daiku.scheduling.solution import Solution
from daiku.settings import Settings
from daiku.state.snapshot import Snapshot

FEW = settings(deadline=None, max_examples=40, derandomize=True)
TYPES = [*build.family("c"), *build.family("m", 4)]
CATALOGUE = build.catalogue(*TYPES)
OVER_HOSTS = Spread(
    key=labels.HOSTNAME,
    max_skew=1,
    hard=True,
    selector=build.needs(build.require("app", "In", "web")),
)


def solved(pods: list[Pod], snapshot: Snapshot) -> Solution:
    return solver.solve(problem.build(pods, snapshot, CATALOGUE))


def refused(answer: Solution, snapshot: Snapshot) -> int:
    """How many of the plan's nodes the last look at limits refuses."""
    given_labels = claims.given_labels(TYPES)
    made = [
        claims.create(
            n, TYPES, Settings(), build.NOW, given=given_labels, taken={}, purpose=str(number)
        )
        for number, n in enumerate(answer.new_nodes)
    ]
    return len(made) - len(list(limits.within(made, snapshot, CATALOGUE)))


@FEW
@given(
    st.lists(
        st.tuples(
            st.sampled_from(["500m", "1", "1700m", "3"]),
            st.sampled_from(["512Mi", "2Gi", "9Gi"]),
            st.integers(1, 25),
            st.booleans(),
        ),
        min_size=1,
        max_size=4,
    ),
    st.lists(
        st.fixed_dictionaries(
            {}, optional={"cpu": st.sampled_from(["4", "17", "60"]), "nodes": st.just("3")}
        ),
        min_size=1,
        max_size=3,
    ),
)
def test_limits_refuse_nothing_that_was_planned(
    wanted: list[tuple[str, str, int, bool]], limits_of: list[dict[str, str]]
) -> None:
    pods = [
        pod
        for number, (cpu, memory, count, is_spread) in enumerate(wanted)
        for pod in build.pods(
            count,
            f"app-{number}",
            cpu=cpu,
            memory=memory,
            labels={"app": "web" if is_spread else "api"},
            spread=(OVER_HOSTS,) if is_spread else (),
        )
    ]
    pools = [build.node_pool(f"pool-{n}", limits=each or None) for n, each in enumerate(limits_of)]
    snapshot = build.cluster(*pods, *pools, build.node_class()).snapshot(build.NOW)

    answer = solved(pods, snapshot)

    assert refused(answer, snapshot) == 0
    if not all(limits_of):
        assert not answer.unschedulable


def test_what_a_limit_refuses_is_bought_elsewhere_as_cheaply_as_if_it_stood_alone() -> None:
    pods = [
        pod
        for number, (cpu, memory) in enumerate((("1700m", "2Gi"), ("700m", "5Gi"), ("300m", "1Gi")))
        for pod in build.pods(60, f"app-{number}", cpu=cpu, memory=memory)
    ]
    small = build.node_pool("small", limits={"cpu": "40"})
    large = build.node_pool("large")

    def price(*pools: object) -> float:
        snapshot = build.cluster(*pods, *pools, build.node_class()).snapshot(build.NOW)
        answer = solved(pods, snapshot)
        assert not answer.unschedulable
        return answer.usd_per_hour

    assert price(small, large) <= 1.005 * price(large)
