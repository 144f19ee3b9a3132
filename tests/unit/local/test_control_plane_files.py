"""Keys, certificates, kubeconfigs, ports and arguments of the control plane, without starting it."""

import datetime as dt
import json
import ssl
from dataclasses import astuple, replace
from pathlib import Path

import pytest
import yaml
from cryptography import x509
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import rsa
from cryptography.x509.oid import NameOID

from daiku_local.control_plane import certificates, commands, kubeconfigs, ports
from daiku_local.toolchain import pins
from daiku_local.world import World

NOW = dt.datetime(2026, 2, 3, 4, 5, 6, tzinfo=dt.UTC)


@pytest.fixture(scope="module")
def pki(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("world") / "pki"
    certificates.write_all(folder, NOW)
    return folder


@pytest.fixture
def settings(tmp_path: Path) -> commands.Settings:
    world = World(
        folder=str(tmp_path),
        kubernetes_endpoint="https://127.0.0.1:6443",
        kubernetes_version="1.34",
        service_account_issuer="https://oidc.eks.us-west-2.amazonaws.com/id/ABC",
        aws_endpoint="http://127.0.0.1:5000",
    )
    made = commands.Settings(world=world, ports=ports.choose(), tools=Path("/tools"))
    made.kubeconfigs.mkdir()
    return made


def test_every_leaf_is_signed_by_the_authority(pki: Path) -> None:
    authority = _certificate(pki, "ca")

    for name in ("serving", certificates.METRICS_SERVICE, *certificates.CLIENTS):
        _certificate(pki, name).verify_directly_issued_by(authority)


def test_only_the_front_proxy_is_signed_by_whom_a_served_api_believes(pki: Path) -> None:
    authority = _certificate(pki, certificates.FRONT_PROXY_AUTHORITY)

    _certificate(pki, certificates.FRONT_PROXY).verify_directly_issued_by(authority)
    for name in ("serving", *certificates.CLIENTS):
        with pytest.raises(ValueError, match="subject does not match"):
            _certificate(pki, name).verify_directly_issued_by(authority)


def test_a_certificate_belongs_to_its_key(pki: Path) -> None:
    for name in ("serving", *certificates.CLIENTS):
        ssl.create_default_context().load_cert_chain(pki / f"{name}.crt", pki / f"{name}.key")


def test_keys_are_read_by_their_owner_only(pki: Path) -> None:
    assert {path.stat().st_mode & 0o777 for path in pki.glob("*.key")} == {0o600}
    assert pki.stat().st_mode & 0o777 == 0o700


def test_certificates_hold_from_a_little_before_now_for_a_year(pki: Path) -> None:
    certificate = _certificate(pki, "serving")

    assert certificate.not_valid_before_utc <= NOW - dt.timedelta(minutes=1)
    assert certificate.not_valid_after_utc >= NOW + dt.timedelta(days=364)


def test_the_api_server_is_known_by_its_loopback_and_service_names(pki: Path) -> None:
    names = _certificate(pki, "serving").extensions.get_extension_for_class(
        x509.SubjectAlternativeName
    )

    assert "kubernetes.default.svc" in names.value.get_values_for_type(x509.DNSName)
    assert {str(a) for a in names.value.get_values_for_type(x509.IPAddress)} == {
        "127.0.0.1",
        "10.100.0.1",
    }


@pytest.mark.parametrize(
    ("name", "user", "groups"),
    [
        ("admin", "admin", ["system:masters"]),
        ("kube-scheduler", "system:kube-scheduler", []),
        ("kube-controller-manager", "system:kube-controller-manager", []),
    ],
)
def test_clients_are_whom_rbac_expects(pki: Path, name: str, user: str, groups: list[str]) -> None:
    subject = _certificate(pki, name).subject

    assert [a.value for a in subject.get_attributes_for_oid(NameOID.COMMON_NAME)] == [user]
    found = [a.value for a in subject.get_attributes_for_oid(NameOID.ORGANIZATION_NAME)]
    assert found == groups


def test_service_account_tokens_are_signed_with_rsa(pki: Path) -> None:
    key = serialization.load_pem_private_key((pki / "service-account.key").read_bytes(), None)
    public = serialization.load_pem_public_key((pki / "service-account.pub").read_bytes())

    assert isinstance(key, rsa.RSAPrivateKey)
    assert key.public_key() == public


def test_a_kubeconfig_is_private_and_complete(pki: Path, tmp_path: Path) -> None:
    path = tmp_path / "kubeconfig"
    path.write_text("an old one that everybody could read")

    kubeconfigs.write(path, "https://127.0.0.1:6443", pki, "admin")

    assert path.stat().st_mode & 0o777 == 0o600
    content = yaml.safe_load(path.read_text())
    assert content["clusters"][0]["cluster"]["server"] == "https://127.0.0.1:6443"
    assert content["users"][0]["user"].keys() == {"client-certificate-data", "client-key-data"}
    assert content["current-context"] == content["contexts"][0]["name"]


def test_chosen_ports_are_all_different() -> None:
    chosen = astuple(ports.choose())

    assert len(set(chosen)) == len(chosen)
    assert all(1024 < port < 65536 for port in chosen)


def test_everything_listens_on_the_loopback_only(settings: commands.Settings) -> None:
    port = settings.ports
    told = {
        *commands.etcd(settings),
        *commands.kube_apiserver(settings),
        *commands.kube_controller_manager(settings),
        *commands.kube_scheduler(settings),
        *commands.kwok(settings),
    }

    assert f"--listen-client-urls=https://127.0.0.1:{port.etcd}" in told
    assert f"--listen-peer-urls=https://127.0.0.1:{port.etcd_peer}" in told
    assert f"--server-address=127.0.0.1:{port.kwok}" in told
    assert [each for each in told if each.startswith("--bind-address=")] == [
        "--bind-address=127.0.0.1"
    ]
    assert not [each for each in told if "0.0.0.0" in each]  # noqa: S104


def test_the_api_server_reaches_pods_by_the_worlds_own_proxy(settings: commands.Settings) -> None:
    arguments = commands.kube_apiserver(settings)

    flag = "--egress-selector-config-file="
    path = next(a for a in arguments if a.startswith(flag)).removeprefix(flag)
    (selection,) = json.loads(Path(path).read_text())["egressSelections"]
    assert (selection["name"], selection["connection"]["proxyProtocol"]) == (
        "cluster",
        "HTTPConnect",
    )
    tcp = selection["connection"]["transport"]["tcp"]
    assert tcp["url"] == f"https://127.0.0.1:{settings.ports.egress}"
    assert set(tcp["tlsConfig"]) == {"caBundle", "clientCert", "clientKey"}
    assert f"--port={settings.ports.egress}" in commands.egress(settings)


def test_the_scheduler_reads_its_own_configuration(settings: commands.Settings) -> None:
    arguments = commands.kube_scheduler(settings)

    path = next(a for a in arguments if a.startswith("--config=")).removeprefix("--config=")
    content = json.loads(Path(path).read_text())
    assert content["leaderElection"] == {"leaderElect": False}


@pytest.mark.parametrize("minor", pins.KUBERNETES)
def test_kwok_is_told_the_version_of_the_control_plane(
    settings: commands.Settings, minor: str
) -> None:
    world = replace(settings.world, kubernetes_version=minor)

    arguments = commands.kwok(replace(settings, world=world))

    path = next(a for a in arguments if a.startswith("--config=")).removeprefix("--config=")
    content = Path(path).read_text()
    assert f'$node.kubeletVersion "v{pins.KUBERNETES[minor]}"' in content
    assert commands.KUBELET_VERSION not in content


def test_every_pod_stage_of_kwok_leaves_local_images_alone() -> None:
    documents = list(yaml.safe_load_all(commands.KWOK_CONFIGURATION.read_text()))
    stages = [
        each["spec"]
        for each in documents
        if each["kind"] == "Stage" and each["spec"]["resourceRef"]["kind"] == "Pod"
    ]
    rule = {
        "key": '.spec.containers[0].image | startswith("daiku.local/")',
        "operator": "NotIn",
        "values": ["true"],
    }

    assert len(stages) == 3
    assert all(rule in stage["selector"]["matchExpressions"] for stage in stages)


def _certificate(pki: Path, name: str) -> x509.Certificate:
    return x509.load_pem_x509_certificate((pki / f"{name}.crt").read_bytes())
