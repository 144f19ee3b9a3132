import io
import json
from contextlib import nullcontext
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console
from rich.text import Text
from tests import build
from typer.testing import CliRunner, Result

from daiku import events
from daiku.cli.event_log import Said
from daiku.cli.leader import Word
from daiku.cli.main import app
from daiku.cli.viewing import live, rows, screen
from daiku.cli.viewing.choice import Choice, press
from daiku.cli.viewing.ledger import Ledger
from daiku.cli.viewing.source import Told
from daiku.model import labels
from daiku.model.node import Node
from daiku.model.nodeclaim import NodeClaim
from daiku.model.pod import Pod
from daiku.model.taints import Taint

HOUR = timedelta(hours=1)
END, PAGE_DOWN = "\x1b[F", "\x1b[6~"
GLYPHS = screen.Glyphs()
CLAIM = build.node_claim("c")


def ledger(*objects: events.Object) -> Ledger:
    made = Ledger()
    for each in objects:
        made.apply(events.Seen(each))
    return made


def shown(*objects: events.Object, discount: float = 0.0) -> list[rows.Row]:
    return rows.rows(
        ledger(*objects).machines(),
        lambda _type, _zone, _capacity: 0.2,
        discount,
        build.NOW + 3 * HOUR,
    )


def chosen() -> Choice:
    return Choice(sort="name", reverse=False, chosen={}, discount=0)


def fleet(count: int) -> list[events.Object]:
    """Nodes with names as long as AWS makes them."""
    made: list[events.Object] = []
    for number in range(count):
        name = f"ip-10-0-{number}.us-west-2.compute.internal"
        made += [build.node(name), build.pod(f"p{number}", node=name, cpu=f"{number % 4}")]
    return made


def _pod(name: int, node: str, cpu: int, phase: str) -> Pod:
    return build.pod(f"p{name}", node=node, cpu=f"{cpu}m", phase=phase)


POD = st.builds(
    _pod,
    st.integers(0, 5),
    st.sampled_from(["", "a", "b"]),
    st.integers(0, 3000),
    st.sampled_from(["Pending", "Running", "Succeeded"]),
)
GONE = st.integers(0, 5).map(lambda name: f"default/p{name}")


@given(st.lists(POD | GONE, max_size=30))
def test_sums_that_follow_events_are_those_of_counting_all_pods_again(
    happened: list[Pod | str],
) -> None:
    """The reference: remember the last version of every pod, and add up."""
    made, known = ledger(build.node("a"), build.node("b")), dict[str, Pod]()
    for each in happened:
        if isinstance(each, str):
            made.apply(events.Gone(Pod, each))
            known.pop(each, None)
        else:
            made.apply(events.Seen(each))
            known[each.meta.key] = each

    on = {
        name: [p for p in known.values() if p.node_name == name and not p.is_finished]
        for name in ("a", "b")
    }
    for machine in made.machines():
        assert machine.node is not None
        own = on[machine.node.meta.name]
        assert machine.pods == len(own)
        assert machine.requests.get("cpu", 0) == sum(p.requests.get("cpu", 0) for p in own)
    assert made.waiting == sum(1 for p in known.values() if not p.node_name and not p.is_finished)


def test_what_a_new_list_does_not_hold_is_gone() -> None:
    made = ledger(build.node("a"), build.node("b"), build.pod("p", node="a"))

    made.apply(events.Listed(Node, frozenset({"a"})))
    made.apply(events.Listed(Pod, frozenset()))

    assert [(m.node.meta.name, m.pods) for m in made.machines() if m.node] == [("a", 0)]


def test_a_claim_and_its_node_are_one_line() -> None:
    found = shown(build.node("n", claim=CLAIM), CLAIM, build.node_claim("young"))

    assert [(row.name, row.node_claim) for row in found] == [("n", "c"), ("young", "young")]


STATES: list[tuple[str, list[events.Object]]] = [
    ("ready", [build.node("n", claim=CLAIM), CLAIM]),
    ("ready", [build.node("n")]),
    ("not ready", [build.node("n", ready=False)]),
    ("cordoned", [replace(build.node("n"), unschedulable=True)]),
    (
        "disrupted",
        [replace(build.node("n"), taints=(Taint(labels.DISRUPTED_TAINT, "", "NoSchedule"),))],
    ),
    ("launching", [build.node_claim("c", launched=False)]),
    ("joining", [build.node_claim("c", registered=False)]),
    ("terminating", [build.node("n", deleted=build.NOW)]),
]


@pytest.mark.parametrize(("state", "objects"), STATES)
def test_the_state_is_the_word_that_says_most(state: str, objects: list[events.Object]) -> None:
    assert [row.state for row in shown(*objects)] == [state]


def test_a_discount_is_taken_off_every_price() -> None:
    assert [row.usd_per_hour for row in shown(build.node("n"), discount=0.15)] == [0.17]


def test_what_has_no_price_is_counted_and_said() -> None:
    found = rows.rows(
        ledger(build.node("n")).machines(), lambda _type, _zone, _capacity: None, 0, build.NOW
    )
    sums = rows.totals(found, 0)

    assert (sums.usd_per_hour, sums.unpriced) == (0, 1)
    said = "\n".join(t.plain for t in screen.header(sums, (), 80, GLYPHS))
    assert "price unknown" in said
    assert "$" not in said


def test_what_has_no_price_beside_nodes_that_have_one_is_counted_and_said() -> None:
    spot = {labels.INSTANCE_TYPE: "x", labels.CAPACITY_TYPE: "spot"}
    price = {"x": None}
    found = rows.rows(
        ledger(build.node("a"), build.node("b", labels_of=spot)).machines(),
        lambda instance_type, _zone, _capacity: price.get(instance_type, 0.2),
        0,
        build.NOW,
    )

    said = "\n".join(t.plain for t in screen.header(rows.totals(found, 0), (), 80, GLYPHS))

    assert "1 node without a price: counted as $0" in said
    assert "1 on-demand $0.20/h, 1 spot price unknown" in said


@pytest.mark.parametrize("sort", list(rows.SORTS))
def test_every_order_ends_in_the_name(sort: str) -> None:
    twins = [build.node(name) for name in "cab"]

    found = rows.arrange(shown(*twins), sort, reverse=False, chosen={})

    assert [row.name for row in found] == ["a", "b", "c"]


@pytest.mark.parametrize("width", [40, 60, 80, 100, 120, 160, 240])
def test_no_line_is_wider_than_the_terminal(width: int) -> None:
    lines = screen.table(shown(*fleet(20)), width, GLYPHS)

    assert max(len(line.plain) for line in lines) <= width


def test_sixty_columns_still_say_how_full_a_node_is() -> None:
    found = shown(*fleet(3))

    fills = screen.header(rows.totals(found, 0), (), 60, GLYPHS)[1].plain
    heading, first, *_ = screen.table(found, 60, GLYPHS)

    assert len(fills) <= 60
    assert fills.count("%") == 2
    assert {"NODE", "STATE", "CPU"} <= set(heading.plain.split())
    assert "%" in first.plain


@pytest.mark.parametrize(
    ("width", "name"), [(240, "ip-10-0-1.us-west-2.compute.internal"), (100, "ip-10-0-1")]
)
def test_a_domain_that_all_share_goes_before_a_column_does(width: int, name: str) -> None:
    lines = screen.table(shown(*fleet(3)), width, GLYPHS)

    assert lines[2].plain.split()[0] == name


def test_a_terminal_without_blocks_gets_letters() -> None:
    glyphs = screen.Glyphs.of("ascii")
    lines = screen.table(shown(*fleet(3)), 60, glyphs)

    assert "\n".join(line.plain for line in lines).isascii()


def test_a_frame_is_as_high_as_the_terminal_and_scrolls_within_what_there_is() -> None:
    found, console = shown(*fleet(300)), Console(width=100, height=30)
    choice = chosen()

    for key in (END, PAGE_DOWN, "k", "j"):
        assert press(key, choice, console.height)
        lines = live.picture(found, Ledger(), choice, console)
        assert len(lines) == 30
        assert 0 <= choice.top < 300
    assert "of 300" in lines[-1].plain
    assert lines[-2].plain.startswith("ip-10-0-99 ")


def test_at_100_columns_capacity_type_and_price_are_shown() -> None:
    """With everything as long as it gets: a Node's name, a type, a state."""
    claim = build.node_claim("c", instance_type="m7gd.metal-24xl", initialized=False)
    name = "ip-10-110-220-240.us-west-2.compute.internal"
    young = build.node(name, claim=claim, initialized=False)

    heading, *lines = screen.table(shown(young, claim, *fleet(2)), 100, GLYPHS)

    assert {"NODE", "STATE", "CPU", "TYPE", "CAPACITY", "$/H"} <= set(heading.plain.split())
    assert any("initializing" in line.plain for line in lines)
    assert all("on-demand" in line.plain and "0.2000" in line.plain for line in lines)


def test_a_node_stays_selected_when_others_come_before_it() -> None:
    console, choice = Console(width=100, height=30), chosen()
    live.picture(shown(*fleet(3)), Ledger(), choice, console)
    press("j", choice, 30)
    live.picture(shown(*fleet(3)), Ledger(), choice, console)
    was = choice.selected

    first = build.node("a-node-that-came-later")
    lines = live.picture(shown(*fleet(3), first), Ledger(), choice, console)

    assert choice.selected == was == "ip-10-0-1.us-west-2.compute.internal"
    (marked,) = [line.plain for line in lines if any("reverse" in str(s) for s in line.spans)]
    assert marked.startswith("ip-10-0-1")


def test_what_is_typed_filters_at_once_and_is_taken_back_by_esc() -> None:
    console, choice = Console(width=120, height=30), chosen()
    found = shown(*fleet(12))

    def drawn(*keys: str) -> tuple[int, str]:
        for key in keys:
            assert press(key, choice, 30)
        lines = [line.plain for line in live.picture(found, Ledger(), choice, console)]
        return sum(line.startswith("ip-10") for line in lines), lines[-1]

    assert drawn("/", "1", "0-0-1", "x", "\x7f")[0] == 3
    assert drawn()[1].startswith("/10-0-1_   3 of 12 nodes")
    # A key that means something elsewhere is a letter here, until Enter.
    assert drawn("q")[0] == 0
    assert drawn("\x7f", "\n", "s")[0] == 3
    assert choice.sort != "name"
    assert drawn("/", "\x1b")[0] == 12


WORDS: list[tuple[str, int]] = [
    ("", 3),
    ("node-2", 1),
    ("zone=zone-a", 3),
    ("zone-a name=e-1", 1),
    ("capacity=zone-a", 0),
    ("colour=red", 0),
    ("ready c-4x", 3),
]


@pytest.mark.parametrize(("text", "nodes"), WORDS)
def test_every_word_is_in_a_column_or_in_the_one_it_names(text: str, nodes: int) -> None:
    claims = [build.node_claim(f"c{number}") for number in range(3)]
    nodes_of = [build.node(f"node-{n}", claim=claim) for n, claim in enumerate(claims)]

    found = rows.arrange(shown(*claims, *nodes_of), "name", reverse=False, chosen={}, text=text)

    assert len(found) == nodes


TOLD = Told(
    said=(
        Said(
            kind="NodeClaim",
            name="c",
            at=build.NOW,
            is_warning=True,
            reason="DisruptionBlocked",
            message="Pod default/p1 has do-not-disrupt",
        ),
    ),
    note="",
)


def test_enter_shows_the_pods_and_the_last_events_of_the_selected_node_and_goes_back() -> None:
    console, choice = Console(width=100, height=30), chosen()
    objects = [*fleet(2), build.pod("large", node="ip-10-0-1.us-west-2.compute.internal", cpu="3")]
    found, made = shown(*objects), ledger(*objects)

    def drawn(key: str) -> list[str]:
        assert press(key, choice, 30)
        return [line.plain for line in live.picture(found, made, choice, console, told=TOLD)]

    assert drawn("j")[-1].startswith("q quit")
    lines = drawn("\n")
    assert any("DisruptionBlocked: Pod default/p1 has do-not-disrupt" in line for line in lines)
    pods = [line.split() for line in lines if line.startswith("default/")]
    assert [each[0] for each in pods] == ["default/large", "default/p1"]
    assert pods[0][2:] == ["3", "1Gi"]
    assert max(map(len, lines)) <= 100
    assert drawn("\x1b")[-1].startswith("q quit")
    assert not choice.opened
    # In the list it ends the view.
    assert not press("\x1b", choice, 30)


def test_a_node_that_goes_while_it_is_looked_at_leads_back_and_says_so() -> None:
    console, choice = Console(width=100, height=30), chosen()
    choice.opened = "gone"

    lines = live.picture(shown(*fleet(2)), Ledger(), choice, console)

    assert any("node gone has gone" in line.plain for line in lines)
    assert not choice.opened


def test_the_help_names_every_key_and_any_key_ends_it() -> None:
    console, choice = Console(width=80, height=30), chosen()

    assert press("?", choice, 30)
    said = "\n".join(line.plain for line in live.picture([], Ledger(), choice, console))
    assert all(key in said for key in ("q", "?", "/", "Enter", "Esc", "PgUp", "s ", "r "))
    assert press("x", choice, 30)
    assert not choice.is_helped


class Busy:
    """A cluster in which something has always just changed."""

    notes: tuple[str, ...] = ()

    def __init__(self) -> None:
        self.ledger = ledger(*fleet(3))

    def price(self, _type: str, _zone: str, _capacity: str) -> float:
        return 0.2

    def drain(self, _seconds: float) -> bool:
        return True

    def told(self, _node: str, _claim: str) -> Told:
        return TOLD

    def word(self) -> Word:
        return Word(why="nobody leads")


def test_a_key_counts_in_a_cluster_that_never_stands_still(monkeypatch: pytest.MonkeyPatch) -> None:
    pressed = iter(["s", "", "q"])
    monkeypatch.setattr(live, "_keys", lambda: nullcontext(lambda _seconds: next(pressed)))
    choice = chosen()
    console = Console(file=io.StringIO(), width=100, height=30, force_terminal=True)

    live.show(cast("Any", Busy()), choice, console)

    assert choice.sort != "name"


def test_a_terminal_of_another_size_is_drawn_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    console = Console(file=io.StringIO(), width=100, height=30, force_terminal=True)
    heights: list[int] = []
    picture = live.picture

    def noted(*arguments: Any, **named: Any) -> list[Text]:
        heights.append(console.height)
        return picture(*arguments, **named)

    def wait(_seconds: float) -> str:
        console.height = 12
        return "" if len(heights) < 2 else "q"

    quiet = Busy()
    monkeypatch.setattr(quiet, "drain", lambda _seconds: False)
    monkeypatch.setattr(live, "_keys", lambda: nullcontext(wait))
    monkeypatch.setattr(live, "picture", noted)
    choice = chosen()
    live.show(cast("Any", quiet), choice, console)

    assert heights == [30, 12]


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (5, "5s"),
        (125, "2m"),
        (3600, "1h"),
        (12000, "3h20m"),
        (36600, "10h"),
        (360000, "4d4h"),
        (2e6, "23d"),
    ],
)
def test_ages_are_written_as_kubectl_does(seconds: float, text: str) -> None:
    assert screen.age(int(seconds)) == text


def view(*arguments: str, **environ: str) -> Result:
    return CliRunner().invoke(app, ["view", *arguments], env=environ)


def saved(folder: Path) -> str:
    """A cluster of two nodes in a file."""

    def node(name: str, kind: str, cpu: str) -> dict[str, Any]:
        known = {labels.CAPACITY_TYPE: kind, labels.INSTANCE_TYPE: "c-4x", labels.ZONE: "zone-a"}
        return {
            "apiVersion": "v1",
            "kind": "Node",
            "metadata": {"name": name, "uid": name, "labels": known},
            "status": {
                "allocatable": {"cpu": cpu, "memory": "8Gi", "pods": "10"},
                "conditions": [{"type": "Ready", "status": "True"}],
            },
        }

    asks = {"name": "c", "resources": {"requests": {"cpu": "1"}}}
    pod = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "p", "namespace": "default", "uid": "p"},
        "spec": {"nodeName": "one", "containers": [asks]},
    }
    items = [node("one", "spot", "4"), node("two", "on-demand", "2"), pod]
    file = folder / "now.json"
    file.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": items}))
    return str(file)


def test_a_saved_cluster_is_shown_without_any_cluster(tmp_path: Path) -> None:
    result = view("--from", saved(tmp_path))

    assert result.exit_code == 0
    assert "2 nodes (2 ready)" in result.stdout
    assert "one" in result.stdout
    assert "1/10" in result.stdout


def test_json_has_exactly_the_keys_that_programs_rely_on(tmp_path: Path) -> None:
    result = view("--from", saved(tmp_path), "--format", "json", "--filter", "capacity=spot")

    found = json.loads(result.stdout)
    assert list(found) == ["nodes", "totals", "source", "ageSeconds", "whyNotController"]
    assert [list(node) for node in found["nodes"]] == [
        ["name", "nodepool", "nodeClaim", "state", "instanceType", "zone", "capacityType", "pods", "podsMax",
         "cpuRequests", "cpuAllocatable", "memoryRequests", "memoryAllocatable", "usdPerHour", "ageSeconds",
         "going", "keptReason", "keptMessage"]
    ]  # fmt: skip
    assert found["nodes"][0]["name"] == "one"
    assert found["totals"]["nodes"] == 1


REFUSED: list[tuple[list[str], int, str]] = [
    (["--filter", "colour=red"], 2, "--filter colour=red: give COLUMN=PART with one of name,"),
    (["--from", "/nowhere.json"], 2, "/nowhere.json: No such file or directory"),
    (["--instance-types", "/nowhere.json"], 2, "instance types /nowhere.json"),
    ([], 1, "KUBECONFIG=/nowhere does not lead to an API server"),
]


@pytest.mark.parametrize(("arguments", "code", "message"), REFUSED)
def test_what_cannot_be_shown_is_one_message(arguments: list[str], code: int, message: str) -> None:
    result = view(*arguments, KUBECONFIG="/nowhere")

    assert result.exit_code == code
    assert message in result.stderr
    assert "Traceback" not in result.output


def test_claims_of_any_karpenter_have_a_line_before_their_node_comes() -> None:
    claim = build.node_claim("c", launched=False)

    assert isinstance(claim, NodeClaim)
    assert [row.name for row in shown(claim)] == ["c"]
