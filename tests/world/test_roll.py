"""`daiku roll` on a real control plane with the kwok cloud: nodes go in waves, pods stay, a roll can be left."""

import signal
import subprocess
import time
from collections.abc import Generator

import pytest
from tests.running import DAIKU
from tests.world import kwok_cluster
from tests.world.kwok_cluster import CLAIMS, REPLICAS, Cluster, until

pytestmark = pytest.mark.world

NODES = "/api/v1/nodes"
PDBS = "/apis/policy/v1/namespaces/default/poddisruptionbudgets"


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Generator[Cluster]:
    with kwok_cluster.cluster(tmp_path_factory.mktemp("roll") / "world") as made:
        yield made


def test_a_dry_run_names_the_nodes_and_changes_nothing(cluster: Cluster) -> None:
    answer = _roll(cluster, "--nodepool", "kwok", "--dry-run")

    assert len(answer.stdout.splitlines()) == REPLICAS
    assert _unmarked(cluster) == cluster.claims()
    assert _roll(cluster, "--kubelet-version", "9.9").returncode == 2


def test_a_roll_that_is_left_paused_and_resumed_replaces_every_node_once(cluster: Cluster) -> None:
    old, lowest = cluster.claims(), cluster.running()

    process = _start(cluster, "--nodepool", "kwok")
    # The first may be on its way, and its replacement there, before the last is marked.
    until(lambda: not old & _unmarked(cluster))
    process.send_signal(signal.SIGINT)
    _, told = process.communicate(timeout=30)
    assert process.returncode == 130
    assert "the roll goes on in the cluster" in told

    # Paused: what is going goes, and no more.
    assert "paused" in _roll(cluster, "--pause").stdout
    until(lambda: not _is_anything_going(cluster))
    left = old & cluster.claims()
    assert left
    time.sleep(8)
    assert left <= cluster.claims()
    assert "paused" in _roll(cluster, "--status").stdout

    process = _start(cluster, "--nodepool", "kwok")
    while process.poll() is None:
        lowest = min(lowest, cluster.running())
        time.sleep(0.3)
    said, told = process.communicate()

    assert process.returncode == 0, told
    assert f"{REPLICAS} of {REPLICAS} nodes replaced" in said
    assert not old & cluster.claims()
    # The budget lets one node go at a time.
    assert lowest >= REPLICAS - 1
    assert "no roll is under way" in _roll(cluster, "--status").stdout


def test_an_aborted_roll_leaves_the_rest_as_it_is(cluster: Cluster) -> None:
    until(lambda: cluster.running() == REPLICAS)
    old = cluster.claims()

    begun = _roll(cluster, "--kubelet-version", _kubelet(cluster), "--no-wait")
    assert begun.returncode == 0, begun.stderr
    assert "aborted" in _roll(cluster, "--abort").stdout
    time.sleep(10)

    assert len(old & cluster.claims()) >= REPLICAS - 1
    assert _unmarked(cluster) == cluster.claims()


def test_a_roll_that_a_budget_blocks_says_which(cluster: Cluster) -> None:
    until(lambda: cluster.running() == REPLICAS)
    guard = {
        "apiVersion": "policy/v1",
        "kind": "PodDisruptionBudget",
        "metadata": {"name": "guard"},
        "spec": {"maxUnavailable": 0, "selector": {"matchLabels": {"app": "web"}}},
    }
    cluster.client.create(PDBS, guard)

    process = _start(cluster, "--nodepool", "kwok")
    assert process.stderr is not None
    said = next((line for line in process.stderr if " stays: " in line or " goes and " in line), "")
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=30)
    _roll(cluster, "--abort")
    cluster.client.delete(f"{PDBS}/guard")

    assert "guard" in said
    assert "default/web-" in said


def _start(cluster: Cluster, *arguments: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [DAIKU, "roll", *arguments],
        env=cluster.environ,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        # Of a shell's background job SIGINT is ignored, and so it would be of its children.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),  # noqa: PLW1509
    )


def _roll(cluster: Cluster, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [DAIKU, "roll", *arguments],
        env=cluster.environ,
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )


def _unmarked(cluster: Cluster) -> set[str]:
    """Uids of NodeClaims that are not to be rolled."""
    return {
        claim["metadata"]["uid"]
        for claim in cluster.items(CLAIMS)
        if "daiku.dev/roll" not in claim["metadata"].get("annotations", {})
    }


def _is_anything_going(cluster: Cluster) -> bool:
    """Whether within two seconds a node is about to go: chosen, or on its way."""
    ends = time.monotonic() + 2
    while time.monotonic() < ends:
        taints = [t for n in cluster.items(NODES) for t in n["spec"].get("taints", ())]
        if any(t["key"] == "karpenter.sh/disrupted" for t in taints) or any(
            "deletionTimestamp" in claim["metadata"] for claim in cluster.items(CLAIMS)
        ):
            return True
        time.sleep(0.2)
    return False


def _kubelet(cluster: Cluster) -> str:
    nodes = cluster.items(NODES)
    ours = (n for n in nodes if n["metadata"]["name"].startswith("kwok-"))
    return next(ours)["status"]["nodeInfo"]["kubeletVersion"]
