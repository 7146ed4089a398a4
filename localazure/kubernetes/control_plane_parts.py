"""The programs of one control plane, as the supervisor starts them: their arguments and readiness checks.

Nothing is started or written here.

Flags that aren't obvious: `--endpoint-reconciler-type=none` and `--advertise-address`, since a loopback address may stand in no
EndpointSlice; `--kubelet-*`, since every node is a port of 127.0.0.1; `--unsafe-no-fsync`, since nothing here needs to outlive a
loss of power. Admission plugins beside Kubernetes' own defaults are those that AKS runs: Microsoft Learn, aks/faq, 2026-08.
"""

import os
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from localazure.containers import machine
from localazure.kubernetes.control_plane_folder import ClusterFolder

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


def parts(folder: ClusterFolder, ports: Ports, programs: Path, issuers: Issuers, agent: Sequence[str]) -> list[dict[str, Any]]:
    """`agent`: the node agent's command; empty: none is started."""
    certificates = folder.pki
    mine = certificates.pair("supervisor")
    probe = {"host": HOST, "ca": str(certificates.authority), "certificate": str(mine.certificate), "key": str(mine.key)}

    def part(name: str, flags: Mapping[str, object], after: Sequence[str] = (), **more: Any) -> dict[str, Any]:
        return {
            "name": name,
            "argv": [str(programs / name), *(f"--{flag}={value}" for flag, value in flags.items())],
            "env": _environment() if name == API_SERVER else {**_environment(), **_SMALLER},
            "cwd": str(folder.root),
            "log": str(folder.log(name)),
            "after": list(after),
            **more,
        }

    ready = {**probe, "port": ports.api_server, "path": "/readyz"}
    answering = (API_SERVER,)
    found = [
        part(ETCD, _etcd(folder, ports)),
        part(API_SERVER, _api_server(folder, ports, issuers), ready=ready),
        part(CONTROLLER_MANAGER, _controller_manager(folder), answering),
        part(SCHEDULER, _scheduler(folder), answering),
    ]
    if agent:
        found.append({**part(AGENT, {}, answering), "argv": list(agent), "env": _agents_environment(), "cwd": str(_CHECKOUT)})
    return found


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
        "cert-dir": folder.supervisor,
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
    return folder.supervisor / "authentication.json"


def authorization(folder: ClusterFolder) -> Path:
    return folder.supervisor / "authorization.json"


def kubeconfig(folder: ClusterFolder, part: str) -> Path:
    """With what a part, or the API server as a client of the embedded Azure, connects."""
    return folder.supervisor / f"{part}.kubeconfig"


def _environment() -> dict[str, str]:
    """No proxies: everything that these programs talk to is on this machine."""
    return {name: os.environ[name] for name in _INHERITED if name in os.environ}


def _agents_environment() -> dict[str, str]:
    """With pip's settings, which the containers of its pods get."""
    given = machine.pip_settings(os.environ)
    return {**_environment(), **{f"PIP_{name.upper().replace('-', '_')}": value for name, value in given.items()}}
