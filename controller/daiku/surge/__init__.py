"""Surge: a pod's replacement is ready before the pod goes, for Deployments that ask for it."""
