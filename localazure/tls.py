"""The certificates of the embedded Azure: its own authority in the state folder, and the bundle that clients trust.

The authority survives restarts, so that a bundle which a client has read stays good; the server's certificate is made again.
"""

import os
import ssl
from pathlib import Path

import certifi
import trustme

from localazure.blobs.hosts import SUFFIX
from localazure.folder import SECRET_MODE, LocalFolder, write_whole

HOSTS = ("localhost", "127.0.0.1", f"*{SUFFIX}")


def authority(folder: LocalFolder) -> trustme.CA:
    """The folder's authority; made where there is none yet."""
    key, certificate = folder.authority / "ca.key", folder.authority_certificate
    if key.exists() and certificate.exists():
        return trustme.CA.from_pem(certificate.read_bytes(), key.read_bytes())
    made = trustme.CA(organization_name="azure-gpu, embedded Azure (local)")
    write_whole(key, made.private_key_pem.bytes().decode("ascii"), SECRET_MODE)
    write_whole(certificate, made.cert_pem.bytes().decode("ascii"))
    return made


def server_certificate(folder: LocalFolder) -> tuple[Path, Path]:
    """Files with the certificate chain and the private key for this server."""
    leaf = authority(folder).issue_cert(*HOSTS)
    chain, key = folder.authority / "server.pem", folder.authority / "server.key"
    write_whole(chain, "".join(pem.bytes().decode("ascii") for pem in leaf.cert_chain_pems))
    write_whole(key, leaf.private_key_pem.bytes().decode("ascii"), SECRET_MODE)
    return chain, key


def write_bundle(folder: LocalFolder) -> None:
    """Ours and the system's authorities in one file: only with ours, nothing else could be reached from the same shell."""
    ours = authority(folder).cert_pem.bytes().decode("ascii")
    system = _system_authorities().replace(ours, "").rstrip()
    write_whole(folder.ca_bundle, f"{system}\n{ours}")


def _system_authorities() -> str:
    """What the user's environment names, else what the system has, else certifi's.

    A shell that has read `.local/env` names our own bundle, which holds what was found at the first start.
    """
    named = (os.environ.get("SSL_CERT_FILE"), os.environ.get("REQUESTS_CA_BUNDLE"))
    for candidate in (*named, ssl.get_default_verify_paths().cafile, certifi.where()):
        path = Path(candidate) if candidate else None
        if path and path.is_file():
            return path.read_text(encoding="utf-8", errors="replace")
    raise FileNotFoundError("no file with the system's certificate authorities was found")
