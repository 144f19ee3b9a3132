"""What was begun is finished: from the NodeClaim to the machine, and to its end."""
