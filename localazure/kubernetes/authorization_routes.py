"""Requests of a cluster's API server, and of those that trust the cluster's service accounts, to the embedded Azure.

`/kubernetes/authorization/<id>`: may this user of Entra do this? Validated by the role assignments on the cluster, for its API
server alone, which shows a secret. `/kubernetes/oidc/<id>/…`: workload identity's issuer, public as AKS's is: discovery and keys.
`/kubernetes/workload-identity/<id>`: the webhook that gives a pod the variables and the token of its identity.
"""

import base64
import hashlib
import json
from typing import Any

from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric.rsa import RSAPublicKey
from jwt.algorithms import RSAAlgorithm
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from localazure.arm.errors import ArmError
from localazure.arm.requests import content_of
from localazure.kinds.roles import has_role
from localazure.kubernetes import authorization, workload_identity
from localazure.kubernetes.client import KubeError
from localazure.kubernetes.clusters import Clusters
from localazure.kubernetes.control_plane_folder import ClusterFolder
from localazure.kubernetes.pki import Pki
from localazure.kubernetes.workload_identity import WebhookError
from localazure.services import Services

# AKS's own words, which kubectl prints behind "is forbidden".
_REFUSED = "User does not have access to the resource in Azure. Update role assignment to allow access."


class ClusterRoutes:
    """The routes of all clusters."""

    def __init__(self, services: Services, clusters: Clusters) -> None:
        self._services = services
        self._clusters = clusters

    def routes(self) -> list[Route]:
        issuer = "/kubernetes/oidc/{cluster}"
        return [
            Route("/kubernetes/authorization/{cluster}", self.review, methods=["POST"]),
            Route("/kubernetes/workload-identity/{cluster}", self.mutate, methods=["POST"]),
            Route(f"{issuer}/.well-known/openid-configuration", self.discovery),
            Route(f"{issuer}/openid/v1/jwks", self.keys),
        ]

    async def review(self, request: Request) -> Response:
        """A SubjectAccessReview and its answer. What isn't allowed is left to others: nothing is denied here."""
        secret = request.headers.get("authorization", "").removeprefix("Bearer ")
        cluster = self._clusters.key_of_webhook(request.path_params["cluster"], secret)
        if cluster is None:
            return Response(status_code=401)
        try:
            asked = json.loads(await content_of(request))
            requested = authorization.requested(asked["spec"])
        except (ArmError, ValueError, KeyError, AttributeError):
            return Response(status_code=400)
        allowed = self._allowed(cluster, requested)
        status: dict[str, Any] = {"allowed": True} if allowed else {"allowed": False, "reason": _REFUSED}
        return JSONResponse({"apiVersion": "authorization.k8s.io/v1", "kind": "SubjectAccessReview", "status": status})

    def _allowed(self, cluster: str, requested: authorization.RequestedAction) -> bool:
        scope = f"{cluster}/namespaces/{requested.namespace}" if requested.namespace else cluster
        if self._services.weather.holds("wildcard-reviews") and "*" in requested.action:
            return False
        granting = authorization.granting(requested.action)
        return any(
            has_role(self._services, principal, granting, scope, requested.action)
            for principal in (requested.user, *requested.groups)
        )

    async def mutate(self, request: Request) -> Response:
        """An AdmissionReview of a pod and its answer. Tells nothing but what an annotation of the cluster says."""
        key = self._clusters.key_of(request.path_params["cluster"])
        if key is None:
            return Response(status_code=404)
        try:
            asked = json.loads(await content_of(request))["request"]
            answer: dict[str, Any] = {"uid": asked["uid"], **await self._mutated(key, asked["namespace"], asked["object"])}
        except (ArmError, ValueError, KeyError, TypeError, AttributeError):
            return Response(status_code=400)
        return JSONResponse({"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "response": answer})

    async def _mutated(self, key: str, namespace: str, pod: dict[str, Any]) -> dict[str, Any]:
        name = workload_identity.account_of(pod)
        try:
            account = await self._clusters.api(key).get(f"/api/v1/namespaces/{namespace}/serviceaccounts/{name}")
            authority_host = f"{self._services.settings.url}/"
            changes = workload_identity.patch(pod, account, self._clusters.shape(key).tenant_id, authority_host)
        except (KubeError, WebhookError) as error:
            return {"allowed": False, "status": {"code": 400, "message": str(error)}}
        patch = base64.b64encode(json.dumps(changes).encode()).decode("ascii")
        return {"allowed": True, "patchType": "JSONPatch", "patch": patch}

    async def discovery(self, request: Request) -> Response:
        key = self._clusters.key_of(request.path_params["cluster"])
        if key is None:
            return Response(status_code=404)
        issuer = self._clusters.issuer(key)
        return JSONResponse(
            {
                "issuer": issuer,
                "jwks_uri": f"{issuer}openid/v1/jwks",
                "response_types_supported": ["id_token"],
                "subject_types_supported": ["public"],
                "id_token_signing_alg_values_supported": ["RS256"],
            }
        )

    async def keys(self, request: Request) -> Response:
        key = self._clusters.key_of(request.path_params["cluster"])
        if key is None:
            return Response(status_code=404)
        return JSONResponse(_key_set(key, self._clusters))


def key_set(issuer: str, clusters: Clusters, services: Services) -> dict[str, Any] | None:
    """The keys of an issuer that is a cluster of this Azure; None of any other, which nothing here can reach."""
    before, _, identifier = issuer.removesuffix("/").rpartition("/")
    key = clusters.key_of(identifier) if before == f"{services.settings.url}/kubernetes/oidc" else None
    return None if key is None else _key_set(key, clusters)


def _key_set(key: str, clusters: Clusters) -> dict[str, Any]:
    return {"keys": [_published(ClusterFolder(clusters.folder(key)).pki)]}


def _published(pki: Pki) -> dict[str, Any]:
    """The public key under the id that kube-apiserver writes into its tokens: the digest of the key itself."""
    key = serialization.load_pem_public_key(pki.account_public_key.read_bytes())
    if not isinstance(key, RSAPublicKey):
        raise TypeError("service accounts are signed for with an RSA key")
    content = key.public_bytes(serialization.Encoding.DER, serialization.PublicFormat.SubjectPublicKeyInfo)
    identifier = base64.urlsafe_b64encode(hashlib.sha256(content).digest()).decode("ascii").rstrip("=")
    return {**RSAAlgorithm.to_jwk(key, as_dict=True), "use": "sig", "alg": "RS256", "kid": identifier}
