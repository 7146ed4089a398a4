"""The certificates of one cluster: its own authority, and those of the control plane's parts.

They are PEM files in the cluster's folder `pki`, made where they are missing and kept afterwards, so that issued kubeconfigs stay
valid. Keys are readable only by their owner.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import trustme
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import rsa

from localazure.folder import SECRET_MODE, write_whole

SUPERUSERS = "system:masters"  # the group to which kube-apiserver refuses nothing
KUBELET_CALLER = "kube-apiserver-kubelet-client"  # the name with which kube-apiserver asks the nodes' ports
SERVICE_ADDRESS = "127.16.0.1"  # the first of the range for Services; the Service `kubernetes` has it
_LOOPBACK = ("localhost", "127.0.0.1")
_SIGNING_BITS = 2048  # RS256, which federation with Entra takes


class Pair(NamedTuple):
    """A certificate and its key."""

    certificate: Path
    key: Path


class _Leaf(NamedTuple):
    """What is said in a certificate that isn't an authority's."""

    name: str
    group: str = ""
    hosts: Sequence[str] = ("localhost",)  # one at least: Go takes no certificate whose list of names is empty


_LEAVES = {
    "etcd": _Leaf("etcd", hosts=_LOOPBACK),
    "etcd-client": _Leaf("kube-apiserver-etcd-client"),
    "apiserver": _Leaf(
        "kube-apiserver",
        hosts=(
            *_LOOPBACK, SERVICE_ADDRESS,
            "kubernetes", "kubernetes.default", "kubernetes.default.svc", "kubernetes.default.svc.cluster.local",
        ),
    ),
    "kubelet-client": _Leaf(KUBELET_CALLER),
    "kubelet": _Leaf("kubelet", hosts=_LOOPBACK),
    "controller-manager": _Leaf("system:kube-controller-manager", SUPERUSERS),  # it makes what any controller makes
    "scheduler": _Leaf("system:kube-scheduler"),
    "admin": _Leaf("masterclient", SUPERUSERS),  # the name that AKS's own admin certificates have
    "agent": _Leaf("azure-gpu:node-agent", SUPERUSERS),  # it speaks for all nodes at once
}  # fmt: skip


class Pki:
    """One cluster's folder of certificates."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.authority, self.authority_key = folder / "ca.crt", folder / "ca.key"
        # What tokens of service accounts are signed with, and checked.
        self.account_key, self.account_public_key = folder / "service-accounts.key", folder / "service-accounts.pub"

    def pair(self, name: str) -> Pair:
        """`name`: one of the parts above."""
        return Pair(self.folder / f"{name}.crt", self.folder / f"{name}.key")

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
            authority = self._authority()
            for name, leaf in missing.items():
                _issue(authority, self.pair(name), leaf)

    def serving(self, pair: Pair, name: str, hosts: Sequence[str]) -> None:
        """Makes a certificate for a server of the cluster's own, such as a webhook's, where there is none."""
        if not pair.certificate.exists():
            _issue(self._authority(), pair, _Leaf(name, hosts=hosts))

    def _authority(self) -> trustme.CA:
        return trustme.CA.from_pem(self.authority.read_bytes(), self.authority_key.read_bytes())

    def _make_authority(self) -> None:
        made = trustme.CA(organization_name="azure-gpu, Kubernetes of the embedded Azure (local)")
        _write(Pair(self.authority, self.authority_key), made.cert_pem, made.private_key_pem)

    def _make_account_key(self) -> None:
        key = rsa.generate_private_key(public_exponent=65537, key_size=_SIGNING_BITS)
        pem = key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
        write_whole(self.account_key, pem.decode("ascii"), SECRET_MODE)
        public = key.public_key().public_bytes(serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo)
        write_whole(self.account_public_key, public.decode("ascii"))


def _issue(authority: trustme.CA, pair: Pair, leaf: _Leaf) -> None:
    """The name is the user's, the organization the group's, as Kubernetes reads client certificates."""
    made = authority.issue_cert(*leaf.hosts, common_name=leaf.name, organization_name=leaf.group or "azure-gpu")
    _write(pair, made.cert_chain_pems[0], made.private_key_pem)


def _write(pair: Pair, certificate: trustme.Blob, key: trustme.Blob) -> None:
    """The key first: a certificate that is there has one."""
    write_whole(pair.key, key.bytes().decode("ascii"), SECRET_MODE)
    write_whole(pair.certificate, certificate.bytes().decode("ascii"))
