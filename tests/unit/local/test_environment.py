"""What `daiku local exec` gives a command, and what it keeps from it."""

import os
from importlib import metadata
from pathlib import Path

import pytest

from daiku_local import environment
from daiku_local.world import World

TOOLS = Path("/cache/tools/bin")


@pytest.fixture
def world(tmp_path: Path) -> World:
    return World(
        folder=str(tmp_path),
        kubernetes_endpoint="https://127.0.0.1:6443",
        kubernetes_version="1.34",
        service_account_issuer="https://oidc.eks.us-west-2.amazonaws.com/id/ABC",
        aws_endpoint="http://127.0.0.1:5000",
    )


def test_a_command_is_led_to_the_world(world: World) -> None:
    seen = environment.of_commands(world, TOOLS, {})

    assert seen["KUBECONFIG"] == str(Path(world.folder) / "kubeconfig")
    assert seen["AWS_ENDPOINT_URL"] == "http://127.0.0.1:5000"
    assert seen["AWS_REGION"] == seen["AWS_DEFAULT_REGION"] == "us-west-2"
    assert seen["PULUMI_BACKEND_URL"] == f"file://{world.folder}/pulumi-state?metadata=skip"
    assert not seen["PULUMI_CONFIG_PASSPHRASE"]
    assert seen["DAIKU_WORLD"] == world.folder


def test_tools_come_before_own_programs_before_the_users(world: World) -> None:
    seen = environment.of_commands(world, TOOLS, {"PATH": "/usr/bin"})

    assert seen["PATH"].split(os.pathsep) == [
        str(TOOLS),
        str(environment.own_programs()),
        "/usr/bin",
    ]


def test_the_engine_finds_stand_ins_in_its_own_cache_and_none_on_the_path(
    world: World, tmp_path: Path
) -> None:
    environment.install_plugins(tmp_path)
    environment.install_plugins(tmp_path)

    found = sorted(tmp_path.glob("pulumi/plugins/*/*"))
    assert [(f.parent.name, f.name) for f in found] == [
        (f"resource-{name}-v{metadata.version(f'pulumi-{name}')}", f"pulumi-resource-{name}")
        for name in ("aws", "docker-build", "eks", "kubernetes")
    ]
    assert all(os.access(each, os.X_OK) for each in found)
    assert environment.of_commands(world, TOOLS, {})["PULUMI_IGNORE_AMBIENT_PLUGINS"] == "true"


def test_another_account_or_cluster_is_forgotten(world: World) -> None:
    base = {
        "AWS_PROFILE": "production",
        "AWS_SESSION_TOKEN": "real",
        "AWS_ENDPOINT_URL_EC2": "https://elsewhere",
        "KUBECONFIG": "/home/me/.kube/config",
        "PULUMI_ACCESS_TOKEN": "real",
    }

    command = environment.of_commands(world, TOOLS, base)
    part = environment.of_parts(Path(world.folder), TOOLS, base)

    assert not set(command.values()) & set(base.values())
    assert not set(part) & set(base)


def test_what_is_the_users_own_stays(world: World) -> None:
    base = {"HOME": "/home/me", "TERM": "xterm", "PULUMI_OPTION_COLOR": "never"}

    assert base.items() <= environment.of_commands(world, TOOLS, base).items()


def test_the_loopback_is_asked_directly_where_there_is_a_proxy(world: World) -> None:
    base = {"HTTP_PROXY": "http://proxy:3128", "NO_PROXY": "intranet,localhost"}

    seen = environment.of_commands(world, TOOLS, base)

    assert seen["NO_PROXY"] == "intranet,localhost,127.0.0.1"
    assert seen["no_proxy"] == "127.0.0.1,localhost"


def test_a_part_gets_no_stand_in_credentials(world: World) -> None:
    seen = environment.of_parts(Path(world.folder), TOOLS, {})

    assert not [name for name in seen if name.startswith(("AWS_", "KUBE", "PULUMI_"))]
