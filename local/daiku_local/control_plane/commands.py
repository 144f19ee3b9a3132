"""How each program of the control plane is run: its arguments and configuration files.

The choices follow EKS where a laptop allows it (Service range, token issuer and audience, RBAC, node
lease times) and leave out what only a real machine or account needs: clouds, routes, leader election.
Speed of a fresh start beats durability: the world is thrown away with its data.
"""

import json
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from daiku_local.control_plane import certificates
from daiku_local.control_plane.ports import Ports
from daiku_local.toolchain import pins
from daiku_local.world import World

LOOPBACK = "127.0.0.1"
"""The only address that anything listens on."""
KWOK_CONFIGURATION = Path(__file__).with_name("kwok.yaml")
"""What kwok's kubelets do; `KUBELET_VERSION` in it stands for the version of the control plane."""
KUBELET_VERSION = "@KUBELET_VERSION@"
POD_ADDRESSES = "100.64.0.1/10"
"""Pods on fake nodes get addresses from here: shared address space, which no VPC of the stack uses."""
NODE_LEASE_SECONDS = 40
"""As a real kubelet's; the node lifecycle controller waits 50 s before it calls a node lost."""
CLIENT_QPS = 500
"""Requests per second the controllers may make; the default of 20 would make 100 pods take seconds."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """All that the arguments depend on."""

    world: World
    """Folder, addresses and issuer."""
    ports: Ports
    """Where each part listens."""
    tools: Path
    """Folder of the binaries."""

    @property
    def kubeconfigs(self) -> Path:
        """Folder of the components' own kubeconfigs."""
        return Path(self.world.folder) / "kubeconfigs"


def etcd(settings: Settings) -> Sequence[str]:
    """One member, clients and peers by certificate only, no waiting for the disk."""
    ports, pki = settings.ports, settings.world.pki
    client = f"https://{LOOPBACK}:{ports.etcd}"
    peer = f"https://{LOOPBACK}:{ports.etcd_peer}"
    return (
        str(settings.tools / "etcd"),
        "--name=daiku",
        f"--data-dir={Path(settings.world.folder) / 'etcd'}",
        f"--listen-client-urls={client}",
        f"--advertise-client-urls={client}",
        f"--listen-peer-urls={peer}",
        f"--initial-advertise-peer-urls={peer}",
        f"--initial-cluster=daiku={peer}",
        "--client-cert-auth",
        f"--cert-file={pki / 'serving.crt'}",
        f"--key-file={pki / 'serving.key'}",
        f"--trusted-ca-file={pki / 'ca.crt'}",
        "--peer-client-cert-auth",
        f"--peer-cert-file={pki / 'serving.crt'}",
        f"--peer-key-file={pki / 'serving.key'}",
        f"--peer-trusted-ca-file={pki / 'ca.crt'}",
        "--unsafe-no-fsync",
        "--auto-compaction-retention=10m",
        "--log-level=warn",
    )


def kube_apiserver(settings: Settings) -> Sequence[str]:
    """RBAC, real ServiceAccount tokens, EKS's token audience. Writes the file that says how it reaches pods."""
    world, ports, pki = settings.world, settings.ports, settings.world.pki
    egress = settings.kubeconfigs / "kube-apiserver.egress"
    egress.write_text(json.dumps(_egress(settings), indent=2) + "\n")
    return (
        str(settings.tools / "kube-apiserver"),
        f"--etcd-servers=https://{LOOPBACK}:{ports.etcd}",
        f"--etcd-cafile={pki / 'ca.crt'}",
        f"--etcd-certfile={pki / 'etcd-client.crt'}",
        f"--etcd-keyfile={pki / 'etcd-client.key'}",
        f"--bind-address={LOOPBACK}",
        f"--secure-port={ports.apiserver}",
        f"--advertise-address={LOOPBACK}",
        # A loopback address may not be an Endpoint, and no pod would reach it.
        "--endpoint-reconciler-type=none",
        f"--egress-selector-config-file={egress}",
        f"--tls-cert-file={pki / 'serving.crt'}",
        f"--tls-private-key-file={pki / 'serving.key'}",
        f"--client-ca-file={pki / 'ca.crt'}",
        # Who may name another user in these headers: this server, when it passes a request on.
        f"--requestheader-client-ca-file={pki / certificates.FRONT_PROXY_AUTHORITY}.crt",
        f"--requestheader-allowed-names={certificates.FRONT_PROXY}",
        "--requestheader-username-headers=X-Remote-User",
        "--requestheader-group-headers=X-Remote-Group",
        "--requestheader-extra-headers-prefix=X-Remote-Extra-",
        f"--proxy-client-cert-file={pki / certificates.FRONT_PROXY}.crt",
        f"--proxy-client-key-file={pki / certificates.FRONT_PROXY}.key",
        # No machine has the addresses of a node: its kubelet is where ExternalDNS says, this machine.
        "--kubelet-preferred-address-types=ExternalDNS,InternalIP",
        f"--kubelet-certificate-authority={pki / 'ca.crt'}",
        f"--kubelet-client-certificate={pki / 'serving.crt'}",
        f"--kubelet-client-key={pki / 'serving.key'}",
        "--authorization-mode=Node,RBAC",
        f"--service-cluster-ip-range={world.service_cidr}",
        f"--service-account-issuer={world.service_account_issuer}",
        f"--service-account-signing-key-file={pki / 'service-account.key'}",
        f"--service-account-key-file={pki / 'service-account.pub'}",
        f"--api-audiences=https://kubernetes.default.svc,{world.service_account_issuer}",
        "--allow-privileged=true",
        "--event-ttl=1h",
        "--profiling=false",
    )


def _egress(settings: Settings) -> dict[str, object]:
    """Whatever the API server asks of kubelets, pods and Services goes by the proxy that knows where pods are."""
    pki = settings.world.pki
    tls = {
        "caBundle": str(pki / "ca.crt"),
        "clientCert": str(pki / "serving.crt"),
        "clientKey": str(pki / "serving.key"),
    }
    # Without TLS, which it is said to take, the API server ends with a nil pointer.
    proxy = {"tcp": {"url": f"https://{LOOPBACK}:{settings.ports.egress}", "tlsConfig": tls}}
    connection = {"proxyProtocol": "HTTPConnect", "transport": proxy}
    return {
        "apiVersion": "apiserver.k8s.io/v1beta1",
        "kind": "EgressSelectorConfiguration",
        "egressSelections": [{"name": "cluster", "connection": connection}],
    }


def egress(settings: Settings) -> Sequence[str]:
    """The proxy by which the API server reaches pods."""
    return (
        sys.executable,
        "-m",
        "daiku_local.egress",
        f"--port={settings.ports.egress}",
        f"--pki={settings.world.pki}",
    )


def kube_controller_manager(settings: Settings) -> Sequence[str]:
    """Every controller that needs no cloud, each under its own ServiceAccount."""
    pki, kubeconfig = settings.world.pki, settings.kubeconfigs / "kube-controller-manager"
    return (
        str(settings.tools / "kube-controller-manager"),
        f"--kubeconfig={kubeconfig}",
        f"--authentication-kubeconfig={kubeconfig}",
        f"--authorization-kubeconfig={kubeconfig}",
        f"--bind-address={LOOPBACK}",
        f"--secure-port={settings.ports.controller_manager}",
        f"--tls-cert-file={pki / 'serving.crt'}",
        f"--tls-private-key-file={pki / 'serving.key'}",
        f"--client-ca-file={pki / 'ca.crt'}",
        # Nobody is passed on to it: it serves health and metrics, to the administrator.
        "--authentication-skip-lookup=true",
        f"--root-ca-file={pki / 'ca.crt'}",
        f"--cluster-signing-cert-file={pki / 'ca.crt'}",
        f"--cluster-signing-key-file={pki / 'ca.key'}",
        f"--service-account-private-key-file={pki / 'service-account.key'}",
        "--use-service-account-credentials=true",
        "--leader-elect=false",
        f"--kube-api-qps={CLIENT_QPS}",
        f"--kube-api-burst={2 * CLIENT_QPS}",
        "--profiling=false",
    )


def kube_scheduler(settings: Settings) -> Sequence[str]:
    """The default profile. Writes its configuration file, since client rates are only set there."""
    pki, kubeconfig = settings.world.pki, settings.kubeconfigs / "kube-scheduler"
    configuration = {
        "apiVersion": "kubescheduler.config.k8s.io/v1",
        "kind": "KubeSchedulerConfiguration",
        "leaderElection": {"leaderElect": False},
        "clientConnection": {
            "kubeconfig": str(kubeconfig),
            "qps": CLIENT_QPS,
            "burst": 2 * CLIENT_QPS,
        },
        "enableProfiling": False,
    }
    path = settings.kubeconfigs / "kube-scheduler.config"
    path.write_text(json.dumps(configuration, indent=2) + "\n")
    return (
        str(settings.tools / "kube-scheduler"),
        f"--config={path}",
        f"--authentication-kubeconfig={kubeconfig}",
        f"--authorization-kubeconfig={kubeconfig}",
        f"--bind-address={LOOPBACK}",
        f"--secure-port={settings.ports.scheduler}",
        f"--tls-cert-file={pki / 'serving.crt'}",
        f"--tls-private-key-file={pki / 'serving.key'}",
        f"--client-ca-file={pki / 'ca.crt'}",
        "--authentication-skip-lookup=true",
    )


def metrics(settings: Settings) -> Sequence[str]:
    """What serves metrics.k8s.io, and the front door."""
    return (
        sys.executable,
        "-m",
        "daiku_local.metrics",
        f"--world={settings.world.folder}",
        f"--port={settings.ports.metrics}",
        f"--door-port={settings.ports.door}",
    )


def kwok(settings: Settings) -> Sequence[str]:
    """The kubelets of every node that carries kwok's annotation. Writes their configuration file."""
    release = f"v{pins.KUBERNETES[settings.world.kubernetes_version]}"
    path = settings.kubeconfigs / "kwok.config"
    path.write_text(KWOK_CONFIGURATION.read_text().replace(KUBELET_VERSION, release))
    return (
        str(settings.tools / "kwok"),
        f"--config={path}",
        f"--kubeconfig={settings.world.kubeconfig}",
        "--manage-nodes-with-annotation-selector=kwok.x-k8s.io/node=fake",
        f"--node-lease-duration-seconds={NODE_LEASE_SECONDS}",
        f"--cidr={POD_ADDRESSES}",
        f"--node-ip={LOOPBACK}",
        # Of the kubelets that nodes name: it is the agent's.
        f"--node-port={settings.ports.kubelet}",
        f"--server-address={LOOPBACK}:{settings.ports.kwok}",
    )
