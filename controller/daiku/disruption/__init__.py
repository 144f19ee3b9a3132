"""Which nodes may go, and in which order they do."""
