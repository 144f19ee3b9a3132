"""Decisions do not depend on the interpreter's hash seed, which changes the order of sets."""

import os
import subprocess
import sys
from pathlib import Path

PROGRAM = """
from datetime import timedelta
from daiku.model import labels
from daiku.settings import Settings
from daiku.tick import tick
from tests import build

zones = build.needs(build.require(labels.ZONE, "In", "zone-b", "zone-a"), build.require("team", "In", "x", "y"))
pods = [p for i, cpu in enumerate(("100m", "1", "1500m")) for p in build.pods(20, f"d{i}", cpu=cpu)]
pods += build.pods(9, "pinned", required_node_affinity=(zones,))
pool = build.node_pool(requirements=build.needs(build.require("team", "Exists")))
cluster = build.cluster(*pods, pool, build.node_class(), build.daemon_set(cpu="100m"))
cluster.snapshot(build.NOW)
now = build.NOW + timedelta(seconds=5)
plan = tick(cluster.snapshot(now), cluster.catalogue, Settings(), now)
for command in plan.commands:
    print(command.key)
    if hasattr(command, "node_claim"):
        print(command.pods, command.node_claim.requirements.to_wire(), dict(command.node_claim.meta.labels))
print(sorted(plan.report.placements.items()), plan.report.notes)
"""
ROOT = Path(__file__).resolve().parents[2]


def decided(seed: str) -> str:
    environment = {**os.environ, "PYTHONHASHSEED": seed, "PYTHONPATH": str(ROOT)}
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM],
        check=True,
        capture_output=True,
        text=True,
        env=environment,
        cwd=ROOT,
    )
    return done.stdout


def test_two_hash_seeds_make_the_same_decision() -> None:
    first = decided("1")

    assert "NodeClaim/default-" in first
    assert decided("2") == first
