"""Keys and certificates of one world: an authority, two serving certificates, one per client.

The front proxy, as which the API server passes requests on to an API of another program, has an authority of
its own: whoever that one vouches for is believed when it names a user, which no other client may do.

Everything is made anew for each world and dies with it, so nothing is ever renewed or revoked.
Certificates use P-256, which is quick; ServiceAccount tokens use RSA, because AWS takes only RS256.
"""

import datetime as dt
import ipaddress
from dataclasses import dataclass
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

LIFETIME = dt.timedelta(days=365)
"""How long a world's certificates are good for; no laptop world lives as long."""
LEEWAY = dt.timedelta(minutes=5)
"""Certificates begin this long ago, so that a clock that is set back a little does no harm."""
SERVING_NAMES = (
    "localhost",
    "kubernetes",
    "kubernetes.default",
    "kubernetes.default.svc",
    "kubernetes.default.svc.cluster.local",
)
"""Names under which clients, in and out of the cluster, reach the API server."""
SERVING_ADDRESSES = ("127.0.0.1", "10.100.0.1")
"""Addresses of the same: the loopback, and the first of the Service range."""
METRICS_SERVICE = "metrics-server"
"""Name of the Service, in kube-system, and of the certificate of what serves metrics.k8s.io."""
FRONT_PROXY = "front-proxy-client"
"""Name of the API server's certificate for programs that serve an API for it."""
FRONT_PROXY_AUTHORITY = "front-proxy-ca"
"""Name of the authority that signs it, and nothing else."""
CLIENTS = {
    "admin": "system:masters",
    "kube-controller-manager": None,
    "kube-scheduler": None,
    "etcd-client": None,
}
"""Who gets a client certificate, and the group it is in. `system:` is put before component names."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Pair:
    """A private key and its certificate."""

    key: ec.EllipticCurvePrivateKey
    """P-256."""
    certificate: x509.Certificate
    """Signed by the authority, or by itself if it is the authority."""


def write_all(folder: Path, now: dt.datetime) -> None:
    """Make every key and certificate of a world in `folder` (private files are 0600).

    Files: ca, serving, metrics-server, front-proxy-ca, front-proxy-client and one per client, each
    NAME.crt and NAME.key; service-account.key and .pub.
    """
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    authority = _authority("daiku laptop world", now)
    front_proxy = _authority("daiku laptop world's front proxy", now)
    _write_pair(folder, "ca", authority)
    _write_pair(folder, "serving", _serving(authority, now))
    _write_pair(folder, METRICS_SERVICE, _metrics_server(authority, now))
    _write_pair(folder, FRONT_PROXY_AUTHORITY, front_proxy)
    _write_pair(folder, FRONT_PROXY, _client(front_proxy, FRONT_PROXY, None, now))
    for name, group in CLIENTS.items():
        common_name = f"system:{name}" if name.startswith("kube-") else name
        _write_pair(folder, name, _client(authority, common_name, group, now))
    _write_service_account_keys(folder)


def write_private(path: Path, content: bytes) -> None:
    """Write a file that only its owner may read, without a moment in which others could."""
    path.unlink(missing_ok=True)
    path.touch(mode=0o600, exist_ok=False)
    path.write_bytes(content)


def _authority(common_name: str, now: dt.datetime) -> Pair:
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, common_name)])
    usage = x509.KeyUsage(
        digital_signature=True,
        key_cert_sign=True,
        crl_sign=True,
        content_commitment=False,
        key_encipherment=False,
        data_encipherment=False,
        key_agreement=False,
        encipher_only=False,
        decipher_only=False,
    )
    builder = (
        _builder(name, name, key, now)
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .add_extension(usage, critical=True)
    )
    return Pair(key=key, certificate=builder.sign(key, hashes.SHA256()))


def _serving(authority: Pair, now: dt.datetime) -> Pair:
    alternatives: list[x509.GeneralName] = [x509.DNSName(name) for name in SERVING_NAMES]
    alternatives += [x509.IPAddress(ipaddress.ip_address(each)) for each in SERVING_ADDRESSES]
    # etcd presents it to its own client port as well, hence both purposes.
    purposes = [ExtendedKeyUsageOID.SERVER_AUTH, ExtendedKeyUsageOID.CLIENT_AUTH]
    return _leaf(
        authority,
        name="kube-apiserver",
        group=None,
        purposes=purposes,
        now=now,
        alternatives=alternatives,
    )


def _metrics_server(authority: Pair, now: dt.datetime) -> Pair:
    # The API server expects the Service's name, whatever address it was sent to.
    return _leaf(
        authority,
        name=METRICS_SERVICE,
        group=None,
        purposes=[ExtendedKeyUsageOID.SERVER_AUTH],
        now=now,
        alternatives=[x509.DNSName(f"{METRICS_SERVICE}.kube-system.svc")],
    )


def _client(authority: Pair, name: str, group: str | None, now: dt.datetime) -> Pair:
    purposes = [ExtendedKeyUsageOID.CLIENT_AUTH]
    return _leaf(authority, name=name, group=group, purposes=purposes, now=now, alternatives=[])


def _leaf(
    authority: Pair,
    *,
    name: str,
    group: str | None,
    purposes: list[x509.ObjectIdentifier],
    now: dt.datetime,
    alternatives: list[x509.GeneralName],
) -> Pair:
    key = ec.generate_private_key(ec.SECP256R1())
    attributes = [x509.NameAttribute(NameOID.COMMON_NAME, name)]
    if group is not None:
        attributes.append(x509.NameAttribute(NameOID.ORGANIZATION_NAME, group))
    builder = _builder(x509.Name(attributes), authority.certificate.subject, key, now)
    builder = builder.add_extension(x509.ExtendedKeyUsage(purposes), critical=False)
    if alternatives:
        builder = builder.add_extension(x509.SubjectAlternativeName(alternatives), critical=False)
    return Pair(key=key, certificate=builder.sign(authority.key, hashes.SHA256()))


def _builder(
    subject: x509.Name,
    issuer: x509.Name,
    key: ec.EllipticCurvePrivateKey,
    now: dt.datetime,
) -> x509.CertificateBuilder:
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - LEEWAY)
        .not_valid_after(now + LIFETIME)
    )


def _write_pair(folder: Path, name: str, pair: Pair) -> None:
    write_private(folder / f"{name}.key", _pem(pair.key))
    certificate = pair.certificate.public_bytes(serialization.Encoding.PEM)
    (folder / f"{name}.crt").write_bytes(certificate)


def _write_service_account_keys(folder: Path) -> None:
    key = rsa.generate_private_key(public_exponent=65537, key_size=2048)
    write_private(folder / "service-account.key", _pem(key))
    public = key.public_key().public_bytes(
        serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo
    )
    (folder / "service-account.pub").write_bytes(public)


def _pem(key: ec.EllipticCurvePrivateKey | rsa.RSAPrivateKey) -> bytes:
    return key.private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.PKCS8,
        serialization.NoEncryption(),
    )
