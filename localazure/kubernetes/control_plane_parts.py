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
from typing import NamedTuple

from localazure.containers import machine
from localazure.folder import SECRET_MODE, write_whole
from localazure.kubernetes import control_plane, kubeconfigs
from localazure.kubernetes.control_plane import Part
from localazure.kubernetes.control_plane_folder import ClusterFolder
from localazure.kubernetes.documents import document
from localazure.kubernetes.model import ENTRA_SERVER_APP

HOST = "127.0.0.1"
API_SERVER, AGENT = "kube-apiserver", "agent"
# AKS's default is 10.0.0.0/16. These addresses are this machine's own: the node agent, which isn't root, can listen there.
SERVICES = "127.16.0.0/12"
_CHECKOUT = Path(__file__).resolve().parents[2]
_INHERITED = ("HOME", "LANG", "LC_ALL", "PATH", "TMPDIR", "TZ", "XDG_CACHE_HOME")
# Go's collector lets a program grow to twice what it holds. The API server, which most of the time goes to, keeps that.
_SMALLER = {"GOGC": "50"}


PORTS = ("api_server", "etcd", "etcd_peer")  # of loopback; the API server's stands in kubeconfigs


def part(name: str, folder: ClusterFolder, programs: Path, told: Mapping[str, object]) -> Part:
    """One of the programs. `told`: the ports; `issuer` and `keys` of the cluster's own service accounts. A flag whose text is
    empty is left out."""
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
    variables = {} if name == API_SERVER else _SMALLER
    return Part(name, argv, {**_environment(), **variables}, folder.root, control_plane.files(folder))


def agent_part(folder: ClusterFolder, command: Sequence[str]) -> Part:
    """With pip's settings, which the containers of its pods get."""
    given = {f"PIP_{name.upper().replace('-', '_')}": value for name, value in machine.pip_settings(os.environ).items()}
    return Part(AGENT, list(command), {**_environment(), **given}, _CHECKOUT, control_plane.files(folder))


@functools.cache
def _flags() -> dict[str, dict[str, str]]:
    return tomllib.loads(Path(__file__).with_name("control_plane.toml").read_text(encoding="utf-8"))


def agent_command(folder: ClusterFolder) -> list[str]:
    return [sys.executable, "-m", "localazure.kubernetes.agent", str(folder.root)]


def _environment() -> dict[str, str]:
    """No proxies: everything that these programs talk to is on this machine."""
    return {name: os.environ[name] for name in _INHERITED if name in os.environ}


class Outside(NamedTuple):
    """The embedded Azure, as a control plane with Entra meets it."""

    authority: Path  # the certificate that vouches for it
    issuer: str  # of Entra's tokens
    webhook: str  # the address that validates by role assignments; empty: nobody does
    secret: str  # with which the API server is known there


def write_files(folder: ClusterFolder, server: str, outside: Outside | None) -> None:
    """Configuration of the API server, and with what its clients connect, or it as one of the embedded Azure."""
    said = document("api_server")
    contents = {folder.control_plane / f"{name}.json": said[name] for name in ("authentication", "authorization")}
    if outside:
        trusted = {"certificateAuthority": outside.authority.read_text(encoding="ascii")}
        issuer = {"url": outside.issuer, "audiences": [ENTRA_SERVER_APP], **trusted}
        said["authentication"]["jwt"] = [{"issuer": issuer, **said["entra"]}]
    if outside and outside.webhook:
        to_azure = folder.control_plane / "azure.kubeconfig"
        said["azure"]["webhook"]["connectionInfo"]["kubeConfigFile"] = str(to_azure)
        said["authorization"]["authorizers"].append(said["azure"])
        cluster = {"server": outside.webhook, "certificate-authority": str(outside.authority)}
        contents[to_azure] = kubeconfigs.config("azure", cluster, {"token": outside.secret})
    for name in ("controller-manager", "scheduler"):
        pair = folder.pki.pair(name)
        contents[folder.control_plane / f"{name}.kubeconfig"] = kubeconfigs.by_files(server, folder.pki.authority, pair)
    for path, content in contents.items():
        write_whole(path, json.dumps(content, indent=1) + "\n", SECRET_MODE)


def server_of(ports: Mapping[str, int]) -> str:
    return f"https://{HOST}:{ports['api_server']}"
