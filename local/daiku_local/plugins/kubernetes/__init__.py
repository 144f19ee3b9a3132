"""The stand-in for the Pulumi plugin `kubernetes`: objects applied to the world's API server."""
