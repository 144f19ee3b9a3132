"""What an operator sees of the process: log lines and metrics."""
