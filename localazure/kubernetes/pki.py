"""The certificates of one cluster: its own authority, and those of the control plane's parts.

They are PEM files in the cluster's folder `pki`, made where they are missing and kept afterwards, so that issued kubeconfigs stay
valid. Keys are readable only by their owner.
"""

import datetime
import ipaddress
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from localazure.folder import SECRET_MODE, write_whole

SUPERUSERS = "system:masters"  # the group to which kube-apiserver refuses nothing
KUBELET_CALLER = "kube-apiserver-kubelet-client"  # the name with which kube-apiserver asks the nodes' ports
SERVICE_ADDRESS = "127.16.0.1"  # the first of the range for Services; the Service `kubernetes` has it
_LOOPBACK = ("localhost", "127.0.0.1")
_YEARS = 10
_SIGNING_BITS = 2048  # RS256, which federation with Entra takes
_CERTIFICATE, _KEY = "crt", "key"


class Pair(NamedTuple):
    """A certificate and its key."""

    certificate: Path
    key: Path


class _Leaf(NamedTuple):
    """What is said in a certificate that isn't an authority's."""

    name: str
    group: str = ""
    hosts: Sequence[str] = ()
    server: bool = False


_LEAVES = {
    "etcd": _Leaf("etcd", hosts=_LOOPBACK, server=True),
    "etcd-client": _Leaf("kube-apiserver-etcd-client"),
    "apiserver": _Leaf(
        "kube-apiserver",
        hosts=(
            *_LOOPBACK, SERVICE_ADDRESS,
            "kubernetes", "kubernetes.default", "kubernetes.default.svc", "kubernetes.default.svc.cluster.local",
        ),
        server=True,
    ),
    "kubelet-client": _Leaf(KUBELET_CALLER),
    "kubelet": _Leaf("kubelet", hosts=_LOOPBACK, server=True),
    "controller-manager": _Leaf("system:kube-controller-manager", SUPERUSERS),  # it makes what any controller makes
    "scheduler": _Leaf("system:kube-scheduler"),
    "admin": _Leaf("masterclient", SUPERUSERS),  # the name that AKS's own admin certificates have
    "agent": _Leaf("azure-gpu:node-agent", SUPERUSERS),  # it speaks for all nodes at once
    "supervisor": _Leaf("azure-gpu:supervisor"),  # proves that it is at home; may ask only for readiness
}  # fmt: skip


class Pki:
    """One cluster's folder of certificates."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    @property
    def authority(self) -> Path:
        """The authority's certificate."""
        return self.folder / "ca.crt"

    @property
    def authority_key(self) -> Path:
        return self.folder / "ca.key"

    @property
    def account_key(self) -> Path:
        """What tokens of service accounts are signed with."""
        return self.folder / "service-accounts.key"

    @property
    def account_public_key(self) -> Path:
        return self.folder / "service-accounts.pub"

    def pair(self, name: str) -> Pair:
        """`name`: one of the parts above."""
        return Pair(self.folder / f"{name}.{_CERTIFICATE}", self.folder / f"{name}.{_KEY}")

    def make(self) -> None:
        """Makes what is missing."""
        self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        if not self.authority.exists():
            for name in _LEAVES:
                self.pair(name).certificate.unlink(missing_ok=True)  # of an authority that is lost
            self._make_authority()
        if not self.account_public_key.exists():
            self._make_account_key()
        missing = {name: leaf for name, leaf in _LEAVES.items() if not self.pair(name).certificate.exists()}
        if missing:
            authority, key = self._authority()
            for name, leaf in missing.items():
                self._make_leaf(self.pair(name), leaf, authority, key)

    def serving(self, pair: Pair, name: str, hosts: Sequence[str]) -> None:
        """Makes a certificate for a server of the cluster's own, such as a webhook's, where there is none."""
        if not pair.certificate.exists():
            self._make_leaf(pair, _Leaf(name, hosts=hosts, server=True), *self._authority())

    def _authority(self) -> tuple[x509.Certificate, ec.EllipticCurvePrivateKey]:
        authority = x509.load_pem_x509_certificate(self.authority.read_bytes())
        key = serialization.load_pem_private_key(self.authority_key.read_bytes(), password=None)
        if not isinstance(key, ec.EllipticCurvePrivateKey):
            raise TypeError("the cluster's authority has no key of the form that is written here")
        return authority, key

    def _make_authority(self) -> None:
        key = ec.generate_private_key(ec.SECP256R1())
        name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "azure-gpu, Kubernetes of the embedded Azure (local)")])
        usage = x509.KeyUsage(
            digital_signature=True, key_cert_sign=True, crl_sign=True, content_commitment=False, key_encipherment=False,
            data_encipherment=False, key_agreement=False, encipher_only=False, decipher_only=False,
        )  # fmt: skip
        made = (
            _dated(x509.CertificateBuilder())
            .subject_name(name)
            .issuer_name(name)
            .public_key(key.public_key())
            .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
            .add_extension(usage, critical=True)
            .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)
            .sign(key, hashes.SHA256())
        )
        _write(Pair(self.authority, self.authority_key), made, key)

    def _make_leaf(self, pair: Pair, leaf: _Leaf, authority: x509.Certificate, authority_key: ec.EllipticCurvePrivateKey) -> None:
        key = ec.generate_private_key(ec.SECP256R1())
        name = [x509.NameAttribute(NameOID.COMMON_NAME, leaf.name)]
        if leaf.group:
            name.append(x509.NameAttribute(NameOID.ORGANIZATION_NAME, leaf.group))
        # A part that serves is a client too where it asks itself, as etcd does.
        usages = [ExtendedKeyUsageOID.CLIENT_AUTH, *([ExtendedKeyUsageOID.SERVER_AUTH] if leaf.server else [])]
        builder = (
            _dated(x509.CertificateBuilder())
            .subject_name(x509.Name(name))
            .issuer_name(authority.subject)
            .public_key(key.public_key())
            .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
            .add_extension(x509.ExtendedKeyUsage(usages), critical=False)
            .add_extension(_issuer_of(authority), critical=False)
        )
        if leaf.hosts:
            builder = builder.add_extension(x509.SubjectAlternativeName([_host(each) for each in leaf.hosts]), critical=False)
        _write(pair, builder.sign(authority_key, hashes.SHA256()), key)

    def _make_account_key(self) -> None:
        key = rsa.generate_private_key(public_exponent=65537, key_size=_SIGNING_BITS)
        write_whole(self.account_key, _private(key), SECRET_MODE)
        public = key.public_key().public_bytes(serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo)
        write_whole(self.account_public_key, public.decode("ascii"))


def _dated(builder: x509.CertificateBuilder) -> x509.CertificateBuilder:
    now = datetime.datetime.now(datetime.UTC)
    return (
        builder.serial_number(x509.random_serial_number())
        .not_valid_before(now - datetime.timedelta(hours=1))
        .not_valid_after(now + datetime.timedelta(days=365 * _YEARS))
    )


def _issuer_of(authority: x509.Certificate) -> x509.AuthorityKeyIdentifier:
    identifier = authority.extensions.get_extension_for_class(x509.SubjectKeyIdentifier)
    return x509.AuthorityKeyIdentifier.from_issuer_subject_key_identifier(identifier.value)


def _host(text: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ipaddress.ip_address(text))
    except ValueError:
        return x509.DNSName(text)


def _write(pair: Pair, certificate: x509.Certificate, key: ec.EllipticCurvePrivateKey) -> None:
    """The key first: a certificate that is there has one."""
    write_whole(pair.key, _private(key), SECRET_MODE)
    write_whole(pair.certificate, certificate.public_bytes(serialization.Encoding.PEM).decode("ascii"))


def _private(key: ec.EllipticCurvePrivateKey | rsa.RSAPrivateKey) -> str:
    pem = key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    return pem.decode("ascii")
