"""Serve the stand-in for `kubernetes` to the engine that starts this process."""

from daiku_local.plugins import servicer
from daiku_local.plugins.kubernetes import releases

servicer.serve(releases.WithReleases())
