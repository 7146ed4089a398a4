"""Configuration files of a control plane: authentication and authorization of the API server, and connections of its parts.

They are JSON, which is valid YAML, in the supervisor's folder.

Callers are known by a certificate of the cluster's authority, a token of a service account, or, where the cluster has Entra, a
token for AKS's server application; their name is the object id, as AKS has it for service principals. What Kubernetes' own rules
don't allow them is asked of the embedded Azure, where the cluster has Azure RBAC.
"""

import json
from pathlib import Path
from typing import Any, NamedTuple

from localazure.folder import SECRET_MODE, write_whole
from localazure.kubernetes import control_plane_parts as parts, kubeconfigs
from localazure.kubernetes.control_plane_folder import ClusterFolder
from localazure.kubernetes.model import ENTRA_SERVER_APP, ClusterShape

_HEALTH_PATHS = ("/livez", "/readyz", "/healthz")  # the only ones that nobody has to say their name for
_ALLOWED_FOR, _REFUSED_FOR = "2s", "1s"  # a role that is granted holds a second later; AKS says that it may take minutes


class Outside(NamedTuple):
    """The embedded Azure, as the control plane meets it."""

    url: str  # empty: there is none, so there is neither Entra nor Azure RBAC
    authority: Path  # the certificate that vouches for it
    issuer: str  # of Entra's tokens
    webhook: str  # the address that validates by role assignments
    secret: str  # with which the API server is known there


def write(folder: ClusterFolder, ports: parts.Ports, shape: ClusterShape, outside: Outside | None) -> None:
    entra = outside if shape.entra else None
    azure = outside if shape.entra and shape.azure_rbac else None
    _write(parts.authentication(folder), _authentication(entra))
    _write(parts.authorization(folder), _authorization(parts.kubeconfig(folder, "azure") if azure else None))
    if azure:
        _write(parts.kubeconfig(folder, "azure"), _webhook(azure))
    server = server_of(ports)
    for part in ("controller-manager", "scheduler"):
        _write(parts.kubeconfig(folder, part), kubeconfigs.by_files(server, folder.pki.authority, folder.pki.pair(part)))


def server_of(ports: parts.Ports) -> str:
    return f"https://{parts.HOST}:{ports.api_server}"


def _authentication(entra: Outside | None) -> dict[str, Any]:
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


def _authorization(azure: Path | None) -> dict[str, Any]:
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
