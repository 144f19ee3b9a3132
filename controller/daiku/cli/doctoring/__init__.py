"""Known traps of a cluster and its account, each with what it leads to and what to do."""
