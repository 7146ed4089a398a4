"""Authorizes scoring: by one of an endpoint's keys, a token that it issued, or a token of Microsoft Entra ID with a role.

RefusedError 401 otherwise. The action that a role has to allow is
`Microsoft.MachineLearningServices/workspaces/onlineEndpoints/score/action`: Microsoft Learn,
machine-learning/concept-endpoints-online-auth.
"""

import hmac
from collections.abc import Callable
from datetime import datetime, timedelta

import jwt

from azure_gpu.catalog import roles
from localazure.arm.errors import ArmError
from localazure.kinds.roles import has_role
from localazure.ml.live import LiveEndpoint
from localazure.ml.scoring_errors import RefusedError
from localazure.services import Services
from localazure.weather import reach

SCORE = "Microsoft.MachineLearningServices/workspaces/onlineEndpoints/score/action"
RESOURCE = "https://ml.azure.com"
AUDIENCES = (RESOURCE, f"{RESOURCE}/")
# Microsoft Learn, role-based-access-control/built-in-roles/ai-machine-learning, read 2026-11-22: those that hold the action.
MAY_SCORE = frozenset({roles.OWNER, roles.CONTRIBUTOR, roles.AZUREML_DATA_SCIENTIST})
TOKEN_LIFETIME = timedelta(hours=12)  # `expiryTimeUtc` of a token of an endpoint; the service's own time isn't published
REFRESH_AFTER = timedelta(hours=6)
_ROLES_KEPT_SECONDS = 2.0
_ALGORITHM = "HS256"


class Gate:
    """Validates by an endpoint's keys and by the role assignments as they are, or were two seconds ago."""

    def __init__(self, services: Services, clock: Callable[[], float]) -> None:
        self._services = services
        self._clock = clock  # of the event loop
        self._judged: dict[tuple[str, str], tuple[float, bool]] = {}

    def check(self, endpoint: LiveEndpoint, authorization: bytes) -> None:
        """RefusedError 401, or 403 from outside of a private endpoint's network."""
        if endpoint.private and not reach.by_endpoint(endpoint.key.rsplit("/", 2)[0], self._services):
            raise RefusedError("PublicNetworkAccessDenied", name=endpoint.name)
        scheme, _, given = authorization.partition(b" ")
        given = given.strip()
        if scheme.lower() != b"bearer" or not given:
            raise RefusedError("key_auth_bad_header_forbidden")
        match endpoint.auth_mode:
            case "Key":
                if not any(hmac.compare_digest(key, given) for key in endpoint.keys):
                    raise _denied("Invalid key of the endpoint.")
            case "AMLToken":
                self._check_own_token(endpoint, given)
            case _:
                self._check_entra_token(endpoint, authorization.decode("latin-1"))

    def _check_own_token(self, endpoint: LiveEndpoint, token: bytes) -> None:
        try:
            claims = jwt.decode(
                token, endpoint.secret, algorithms=[_ALGORITHM], options={"verify_exp": False, "require": ["exp"]}
            )
        except jwt.PyJWTError:
            raise _denied("Invalid token of the endpoint.") from None
        if claims["exp"] <= self._services.clock.now().timestamp():
            raise _denied("The token has expired.")

    def _check_entra_token(self, endpoint: LiveEndpoint, authorization: str) -> None:
        try:
            principal = self._services.tokens.check(authorization, AUDIENCES).object_id
        except ArmError as error:
            raise _denied(error.message) from None
        if not self._may_score(principal, endpoint.key):
            why = f"The principal '{principal}' has no role on the endpoint that allows the action '{SCORE}'."
            raise _denied(why)

    def _may_score(self, principal: str, endpoint_key: str) -> bool:
        """Roles are looked up in the store, which is too slow for each request."""
        now = self._clock()
        when, may = self._judged.get((principal, endpoint_key), (0.0, False))
        if not when or now - when > _ROLES_KEPT_SECONDS:
            may = self._look_up(principal, endpoint_key)
            if len(self._judged) > 1000:
                self._judged.clear()
            self._judged[(principal, endpoint_key)] = (now, may)
        return may

    def _look_up(self, principal: str, endpoint_key: str) -> bool:
        if principal == self._services.settings.principal_id:  # may all that no fault forbids
            return SCORE.lower() not in {name.lower() for name in self._services.deviations.forbidden()}
        return has_role(self._services, principal, MAY_SCORE, endpoint_key)


def _denied(why: str) -> RefusedError:
    return RefusedError("key_auth_access_denied", why=why)


def own_token(endpoint_key: str, secret: str, now: datetime) -> tuple[str, datetime, datetime]:
    """A token of the endpoint, when it ends, and from when on a client may ask for another."""
    expires = now + TOKEN_LIFETIME
    token = jwt.encode({"sub": endpoint_key, "exp": int(expires.timestamp())}, secret, algorithm=_ALGORITHM)
    return token, expires, now + REFRESH_AFTER
