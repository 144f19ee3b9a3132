"""What goes wrong while the tools are made, always with the remedy."""

import shlex
from collections.abc import Sequence


class ToolchainError(Exception):
    """A tool could not be made; the message says what was tried, what came of it, the remedy."""

    tool: str
    """What could not be made, such as "kubernetes 1.36.0"."""
    problem: str
    """What was asked and what was found."""
    remedy: str
    """What the reader can do."""
    command: tuple[str, ...]
    """The command that ended badly; empty when none was involved."""
    output: tuple[str, ...]
    """The last lines that the command printed."""

    def __init__(
        self,
        *,
        tool: str,
        problem: str,
        remedy: str,
        command: Sequence[str] = (),
        output: Sequence[str] = (),
    ) -> None:
        self.tool = tool
        self.problem = problem
        self.remedy = remedy
        self.command = tuple(command)
        self.output = tuple(output)
        lines = [f"{tool}: {problem}"]
        if self.command:
            lines.append(f"  command: {shlex.join(self.command)}")
        lines += [f"  | {line}" for line in self.output]
        lines.append(f"  remedy: {remedy}")
        super().__init__("\n".join(lines))
