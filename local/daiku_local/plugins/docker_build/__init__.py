"""The stand-in for the Pulumi plugin `docker-build`."""
