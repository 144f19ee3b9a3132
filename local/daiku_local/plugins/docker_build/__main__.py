"""Serve the stand-in for `docker-build` to the engine that starts this process."""

from daiku_local.plugins import servicer
from daiku_local.plugins.docker_build import provider

servicer.serve(provider.DockerBuildProvider())
