"""What goes wrong while the tools are made, always with the remedy."""

from collections.abc import Sequence


class ToolchainError(Exception):
    """A tool could not be made; the message names it, what was tried, what came of it and the remedy."""

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
        """Name of the set of tools, such as "kubernetes"."""
        self.problem = problem
        """What was asked and what was found."""
        self.remedy = remedy
        """What the reader can do."""
        self.command = tuple(command)
        """The command that ended badly; empty when none was involved."""
        self.output = tuple(output)
        """The last lines that the command printed."""
        lines = [f"{tool}: {problem}"]
        if self.command:
            lines.append(f"  command: {' '.join(self.command)}")
        lines += [f"  | {line}" for line in self.output]
        lines.append(f"  remedy: {remedy}")
        super().__init__("\n".join(lines))
