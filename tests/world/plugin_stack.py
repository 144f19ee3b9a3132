"""What tests of the stand-in plugins share: a program in a folder, run by the real Pulumi engine."""

import json
import subprocess
import sys
import textwrap
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

HEAD = """
import json
import pulumi
import pulumi_aws as aws
import pulumi_eks as eks
import pulumi_kubernetes as k8s
from pulumi import Output, ResourceOptions
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
        backend = Path(self.env["PULUMI_BACKEND_URL"].removeprefix("file://"))
        stacks = backend / ".pulumi" / "stacks" / self.folder.name
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
    Path(env["PULUMI_BACKEND_URL"].removeprefix("file://")).mkdir(parents=True, exist_ok=True)
    stack.run("stack", "init", "test")
    return stack
