"""Daiku's laptop world: everything a cluster needs, on one machine, without an AWS account."""
