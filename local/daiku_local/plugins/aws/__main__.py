"""Serve the stand-in for `aws` to the engine that starts this process."""

from daiku_local.plugins import servicer
from daiku_local.plugins.aws import provider

servicer.serve(provider.AwsProvider())
