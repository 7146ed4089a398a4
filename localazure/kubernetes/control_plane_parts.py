"""The programs of one control plane: their arguments, whose flags are in `control_plane.toml`, and configuration files.

Files are JSON, which is valid YAML, in the control plane's folder. Callers are known by a certificate of the cluster's authority,
a token of a service account, or, where the cluster has Entra, a token for AKS's server application; their name is the object id,
as AKS has it for service principals. What Kubernetes' own rules don't allow them is asked of the embedded Azure, where the
cluster has Azure RBAC.
"""

import functools
import json
import os
import sys
import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from localazure.containers import machine
from localazure.folder import SECRET_MODE, write_whole
from localazure.kubernetes import control_plane, kubeconfigs
from localazure.kubernetes.control_plane import Part
from localazure.kubernetes.control_plane_folder import ClusterFolder
from localazure.kubernetes.model import ENTRA_SERVER_APP, ClusterShape

HOST = "127.0.0.1"
ETCD, API_SERVER, CONTROLLER_MANAGER, SCHEDULER, AGENT = (
    "etcd",
    "kube-apiserver",
    "kube-controller-manager",
    "kube-scheduler",
    "agent",
)
# AKS's default is 10.0.0.0/16. These addresses are this machine's own: the node agent, which isn't root, can listen there.
SERVICES = "127.16.0.0/12"
_CHECKOUT = Path(__file__).resolve().parents[2]
_INHERITED = ("HOME", "LANG", "LC_ALL", "PATH", "TMPDIR", "TZ", "XDG_CACHE_HOME")
# Go's collector lets a program grow to twice what it holds. The API server, which most of the time goes to, keeps that.
_SMALLER = {"GOGC": "50"}


class Ports(NamedTuple):
    """Loopback ports; the API server's stands in kubeconfigs."""

    api_server: int
    etcd: int
    etcd_peer: int


class Issuers(NamedTuple):
    """Who vouches for the cluster's own service accounts."""

    issuer: str
    keys: str  # its key set's address; empty: the API server's own


def store(folder: ClusterFolder, ports: Ports, programs: Path) -> Part:
    return _part(ETCD, folder, programs, _SMALLER, ports._asdict())


def server(folder: ClusterFolder, ports: Ports, programs: Path, issuers: Issuers, settings: Mapping[str, Any]) -> Part:
    """`settings`: what it reads beside its flags."""
    part = _part(API_SERVER, folder, programs, {}, {**ports._asdict(), **issuers._asdict()})
    return part._replace(settings=settings)


def controllers(folder: ClusterFolder, programs: Path, agent: Sequence[str]) -> list[Part]:
    """The API server's clients. `agent`: the node agent's command; empty: none is started."""
    found = [_part(name, folder, programs, _SMALLER, {}) for name in (CONTROLLER_MANAGER, SCHEDULER)]
    if agent:
        found.append(Part(AGENT, list(agent), _agents_environment(), _CHECKOUT, control_plane.files(folder)))
    return found


def _part(name: str, folder: ClusterFolder, programs: Path, variables: Mapping[str, str], told: Mapping[str, object]) -> Part:
    """`told`: ports and issuers. A flag whose text is empty is left out."""
    pki = folder.pki
    words = {
        "host": HOST,
        "services": SERVICES,
        "folder": folder.control_plane,
        "etcd_data": folder.etcd,
        "pki": pki.folder,
        "authority": pki.authority,
        "authority_key": pki.authority_key,
        "account_key": pki.account_key,
        "account_public_key": pki.account_public_key,
        **told,
    }
    flags = {flag: text.format(**words) for flag, text in _flags()[name].items()}
    argv = [str(programs / name), *(f"--{flag}={text}" for flag, text in flags.items() if text)]
    return Part(name, argv, {**_environment(), **variables}, folder.root, control_plane.files(folder))


@functools.cache
def _flags() -> dict[str, dict[str, str]]:
    return tomllib.loads(Path(__file__).with_name("control_plane.toml").read_text(encoding="utf-8"))


def agent_command(folder: ClusterFolder) -> list[str]:
    return [sys.executable, "-m", "localazure.kubernetes.agent", str(folder.root)]


def authentication(folder: ClusterFolder) -> Path:
    return folder.control_plane / "authentication.json"


def authorization(folder: ClusterFolder) -> Path:
    return folder.control_plane / "authorization.json"


def kubeconfig(folder: ClusterFolder, part: str) -> Path:
    """With what a part, or the API server as a client of the embedded Azure, connects."""
    return folder.control_plane / f"{part}.kubeconfig"


def _environment() -> dict[str, str]:
    """No proxies: everything that these programs talk to is on this machine."""
    return {name: os.environ[name] for name in _INHERITED if name in os.environ}


def _agents_environment() -> dict[str, str]:
    """With pip's settings, which the containers of its pods get."""
    given = machine.pip_settings(os.environ)
    return {**_environment(), **{f"PIP_{name.upper().replace('-', '_')}": value for name, value in given.items()}}


_HEALTH_PATHS = ("/livez", "/readyz", "/healthz")  # the only ones that nobody has to say their name for
_ALLOWED_FOR, _REFUSED_FOR = "2s", "1s"  # a role that is granted holds a second later; AKS says that it may take minutes


class Outside(NamedTuple):
    """The embedded Azure, as the control plane meets it."""

    url: str  # empty: there is none, so there is neither Entra nor Azure RBAC
    authority: Path  # the certificate that vouches for it
    issuer: str  # of Entra's tokens
    webhook: str  # the address that validates by role assignments
    secret: str  # with which the API server is known there


def write_files(folder: ClusterFolder, ports: Ports, shape: ClusterShape, outside: Outside | None) -> None:
    entra = outside if shape.entra else None
    azure = outside if shape.entra and shape.azure_rbac else None
    _write(authentication(folder), _authentication_of(entra))
    _write(authorization(folder), _authorization_of(kubeconfig(folder, "azure") if azure else None))
    if azure:
        _write(kubeconfig(folder, "azure"), _webhook(azure))
    server = server_of(ports)
    for part in ("controller-manager", "scheduler"):
        _write(kubeconfig(folder, part), kubeconfigs.by_files(server, folder.pki.authority, folder.pki.pair(part)))


def server_of(ports: Ports) -> str:
    return f"https://{HOST}:{ports.api_server}"


def _authentication_of(entra: Outside | None) -> dict[str, Any]:
    return {
        "apiVersion": "apiserver.config.k8s.io/v1",
        "kind": "AuthenticationConfiguration",
        "jwt": [_entra(entra)] if entra else [],
        "anonymous": {"enabled": True, "conditions": [{"path": path} for path in _HEALTH_PATHS]},
    }


def _entra(outside: Outside) -> dict[str, Any]:
    return {
        "issuer": {
            "url": outside.issuer,
            "audiences": [ENTRA_SERVER_APP],
            "certificateAuthority": outside.authority.read_text(encoding="ascii"),
        },
        "claimMappings": {"username": {"claim": "oid", "prefix": ""}, "groups": {"claim": "groups", "prefix": ""}},
    }


def _authorization_of(azure: Path | None) -> dict[str, Any]:
    authorizers: list[dict[str, Any]] = [{"type": "Node", "name": "node"}, {"type": "RBAC", "name": "rbac"}]
    if azure:
        webhook = {
            "authorizedTTL": _ALLOWED_FOR,
            "unauthorizedTTL": _REFUSED_FOR,
            "timeout": "3s",
            "subjectAccessReviewVersion": "v1",
            "matchConditionSubjectAccessReviewVersion": "v1",
            "failurePolicy": "NoOpinion",  # while the embedded Azure is away nobody is allowed anything by it
            "connectionInfo": {"type": "KubeConfigFile", "kubeConfigFile": str(azure)},
            "matchConditions": [{"expression": "!request.user.startsWith('system:')"}],  # Kubernetes' own are none of Entra's
        }
        authorizers.append({"type": "Webhook", "name": "azure", "webhook": webhook})
    return {"apiVersion": "apiserver.config.k8s.io/v1", "kind": "AuthorizationConfiguration", "authorizers": authorizers}


def _webhook(outside: Outside) -> dict[str, Any]:
    return kubeconfigs.config(
        "azure", {"server": outside.webhook, "certificate-authority": str(outside.authority)}, {"token": outside.secret}
    )


def _write(path: Path, content: dict[str, Any]) -> None:
    write_whole(path, json.dumps(content, indent=1) + "\n", SECRET_MODE)
