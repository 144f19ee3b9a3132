"""The root of the command line: which version it is, and what a shell can complete."""

import subprocess
from importlib import metadata

import pytest
from tests.running import DAIKU

COMPLETED: list[tuple[str, str]] = [
    ("daiku expl", "explain"),
    ("daiku explain nodec", "nodeclaim"),
    ("daiku lo", "local"),
    ("daiku local we", "weather"),
    ("daiku local weather sold-", "sold-out"),
    ("daiku instance-types --node-cl", "--node-class"),
]


def test_the_version_is_that_of_the_package() -> None:
    said = subprocess.run([DAIKU, "--version"], capture_output=True, text=True, check=True)

    assert said.stdout == f"daiku {metadata.version('daiku')}\n"


@pytest.mark.parametrize(("line", "completed"), COMPLETED)
def test_bash_completes_commands_and_options(line: str, completed: str) -> None:
    words = line.split()
    script = (
        'eval "$("$DAIKU" --show-completion bash)"; '
        f"COMP_WORDS=({line}); COMP_CWORD={len(words) - 1}; "
        '_daiku_completion "$DAIKU"; echo "${COMPREPLY[*]}"'
    )

    said = subprocess.run(
        ["bash", "-c", script], env={"DAIKU": DAIKU}, capture_output=True, text=True, check=True
    )

    assert said.stdout.split() == [completed]


@pytest.mark.parametrize(
    "command",
    [("view",), ("doctor",), ("explain", "node", "n"), ("snapshot",), ("roll", "--nodepool", "n")],
)
def test_without_a_cluster_the_variable_and_the_way_to_the_laptop_world_are_named(
    command: tuple[str, ...],
) -> None:
    environ = {"KUBECONFIG": "/nowhere", "PATH": "/usr/bin:/bin"}

    ended = subprocess.run(
        [DAIKU, *command], env=environ, capture_output=True, text=True, check=False
    )

    assert ended.returncode != 0
    assert "Set KUBECONFIG to a kubeconfig file" in ended.stderr
    assert "`daiku local exec -- COMMAND` sets it" in ended.stderr
