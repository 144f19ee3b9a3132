"""Manifests of Karpenter's older APIs as v1: each version is brought to the next, and what cannot be kept is said."""
