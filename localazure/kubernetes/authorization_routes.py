"""What a cluster's API server, and whoever trusts the cluster's service accounts, asks the embedded Azure.

`/kubernetes/authorization/<id>`: may this user of Entra do this? Judged by the role assignments on the cluster, for its API
server alone, which shows a secret. `/kubernetes/oidc/<id>/…`: workload identity's issuer, public as AKS's is: discovery and keys.
"""

import base64
import hashlib
import json
from typing import TYPE_CHECKING, Any

from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric.rsa import RSAPublicKey
from jwt.algorithms import RSAAlgorithm
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from localazure.arm.errors import ArmError
from localazure.arm.requests import content_of
from localazure.kinds.roles import has_role
from localazure.kubernetes import authorization
from localazure.kubernetes.control_plane_folder import ClusterFolder
from localazure.kubernetes.pki import Pki

if TYPE_CHECKING:
    from localazure.services import Services

# AKS's own words, which kubectl prints behind "is forbidden".
_REFUSED = "User does not have access to the resource in Azure. Update role assignment to allow access."


class ClusterRoutes:
    """The routes of all clusters."""

    def __init__(self, services: "Services") -> None:
        self._services = services

    def routes(self) -> list[Route]:
        issuer = "/kubernetes/oidc/{cluster}"
        return [
            Route("/kubernetes/authorization/{cluster}", self.review, methods=["POST"]),
            Route(f"{issuer}/.well-known/openid-configuration", self.discovery),
            Route(f"{issuer}/openid/v1/jwks", self.keys),
        ]

    async def review(self, request: Request) -> Response:
        """A SubjectAccessReview and its answer. What isn't allowed is left to others: nothing is denied here."""
        secret = request.headers.get("authorization", "").removeprefix("Bearer ")
        cluster = self._services.clusters.key_of_webhook(request.path_params["cluster"], secret)
        if cluster is None:
            return Response(status_code=401)
        try:
            asked = json.loads(await content_of(request))
            wish = authorization.wish(asked["spec"])
        except (ArmError, ValueError, KeyError, AttributeError):
            return Response(status_code=400)
        allowed = self._allowed(cluster, wish)
        status: dict[str, Any] = {"allowed": True} if allowed else {"allowed": False, "reason": _REFUSED}
        return JSONResponse({"apiVersion": "authorization.k8s.io/v1", "kind": "SubjectAccessReview", "status": status})

    def _allowed(self, cluster: str, wish: authorization.Wish) -> bool:
        scope = f"{cluster}/namespaces/{wish.namespace}" if wish.namespace else cluster
        granting = authorization.granting(wish.action)
        return any(has_role(self._services, principal, granting, scope) for principal in (wish.user, *wish.groups))

    async def discovery(self, request: Request) -> Response:
        key = self._services.clusters.key_of(request.path_params["cluster"])
        if key is None:
            return Response(status_code=404)
        issuer = self._services.clusters.issuer(key)
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
        key = self._services.clusters.key_of(request.path_params["cluster"])
        if key is None:
            return Response(status_code=404)
        return JSONResponse({"keys": [_published(ClusterFolder(self._services.clusters.folder(key)).pki)]})


def _published(pki: Pki) -> dict[str, Any]:
    """The public key under the id that kube-apiserver writes into its tokens: the digest of the key itself."""
    key = serialization.load_pem_public_key(pki.account_public_key.read_bytes())
    if not isinstance(key, RSAPublicKey):
        raise TypeError("service accounts are signed for with an RSA key")
    content = key.public_bytes(serialization.Encoding.DER, serialization.PublicFormat.SubjectPublicKeyInfo)
    identifier = base64.urlsafe_b64encode(hashlib.sha256(content).digest()).decode("ascii").rstrip("=")
    return {**RSAAlgorithm.to_jwk(key, as_dict=True), "use": "sig", "alg": "RS256", "kid": identifier}
