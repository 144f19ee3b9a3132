"""The way from the API server to pods: what a cluster's network does, for pods that are processes of this machine.

The problem: such a pod listens on the loopback, and Kubernetes lets no loopback address into an EndpointSlice and
proxies to none. The idea: the cluster is shown another address for each (`agent.addresses`), and the API server asks
this proxy for every connection into the cluster (its egress selector, HTTP CONNECT), which knows where that leads.
Connections to kubelets and to metrics.k8s.io, which are on the loopback anyway, come by here too. Nothing is connected
to that is not on the loopback of this machine.
"""
