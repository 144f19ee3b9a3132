"""Asking the controller that leads: what it says, and every reason why there is no answer."""

from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any

import msgspec
import pytest
from tests.build import NOW

from daiku.api import decisions
from daiku.api.decisions import Decisions
from daiku.cli import leader
from daiku.cli.leader import Word
from daiku.kube import errors
from daiku.runtime import clock

LEASE = "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases/karpenter-leader-election"
POD = "/api/v1/namespaces/kube-system/pods/daiku-7d4b9-x2x9k"
ANSWER = f"{POD}:8000/proxy/decisions"
SAID = Decisions(
    version="0.1.0",
    identity="daiku_daiku-7d4b9-x2x9k_abcd",
    leading=True,
    now=NOW + timedelta(seconds=3.2),
    at=NOW,
)
GONE, FORBIDDEN = errors.NotFound("404"), errors.Denied("403: no")


def lease(holder: str | None = SAID.identity) -> dict[str, Any]:
    return {"spec": {"holderIdentity": holder, "leaseDurationSeconds": 15}}


def pod(port: str = "metrics", number: int = 8000) -> dict[str, Any]:
    ports = [{"name": port, "containerPort": number}, {"name": "health", "containerPort": 8081}]
    return {"spec": {"containers": [{"name": "sidecar"}, {"name": "controller", "ports": ports}]}}


@dataclass
class Server:
    """An API server of these answers; what is not among them does not exist."""

    answers: dict[str, Any]
    asked: list[str] = field(default_factory=list[str])

    def get(self, path: str, *, seconds: float = 0.0) -> bytes:
        self.asked.append(path)
        assert not path.endswith("decisions") or 0 < seconds <= 10
        answer = self.answers.get(path, GONE)
        if isinstance(answer, Exception):
            raise answer
        if isinstance(answer, Decisions):
            return decisions.encode(answer)
        return answer if isinstance(answer, bytes) else msgspec.json.encode(answer)


@pytest.fixture(autouse=True)
def no_time_passes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(clock, "monotonic", lambda: 100.0)


def ask(answers: dict[str, Any], **environ: str) -> Word:
    return leader.ask(Server(answers), environ)  # type: ignore[arg-type]


def test_the_holder_of_the_lease_is_asked_through_the_api_server() -> None:
    found = ask({LEASE: lease(), POD: pod(), ANSWER: SAID})

    assert (found.decisions, found.why) == (SAID, "")
    assert found.said() == "from the controller, 3 s ago"
    assert found.age_seconds() == pytest.approx(3.2)  # pyright: ignore[reportUnknownMemberType]


def test_it_gets_older_while_it_is_looked_at() -> None:
    word = Word(decisions=SAID, heard=80.0)

    assert word.said() == "from the controller, 23 s ago"


def test_what_was_found_out_earlier_is_as_old_as_that() -> None:
    found = ask({LEASE: lease(), POD: pod(), ANSWER: SAID})

    assert found.said(NOW - timedelta(seconds=30)) == "from the controller, 33 s ago"
    assert found.said(NOW - timedelta(minutes=10)) == "from the controller, 10 min ago"


@pytest.mark.parametrize(("name", "port"), [("http-metrics", 8000), ("other", 8080)])
def test_the_port_is_that_of_the_metrics_by_any_usual_name(name: str, port: int) -> None:
    server = Server({LEASE: lease(), POD: pod(name)})

    leader.ask(server, {})  # type: ignore[arg-type]

    assert server.asked[-1] == f"{POD}:{port}/proxy/decisions"


def test_a_lease_of_another_name_and_namespace_is_found() -> None:
    answers = {
        LEASE.replace("kube-system", "autoscaling").replace("karpenter-leader", "other"): lease(),
        POD.replace("kube-system", "autoscaling"): pod(),
        ANSWER.replace("kube-system", "autoscaling"): SAID,
    }

    found = ask(
        answers,
        LEADER_ELECTION_NAMESPACE="autoscaling",
        LEADER_ELECTION_NAME="other-election",
    )

    assert found.decisions == SAID


NOBODY = "no controller holds the Lease karpenter-leader-election in kube-system"
STANDBY = msgspec.structs.replace(SAID, leading=False)
NEW = msgspec.structs.replace(SAID, at=None)
CHART = "is held by karpenter-5f_6a, which is not Daiku"
PROCESS = "is no pod of kube-system: it has ended, or runs outside of the cluster"
NO_RIGHT = "without the right to get pods/proxy in kube-system"
ASKED = {LEASE: lease(), POD: pod()}


@pytest.mark.parametrize(
    ("answers", "why"),
    [
        pytest.param({}, NOBODY, id="no Lease"),
        pytest.param({LEASE: lease("")}, NOBODY, id="given back"),
        pytest.param({LEASE: lease(None)}, NOBODY, id="never held"),
        pytest.param({LEASE: {}}, NOBODY, id="empty"),
        pytest.param({LEASE: FORBIDDEN}, "in kube-system cannot be read: 403: no", id="no right to the Lease"),
        pytest.param({LEASE: lease("karpenter-5f_6a")}, CHART, id="Karpenter"),
        pytest.param({LEASE: lease()}, PROCESS, id="a process"),
        pytest.param({LEASE: lease(), POD: FORBIDDEN}, "the pod of the controller cannot", id="no right to pods"),
        pytest.param(ASKED, "is older than this command", id="an old controller"),
        pytest.param({**ASKED, ANSWER: FORBIDDEN}, NO_RIGHT, id="no right to the proxy"),
        pytest.param({**ASKED, ANSWER: errors.Unreachable("timeout")}, "be asked: timeout", id="a policy drops it"),
        pytest.param({**ASKED, ANSWER: errors.Rejected("address")}, "be asked: address", id="a loopback address"),
        pytest.param({**ASKED, ANSWER: b"<html>"}, "is not one of a controller", id="somebody else answers"),
        pytest.param({**ASKED, ANSWER: b'{"schemaVersion": 99}'}, "newer than this command", id="a newer controller"),
        pytest.param({**ASKED, ANSWER: STANDBY}, "does not lead", id="a standby"),
        pytest.param({**ASKED, ANSWER: NEW}, "decided nothing yet", id="before its first tick"),
    ],
)  # fmt: skip
def test_why_there_is_no_answer_is_said(answers: dict[str, Any], why: str) -> None:
    found = ask(answers)

    assert found.decisions is None
    assert found.age_seconds() is None
    assert why in found.why
    assert "\n" not in found.why


def test_an_api_server_that_is_gone_meanwhile_is_a_reason_too() -> None:
    assert ask({LEASE: errors.Unreachable("no answer of the API server")}).why.endswith(
        "no answer of the API server"
    )
