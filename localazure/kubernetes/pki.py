"""The certificates of one cluster: its own authority, and those of the control plane's parts.

They are PEM files in the cluster's folder `pki`, made where they are missing and kept afterwards, so that issued kubeconfigs stay
valid. Keys are readable only by their owner.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import trustme
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import rsa

from localazure.folder import SECRET_MODE, write_whole
from localazure.kubernetes.documents import document

_SIGNING_BITS = 2048  # RS256, which federation with Entra takes


class Pair(NamedTuple):
    """A certificate and its key."""

    certificate: Path
    key: Path


class Pki:
    """One cluster's folder of certificates."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.authority, self.authority_key = folder / "ca.crt", folder / "ca.key"
        # What tokens of service accounts are signed with, and checked.
        self.account_key, self.account_public_key = folder / "service-accounts.key", folder / "service-accounts.pub"

    def pair(self, name: str) -> Pair:
        """`name`: one of `certificates.yaml`."""
        return Pair(self.folder / f"{name}.crt", self.folder / f"{name}.key")

    def make(self) -> None:
        """Makes what is missing."""
        self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        leaves = document("certificates")
        if not self.authority.exists():
            for name in leaves:
                self.pair(name).certificate.unlink(missing_ok=True)  # of an authority that is lost
            self._make_authority()
        if not self.account_public_key.exists():
            self._make_account_key()
        missing = {name: leaf for name, leaf in leaves.items() if not self.pair(name).certificate.exists()}
        if missing:
            authority = self._authority()
            for name, leaf in missing.items():
                _issue(authority, self.pair(name), leaf)

    def serving(self, pair: Pair, name: str, hosts: Sequence[str]) -> None:
        """Makes a certificate for a server of the cluster's own, such as a webhook's, where there is none."""
        if not pair.certificate.exists():
            _issue(self._authority(), pair, {"name": name, "hosts": hosts})

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


def _issue(authority: trustme.CA, pair: Pair, leaf: Mapping[str, Any]) -> None:
    """The name is the user's, the organization the group's, as Kubernetes reads client certificates."""
    hosts, group = leaf.get("hosts", ("localhost",)), leaf.get("group", "azure-gpu")
    made = authority.issue_cert(*hosts, common_name=leaf["name"], organization_name=group)
    _write(pair, made.cert_chain_pems[0], made.private_key_pem)


def _write(pair: Pair, certificate: trustme.Blob, key: trustme.Blob) -> None:
    """The key first: a certificate that is there has one."""
    write_whole(pair.key, key.bytes().decode("ascii"), SECRET_MODE)
    write_whole(pair.certificate, certificate.bytes().decode("ascii"))
