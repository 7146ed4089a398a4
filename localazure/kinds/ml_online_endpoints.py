"""Online endpoints of Azure Machine Learning: an address, a way to sign on, and how requests are shared among deployments.

A PUT replaces the whole endpoint, its traffic with it, as the service does: a client that knows nothing of mirrored traffic loses
it (Microsoft Learn, machine-learning/how-to-safely-rollout-online-endpoints). What runs for an endpoint is in `localazure/ml`.
"""

from azure_gpu.formats import azure_types
from localazure.arm.kind import Answer, Call, Change, action
from localazure.arm.store import Body, Resource
from localazure.kinds import attached_identities, ml_online_refusals as refusals
from localazure.kinds.ml_kind import MlKind, workspace_of
from localazure.ml.service import OnlineEndpoints
from localazure.services import Services
from localazure.subscriptions import SUBSCRIPTION
from localazure.weather import endpoint_roles

MOST_ENDPOINTS = 100  # in a region. Microsoft Learn, machine-learning/how-to-manage-quotas
_PATCHED = ("tags", "identity", "kind", "sku")  # what a PATCH may name: the rest changes by PUT
_KEY_TYPES = {"Primary": "primaryKey", "Secondary": "secondaryKey"}


class MlOnlineEndpoints(MlKind):
    azure_type = azure_types.ML_ONLINE_ENDPOINT

    def __init__(self, endpoints: OnlineEndpoints) -> None:
        self._endpoints = endpoints

    def patched(self, under: Body, patch: Body) -> Body:
        refusals.refuse_other(patch, _PATCHED)
        return super().patched(under, patch)

    refusal = staticmethod(refusals.form)

    def check(self, change: Change) -> None:
        self.judge(change, {**change.body, "properties": {"authMode": "", **change.properties}}, _facts(change))
        _check_traffic(change, self._endpoints)

    async def provision(self, change: Change) -> Body:
        resource, endpoints = change.stored, self._endpoints
        given: Body = resource.properties.pop("keys", None) or {}
        if not resource.private:
            resource.private = endpoints.new_keys(given)
        endpoints.apply(resource)
        uris = {"scoringUri": endpoints.scoring_uri(resource), "swaggerUri": endpoints.scoring_uri(resource, "swagger.json")}
        own = attached_identities.own(resource, change.services)
        endpoint_roles.assign(own, workspace_of(resource.id.text, change.services), change.services)
        return {"properties": uris}

    async def remove(self, resource: Resource, services: Services) -> None:  # noqa: ARG002
        self._endpoints.forget(resource)

    def hidden(self, body: Body) -> Body:
        """Keys may be given, and are never shown."""
        properties = {name: value for name, value in body.get("properties", {}).items() if name != "keys"}
        return {**body, "properties": properties}

    @action("listKeys")
    async def list_keys(self, resource: Resource, call: Call) -> Answer:  # noqa: ARG002
        _check_mode(resource, "Key", "listKeys")
        return Answer(body=dict(resource.private["keys"]))

    @action("regenerateKeys")
    async def regenerate_keys(self, resource: Resource, call: Call) -> Answer:
        _check_mode(resource, "Key", "regenerateKeys")
        name = _KEY_TYPES.get(str(call.body.get("keyType")))
        if name is None:
            raise refusals.invalid(f"keyType takes {' or '.join(_KEY_TYPES)}.", "keyType")
        keys, value = resource.private["keys"], call.body.get("keyValue")
        given = {name: value} if value and value != keys[name] else {}  # azure-ai-ml sends the key that is to be replaced
        keys[name] = self._endpoints.new_keys(given)["keys"][name]
        call.services.store.put(resource)
        self._endpoints.apply(resource)
        return Answer(status=202, work=_nothing)

    @action("token")
    async def token(self, resource: Resource, call: Call) -> Answer:  # noqa: ARG002
        _check_mode(resource, "AMLToken", "token")
        token, expires, refresh = self._endpoints.token(resource)
        return Answer(
            body={
                "accessToken": token,
                "expiryTimeUtc": int(expires.timestamp()),
                "refreshAfterTimeUtc": int(refresh.timestamp()),
                "tokenType": "Bearer",
            }
        )


async def _nothing() -> None:
    """The keys were made at once; the service takes a moment, and clients poll."""


def _check_mode(resource: Resource, mode: str, action: str) -> None:
    has = resource.properties["authMode"]
    if has != mode:
        raise refusals.invalid(f"The endpoint's authMode is {has}; '{action}' is for {mode}.", "authMode")


def _shares(change: Change) -> dict[str, dict[str, int]]:
    """Live and mirrored shares, by the names of deployments as they are spelt."""
    below = change.services.store.of_type(azure_types.ML_ONLINE_DEPLOYMENT.arm_type, change.id.text)
    spelt = {each.id.name.lower(): each.id.name for each in below}
    given: dict[str, dict[str, int]] = {what: change.properties.get(what) or {} for what in ("traffic", "mirrorTraffic")}
    return {what: {spelt.get(name.lower(), name): share for name, share in said.items()} for what, said in given.items()}


def _facts(change: Change) -> Body:
    shares = _shares(change)
    below = change.services.store.of_type(azure_types.ML_ONLINE_DEPLOYMENT.arm_type, change.id.text)
    known = {each.id.name for each in below}
    mirrored = [name for name, share in shares["mirrorTraffic"].items() if share]
    region, every = change.body["location"], change.services.store.of_type(MlOnlineEndpoints.azure_type.arm_type)
    here = [each for each in every if each.location == region and each.key != change.id.key]
    limit, by_others = change.services.deviations.quota("ml", region, "endpoints", MOST_ENDPOINTS)
    return {
        "region": region,
        "taken": any(each.id.name.lower() == change.id.name.lower() for each in here),
        "subscription": SUBSCRIPTION,
        "used": len(here) + by_others,
        "limit": limit - 1,
        "most": limit,
        "unknown": {what: next((name for name in given if name not in known), "") for what, given in shares.items()},
        "shares": sum(shares["traffic"].values()),
        "mirrored": len(mirrored),
        "both": next((name for name in mirrored if shares["traffic"].get(name)), ""),
    }


def _check_traffic(change: Change, endpoints: OnlineEndpoints) -> None:
    """Shares go to deployments that have been there for once."""
    below = change.services.store.of_type(azure_types.ML_ONLINE_DEPLOYMENT.arm_type, change.id.text)
    leaving = {each.id.name.lower() for each in below if each.state == "Deleting"}
    for what, given in _shares(change).items():
        for name, share in given.items():
            if share > 0 and name.lower() in leaving:
                raise refusals.invalid(f"The deployment '{name}' is being deleted.", f"properties.{what}.{name}")
            if share > 0 and not endpoints.serves(f"{change.id.key}/deployments/{name.lower()}"):
                message = f"The deployment '{name}' can't get traffic: it has not been created successfully."
                raise refusals.invalid(message, f"properties.{what}.{name}")
