"""Probes: when they are asked, what the answers add up to, and asking for real."""

import threading
from collections.abc import Generator
from http.server import BaseHTTPRequestHandler, HTTPServer
from typing import Any

import pytest

from daiku_local.agent import probes
from daiku_local.agent.environment import PodConfigError
from daiku_local.agent.probes import Kind, Probe, Prober


class _Answers(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        self.send_response(int(self.path.strip("/")))
        self.end_headers()
        self.wfile.write(b"because")

    def log_message(self, *_: Any) -> None:
        """Say nothing."""


@pytest.fixture
def port() -> Generator[int]:
    with HTTPServer(("127.0.0.1", 0), _Answers) as server:
        threading.Thread(target=server.serve_forever, args=(0.01,)).start()
        yield server.server_port
        server.shutdown()


def _prober(kind: Kind = "liveness", **changed: Any) -> Prober:
    probe = Probe(kind=kind, port=8080, path="/", **changed)
    return probes.start({kind: probe}, 100.0)[kind]


def _run(prober: Prober, answers: str) -> list[bool]:
    """Verdict after each answer, + for good."""
    verdicts: list[bool] = []
    for answer in answers:
        prober.answer(good=answer == "+")
        verdicts.append(prober.verdict)
    return verdicts


def test_the_first_question_waits_for_the_initial_delay() -> None:
    prober = _prober(initial_delay_seconds=5)

    assert not prober.is_due(104.9)
    assert prober.is_due(105.0)


def test_the_next_question_waits_for_the_answer_and_the_period() -> None:
    prober = _prober(period_seconds=10)
    prober.ask(100.0)

    assert not prober.is_due(120.0), "an answer is outstanding"
    prober.answer(good=True)
    assert not prober.is_due(109.9)
    assert prober.is_due(110.0)


def test_a_container_that_is_not_ready_is_asked_every_second() -> None:
    prober = _prober("readiness", period_seconds=10)
    prober.ask(100.0)
    prober.answer(good=False)
    assert prober.is_due(101.0)

    prober.ask(101.0)
    prober.answer(good=True)

    assert not prober.is_due(102.0)


@pytest.mark.parametrize(
    ("kind", "expected"), [("liveness", True), ("readiness", False), ("startup", False)]
)
def test_a_container_is_alive_until_proven_dead_and_else_unproven(
    kind: Kind, expected: bool
) -> None:
    assert _prober(kind).verdict is expected


@pytest.mark.parametrize(
    ("answers", "expected"),
    [
        pytest.param("--", [True, True], id="two failures are not enough"),
        pytest.param("---", [True, True, False], id="three in a row are"),
        pytest.param("--+--", [True] * 5, id="a success in between starts anew"),
        pytest.param("---+", [True, True, False, True], id="one success brings it back"),
    ],
)
def test_failures_count_only_in_a_row(answers: str, expected: list[bool]) -> None:
    assert _run(_prober(failure_threshold=3), answers) == expected


def test_successes_can_be_asked_to_come_in_a_row() -> None:
    prober = _prober("readiness", success_threshold=2)

    assert _run(prober, "+-++") == [False, False, False, True]


def test_a_startup_that_never_succeeds_is_established_once() -> None:
    prober = _prober("startup", failure_threshold=2)

    news = [prober.answer(good=False) for _ in range(3)]

    assert news == [False, True, False]


@pytest.mark.parametrize(
    ("path", "problem"),
    [("/200", ""), ("/302", ""), ("/399", ""), ("/404", "HTTP status 404: because")],
)
def test_a_status_below_400_is_success(port: int, path: str, problem: str) -> None:
    assert probes.ask(Probe(kind="liveness", port=port, path=path), "127.0.0.1") == problem


def test_a_tcp_probe_only_connects(port: int) -> None:
    assert probes.ask(Probe(kind="liveness", port=port, path=None), "127.0.0.1") == ""


def test_nobody_listening_is_a_failure() -> None:
    problem = probes.ask(Probe(kind="liveness", port=1, path="/"), "127.0.0.1")

    assert problem.startswith("ConnectionRefusedError")


def test_a_probe_is_read_with_kubernetes_defaults() -> None:
    container = {
        "ports": [{"name": "health", "containerPort": 8081}],
        "livenessProbe": {"httpGet": {"port": "health"}},
        "readinessProbe": {"tcpSocket": {"port": 8080}, "periodSeconds": 2},
    }

    found = probes.decode(container)

    assert found == {
        "liveness": Probe(kind="liveness", port=8081, path="/"),
        "readiness": Probe(kind="readiness", port=8080, path=None, period_seconds=2),
    }


@pytest.mark.parametrize(
    ("probe", "message"),
    [
        pytest.param({"exec": {"command": ["true"]}}, "neither httpGet nor tcpSocket", id="exec"),
        pytest.param({"httpGet": {"port": "web"}}, "port 'web'", id="a port without a number"),
    ],
)
def test_a_probe_that_cannot_be_asked_is_refused(probe: dict[str, Any], message: str) -> None:
    with pytest.raises(PodConfigError, match=message):
        probes.decode({"startupProbe": probe})
