"""Constraints between pods: spread, affinity, anti-affinity and host ports, as counts per domain.

`rules` says for each class which counts it minds and which it changes, `cells` where nodes can be, `quotas` how a class
is divided among domains, `bays` which nodes of a domain take it, `place` does it class by class.
"""
