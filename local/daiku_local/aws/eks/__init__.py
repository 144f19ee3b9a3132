"""EKS: clusters, access entries, node groups, add-ons, Pod Identity associations, versions, updates.

moto's own EKS is not used: it answers with random endpoints and lacks half of this. The laptop has one
control plane, so every cluster made here shows that one's endpoint, certificate authority and issuer.
"""
