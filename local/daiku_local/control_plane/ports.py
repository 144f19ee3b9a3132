"""Ports that nobody uses now.

The system chooses them, so that two worlds never ask for the same one. Another program can still
take a port between the choice and its use; the process that lost then ends, and `up` chooses again.
"""

import socket
from contextlib import ExitStack
from dataclasses import dataclass, fields


@dataclass(frozen=True, slots=True, kw_only=True)
class Ports:
    """One port of 127.0.0.1 for each listener of a world."""

    etcd: int
    """Client port of etcd."""
    etcd_peer: int
    """Peer port of etcd; it has no peers, but must have a port."""
    apiserver: int
    """Secure port of kube-apiserver."""
    controller_manager: int
    """Secure port of kube-controller-manager: health and metrics."""
    scheduler: int
    """Secure port of kube-scheduler: health and metrics."""
    kwok: int
    """Port of kwok: health and metrics."""
    kubelet: int
    """Secure port of the agent, which answers the API server as the kubelet of every node."""
    egress: int
    """Port of the proxy by which the API server reaches pods."""
    aws: int
    """Port of the stand-in AWS."""
    metrics: int
    """Secure port of metrics.k8s.io."""
    door: int
    """Port of the front door, through which load comes in."""


def choose() -> Ports:
    """Ask the system for free ports, all different."""
    with ExitStack() as held:
        chosen: dict[str, int] = {}
        for field in fields(Ports):
            listener = held.enter_context(socket.socket(socket.AF_INET, socket.SOCK_STREAM))
            listener.bind(("127.0.0.1", 0))
            chosen[field.name] = listener.getsockname()[1]
    return Ports(**chosen)
