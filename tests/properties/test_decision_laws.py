"""What a controller says of its decisions is what a reader takes, whatever it is."""

from datetime import UTC

from hypothesis import given
from hypothesis import strategies as st

from daiku.api import decisions
from daiku.api.decisions import Decisions, Failing, KeptNode, Resting, UnderWay
from daiku.report import Blocker, Unschedulable

TEXTS = st.text(max_size=20)
NAMES = st.lists(TEXTS, max_size=3).map(tuple)
TIMES = st.datetimes(timezones=st.just(UTC))
DOLLARS = st.floats(min_value=0, max_value=1e6)
MAPPINGS = st.dictionaries(TEXTS, TEXTS, max_size=3)
BLOCKERS = st.builds(Blocker, nodepool=TEXTS, reason=TEXTS, asked=TEXTS, offered=TEXTS)
KEPT = st.builds(
    KeptNode,
    node_claim=TEXTS,
    node=TEXTS,
    node_pool=TEXTS,
    reason=TEXTS,
    message=TEXTS,
    decided=TIMES,
    until=st.none() | TIMES,
)
RESTING = st.builds(
    Resting,
    id=TEXTS,
    reason=TEXTS,
    method=TEXTS,
    node_claims=NAMES,
    node_pools=NAMES,
    new_nodes=st.integers(0, 100),
    saves_usd_per_hour=DOLLARS,
    sentence=TEXTS,
    decided=TIMES,
    until=TIMES,
)
UNDER_WAY = st.builds(UnderWay, key=TEXTS, kind=TEXTS, since=TIMES)
FAILING = st.builds(Failing, key=TEXTS, failures=st.integers(1, 99), why=TEXTS, until=TIMES)
STUCK = st.builds(Unschedulable, pods=NAMES, blockers=st.lists(BLOCKERS, max_size=2).map(tuple))
SAID = st.builds(
    Decisions,
    version=TEXTS,
    identity=TEXTS,
    leading=st.booleans(),
    now=TIMES,
    at=st.none() | TIMES,
    next_at=st.none() | TIMES,
    unschedulable=st.lists(STUCK, max_size=2).map(tuple),
    placements=MAPPINGS,
    kept=st.lists(KEPT, max_size=3).map(tuple),
    going=MAPPINGS,
    proposals=st.lists(RESTING, max_size=2).map(tuple),
    repacked=TEXTS,
    commands=st.lists(UNDER_WAY, max_size=2).map(tuple),
    failing=st.lists(FAILING, max_size=2).map(tuple),
    usd_per_hour=DOLLARS,
    new_usd_per_hour=DOLLARS,
    lower_bound_usd_per_hour=DOLLARS,
    notes=NAMES,
    settings=MAPPINGS,
    omitted=st.dictionaries(TEXTS, st.integers(1, 10**6), max_size=2),
)


@given(SAID)
def test_what_is_said_is_what_is_read(said: Decisions) -> None:
    assert decisions.decode(decisions.encode(said)) == said
