"""`daiku`: the commands. What other packages add (`daiku local`) is mounted when they are installed."""

from daiku.cli.main import main

__all__ = ["main"]
