"""Serve the stand-in for `eks` to the engine that starts this process."""

# pyright: reportUnknownMemberType=false

import sys

import pulumi.provider

from daiku_local.plugins import lifeline
from daiku_local.plugins.eks import provider

lifeline.follow_engine()
pulumi.provider.main(provider.EksProvider(), sys.argv[1:])
