"""What tests of the stand-in plugins share: a program in a folder, run by the real Pulumi engine."""

import contextlib
import datetime as dt
import json
import os
import subprocess
import sys
import textwrap
import urllib.parse
import uuid
from collections.abc import Generator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import boto3
import pytest

from daiku_local import down, environment, toolchain, up
from daiku_local.world import World

HEAD = """
import json
import pulumi
import pulumi_aws as aws
import pulumi_eks as eks
import pulumi_kubernetes as k8s
from pulumi import Output, ResourceOptions
"""

NETWORK = """
    zones = aws.get_availability_zones(state="available").names
    vpc = aws.ec2.Vpc("vpc", cidr_block="10.0.0.0/16", tags={"Name": "vpc"})
    subnets = [
        aws.ec2.Subnet(
            f"subnet-{i}", vpc_id=vpc.id, cidr_block=f"10.0.{i}.0/24", availability_zone=zones[i]
        )
        for i in range(2)
    ]
"""


@dataclass(kw_only=True)
class Stack:
    """One stack of one program."""

    folder: Path
    env: dict[str, str]

    def write(self, program: str) -> None:
        """Make `program` the stack's program."""
        (self.folder / "__main__.py").write_text(HEAD + textwrap.dedent(program))

    def run(self, *arguments: str, check: bool = True, **env: str) -> str:
        """Run `pulumi`; give what it printed."""
        done = subprocess.run(
            ["pulumi", *arguments, "--non-interactive", "--color=never"],
            cwd=self.folder,
            env={**self.env, **env},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
        )
        if check != (done.returncode == 0):
            pytest.fail(f"pulumi {arguments} ended with {done.returncode}:\n{done.stdout[-8000:]}")
        return done.stdout

    def up(self, program: str | None = None, *arguments: str, check: bool = True) -> str:
        """Update the stack to `program`, or to the one that it has."""
        if program is not None:
            self.write(program)
        return self.run("up", "--yes", "--skip-preview", *arguments, check=check)

    def refuses(self, program: str) -> str:
        """Give what a preview of `program` says when it fails, with the lines joined."""
        self.write(program)
        return " ".join(self.run("preview", check=False).split())

    def steps(self) -> dict[str, str]:
        """What a preview would do, by name of the resource; what stays the same is left out."""
        text = self.run("preview", "--json")
        steps = json.loads(text[text.index("{\n") :])["steps"]
        return {
            step["urn"].rsplit("::", 1)[1]: step["op"]
            for step in steps
            if step["op"] not in {"same", "create-replacement", "delete-replaced"}
        }

    def state(self) -> dict[str, Any]:
        """Resources of the stack by name."""
        resources = json.loads(self.run("stack", "export"))["deployment"].get("resources", ())
        return {resource["urn"].rsplit("::", 1)[1]: resource for resource in resources}

    def outputs(self) -> dict[str, Any]:
        return json.loads(self.run("stack", "output", "--json", "--show-secrets"))

    def state_file(self) -> str:
        """The stack's state as it lies on disk."""
        stacks = _backend(self.env) / ".pulumi" / "stacks" / self.folder.name
        return (stacks / "test.json").read_text()

    def kubectl(self, *arguments: str, given: str | None = None) -> str:
        done = subprocess.run(
            ["kubectl", *arguments],
            env=self.env,
            input=given,
            capture_output=True,
            text=True,
            check=False,
        )
        if done.returncode:
            pytest.fail(f"kubectl {arguments}: {done.stderr}")
        return done.stdout


def make(folder: Path, env: dict[str, str]) -> Stack:
    """Make an empty stack named `test` of a project named as its folder."""
    folder.mkdir(parents=True)
    interpreter = Path(sys.prefix)
    (folder / "Pulumi.yaml").write_text(
        f"name: {folder.name}\n"
        f"runtime: {{name: python, options: {{virtualenv: {json.dumps(str(interpreter))}}}}}\n"
    )
    stack = Stack(folder=folder, env=env)
    stack.write("")
    _backend(env).mkdir(parents=True, exist_ok=True)
    stack.run("stack", "init", "test")
    return stack


def _backend(env: dict[str, str]) -> Path:
    """The folder of the engine's state."""
    return Path(urllib.parse.urlsplit(env["PULUMI_BACKEND_URL"]).path)


@contextlib.contextmanager
def world_in(folder: Path) -> Generator[World]:
    """A running world, stopped at the end."""
    place = folder / "world"
    yield up.up(place, toolchain.ensure(), dt.datetime.now(dt.UTC), print)  # noqa: TID251
    down.down(place, print)


@contextlib.contextmanager
def stack_in(folder: Path, world: World) -> Generator[Stack]:
    """An empty stack of a world, destroyed at the end."""
    env = environment.of_commands(world, toolchain.ensure().folder, os.environ)
    made = make(folder / f"p{uuid.uuid4().hex[:8]}", env)
    yield made
    made.run("destroy", "--yes", "--skip-preview")


def client(world: World, service: str) -> Any:
    """A client of the world's AWS."""
    return boto3.client(
        service,
        region_name=world.region,
        endpoint_url=world.aws_endpoint,
        aws_access_key_id="local",
        aws_secret_access_key="local",  # noqa: S106 - the stand-in AWS takes any
    )


def own_vpcs(world: World) -> list[str]:
    """Ids of the VPCs that somebody made."""
    found = client(world, "ec2").describe_vpcs()["Vpcs"]
    return [vpc["VpcId"] for vpc in found if not vpc["IsDefault"]]
