"""The programs of one control plane: their arguments and configuration files.

Flags that aren't obvious: `--endpoint-reconciler-type=none` and `--advertise-address`, since a loopback address may stand in no
EndpointSlice; `--kubelet-*`, since every node is a port of 127.0.0.1; `--unsafe-no-fsync`, since nothing here needs to outlive a
loss of power. Admission plugins beside Kubernetes' own defaults are those that AKS runs: Microsoft Learn, aks/faq, 2026-08.

Files are JSON, which is valid YAML, in the control plane's folder. Callers are known by a certificate of the cluster's authority,
a token of a service account, or, where the cluster has Entra, a token for AKS's server application; their name is the object id,
as AKS has it for service principals. What Kubernetes' own rules don't allow them is asked of the embedded Azure, where the
cluster has Azure RBAC.
"""

import json
import os
import sys
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
_ADVERTISED = "192.0.2.1"  # for documentation (RFC 5737): nothing is there, and nothing is told of it
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
    return _part(ETCD, folder, programs, _etcd(folder, ports), _SMALLER)


def server(folder: ClusterFolder, ports: Ports, programs: Path, issuers: Issuers, settings: Mapping[str, Any]) -> Part:
    """`settings`: what it reads beside its flags."""
    return _part(API_SERVER, folder, programs, _api_server(folder, ports, issuers), {})._replace(settings=settings)


def controllers(folder: ClusterFolder, programs: Path, agent: Sequence[str]) -> list[Part]:
    """The API server's clients. `agent`: the node agent's command; empty: none is started."""
    flags = {CONTROLLER_MANAGER: _controller_manager(folder), SCHEDULER: _scheduler(folder)}
    found = [_part(name, folder, programs, own, _SMALLER) for name, own in flags.items()]
    if agent:
        found.append(Part(AGENT, list(agent), _agents_environment(), _CHECKOUT, control_plane.files(folder)))
    return found


def _part(name: str, folder: ClusterFolder, programs: Path, flags: Mapping[str, object], variables: Mapping[str, str]) -> Part:
    argv = [str(programs / name), *(f"--{flag}={value}" for flag, value in flags.items())]
    return Part(name, argv, {**_environment(), **variables}, folder.root, control_plane.files(folder))


def agent_command(folder: ClusterFolder) -> list[str]:
    return [sys.executable, "-m", "localazure.kubernetes.agent", str(folder.root)]


def _etcd(folder: ClusterFolder, ports: Ports) -> dict[str, object]:
    served, authority = folder.pki.pair("etcd"), folder.pki.authority
    clients, peers = f"https://{HOST}:{ports.etcd}", f"https://{HOST}:{ports.etcd_peer}"
    return {
        "name": "default",
        "data-dir": folder.etcd,
        "listen-client-urls": clients,
        "advertise-client-urls": clients,
        "listen-peer-urls": peers,
        "initial-advertise-peer-urls": peers,
        "initial-cluster": f"default={peers}",
        "client-cert-auth": "true",
        "trusted-ca-file": authority,
        "cert-file": served.certificate,
        "key-file": served.key,
        "peer-client-cert-auth": "true",
        "peer-trusted-ca-file": authority,
        "peer-cert-file": served.certificate,
        "peer-key-file": served.key,
        "unsafe-no-fsync": "true",
        "log-level": "warn",
    }


def _api_server(folder: ClusterFolder, ports: Ports, issuers: Issuers) -> dict[str, object]:
    certificates = folder.pki
    served, to_etcd, to_nodes = (certificates.pair(name) for name in ("apiserver", "etcd-client", "kubelet-client"))
    return {
        "etcd-servers": f"https://{HOST}:{ports.etcd}",
        "etcd-cafile": certificates.authority,
        "etcd-certfile": to_etcd.certificate,
        "etcd-keyfile": to_etcd.key,
        "bind-address": HOST,
        "secure-port": ports.api_server,
        "advertise-address": _ADVERTISED,
        "endpoint-reconciler-type": "none",
        "tls-cert-file": served.certificate,
        "tls-private-key-file": served.key,
        "client-ca-file": certificates.authority,
        "cert-dir": folder.control_plane,
        "authentication-config": authentication(folder),
        "authorization-config": authorization(folder),
        "service-account-issuer": issuers.issuer,
        **({"service-account-jwks-uri": issuers.keys} if issuers.keys else {}),
        "service-account-signing-key-file": certificates.account_key,
        "service-account-key-file": certificates.account_public_key,
        "service-cluster-ip-range": SERVICES,
        "kubelet-certificate-authority": certificates.authority,
        "kubelet-client-certificate": to_nodes.certificate,
        "kubelet-client-key": to_nodes.key,
        "kubelet-preferred-address-types": "InternalIP",
        "enable-admission-plugins": "ExtendedResourceToleration,PodNodeSelector,PodTolerationRestriction",
        "allow-privileged": "true",
        "profiling": "false",
    }


def _controller_manager(folder: ClusterFolder) -> dict[str, object]:
    certificates = folder.pki
    return {
        "kubeconfig": kubeconfig(folder, "controller-manager"),
        "leader-elect": "false",
        "secure-port": 0,
        "root-ca-file": certificates.authority,
        "service-account-private-key-file": certificates.account_key,
        "cluster-signing-cert-file": certificates.authority,
        "cluster-signing-key-file": certificates.authority_key,
        "allocate-node-cidrs": "false",
        "kube-api-qps": 100,
        "kube-api-burst": 200,
        "profiling": "false",
    }


def _scheduler(folder: ClusterFolder) -> dict[str, object]:
    return {
        "kubeconfig": kubeconfig(folder, "scheduler"),
        "leader-elect": "false",
        "secure-port": 0,
        "kube-api-qps": 100,
        "kube-api-burst": 200,
        "profiling": "false",
    }


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
