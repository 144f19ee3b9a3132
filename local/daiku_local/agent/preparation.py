"""Everything a container needs before it starts: its folder, tokens, kubeconfig, environment."""

import base64
import shutil
import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from daiku_local.agent import pods, records, tokens
from daiku_local.agent.addresses import Addresses
from daiku_local.agent.environment import PodConfigError, Surroundings
from daiku_local.agent.kubernetes_api import KubernetesApi, KubernetesError
from daiku_local.agent.objects import Json, dig, items, mapping
from daiku_local.agent.pods import Key, Launch, Network
from daiku_local.agent.settings import Settings
from daiku_local.agent.tokens import TokenFile
from daiku_local.world import World


@dataclass(frozen=True, slots=True, kw_only=True)
class Services:
    """What every pod's runner uses."""

    world: World
    """Where everything listens and lies."""
    authority: bytes
    """PEM of the API server's certificate authority."""
    kubernetes: KubernetesApi
    """The API server, as administrator."""
    addresses: Addresses
    """Addresses of pods."""
    settings: Callable[[], Settings]
    """The settings, now."""
    inherited: Mapping[str, str]
    """Variables of this process that every pod gets."""

    @property
    def records(self) -> Path:
        """Folder of what runs."""
        return records.folder(Path(self.world.folder))


@dataclass(slots=True, kw_only=True)
class Identity:
    """A pod's ServiceAccount and the files that prove it."""

    service_account: Json
    """The object."""
    token_files: list[TokenFile]
    """Each kept fresh."""
    kubeconfig: Path | None
    """For the API server; None when the pod is to have no token."""
    web_identity_token: Path | None
    """For AWS; None when the ServiceAccount has no role."""

    def refresh(self, kubernetes: KubernetesApi) -> None:
        """Renew what is due.

        Raises:
            KubernetesError: The API server gave no token; the old ones stay.
        """
        for token in self.token_files:
            token.refresh(kubernetes, time.monotonic())


@dataclass(slots=True, kw_only=True)
class Host:
    """The node of a pod, looked at again when what is known is old."""

    name: str
    """Its name."""
    node: Json = field(default_factory=dict)
    """The Node object."""

    @property
    def ip(self) -> str:
        """Its internal address, empty if it has none."""
        for address in items(self.node, "status", "addresses"):
            if dig(address, "type") == "InternalIP":
                return dig(address, "address")
        return ""


def home(services: Services, pod: Key) -> Path:
    """Folder of one pod."""
    return services.records / pod.uid


def identity(services: Services, pod: Json) -> Identity:
    """Make the pod's folder, and in it the files by which it is known.

    Raises:
        PodConfigError: Its ServiceAccount does not exist.
        KubernetesError: The API server did not answer, or gave no token.
    """
    key, folder = pods.key(pod), home(services, pods.key(pod))
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    name = dig(pod, "spec", "serviceAccountName") or "default"
    account = _fetch(services, f"/api/v1/namespaces/{key.namespace}/serviceaccounts/{name}")
    if account is None:
        raise PodConfigError(f"there is no ServiceAccount {name!r} in namespace {key.namespace!r}")
    proof = Identity(
        service_account=account, token_files=[], kubeconfig=None, web_identity_token=None
    )

    def token(file_name: str, audience: str | None, life_seconds: int) -> Path:
        proof.token_files.append(
            TokenFile(
                path=folder / file_name,
                service_account=name,
                pod=key,
                audience=audience,
                life_seconds=life_seconds,
                refresh_seconds=services.settings().token_refresh_seconds,
            )
        )
        return folder / file_name

    if pods.shows_token(pod, account):
        path = token("token", None, tokens.API_LIFE_SECONDS)
        proof.kubeconfig = folder / "kubeconfig"
        tokens.write_kubeconfig(
            proof.kubeconfig,
            endpoint=services.world.kubernetes_endpoint,
            authority=services.authority,
            token=path,
            namespace=key.namespace,
        )
    if pods.role_arn(account):
        audience = dig(account, "metadata", "annotations", pods.AUDIENCE_ANNOTATION)
        proof.web_identity_token = token(
            "aws-token", audience or tokens.AWS_AUDIENCE, tokens.AWS_LIFE_SECONDS
        )
    proof.refresh(services.kubernetes)
    return proof


def launch(services: Services, pod: Json, proof: Identity, pod_ip: str, host: Host) -> Launch:
    """Give what to start.

    Raises:
        PodConfigError: The manifest asks for what there is not.
        KubernetesError: The API server did not answer.
    """
    namespace = pods.key(pod).namespace

    def lookup(kind: str, name: str) -> Mapping[str, str] | None:
        return _lookup(services, namespace, kind, name)

    around = Surroundings(
        pod_ip=pod_ip,
        host_ip=host.ip,
        allocatable=mapping(host.node, "status", "allocatable"),
        lookup=lookup,
    )
    network = Network(
        inherited=services.inherited,
        aws_endpoint=services.world.aws_endpoint,
        region=services.world.region,
        program_folder=Path(sys.prefix) / "bin",
        home=home(services, pods.key(pod)),
        kubeconfig=proof.kubeconfig,
        web_identity_token=proof.web_identity_token,
    )
    return pods.launch(pod, proof.service_account, around, network, services.settings().images)


def find_host(services: Services, pod: Json) -> Host | None:
    """The node that a pod is bound to, None when there is no such node any more.

    Raises:
        KubernetesError: The API server did not answer.
    """
    name = dig(pod, "spec", "nodeName")
    found = _fetch(services, f"/api/v1/nodes/{name}")
    return None if found is None else Host(name=name, node=found)


def clean_up(services: Services, pod: Key) -> None:
    """Remove what was made for a pod."""
    records.remove(services.records, pod.uid)
    shutil.rmtree(home(services, pod), ignore_errors=True)
    services.addresses.release(pod.uid)


def _lookup(services: Services, namespace: str, kind: str, name: str) -> Mapping[str, str] | None:
    found = _fetch(services, f"/api/v1/namespaces/{namespace}/{kind.lower()}s/{name}")
    if found is None:
        return None
    data = mapping(found, "data")
    if kind == "ConfigMap":
        return data
    return {key: base64.b64decode(value).decode() for key, value in data.items()}


def _fetch(services: Services, path: str) -> Json | None:
    try:
        return services.kubernetes.get(path)
    except KubernetesError as error:
        if error.status == 404:
            return None
        raise
