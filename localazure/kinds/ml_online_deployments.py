"""Deployments of online endpoints: a model in an environment, in as many instances as its `sku` says.

Created in the background: the service fetches image, model and code as the endpoint's identity, and waits until each instance is
ready. A failed one stays, so that its logs can be read. Rules: `ml_online_deployment_rules`; what runs: `localazure/ml`.
"""

from azure_gpu.catalog.services.machine_learning.deployments import MANAGED
from azure_gpu.catalog.services.machine_learning.endpoints import DEFAULT_INSTANCE_TYPE
from azure_gpu.formats import azure_types
from localazure.arm.kind import Answer, Call, Change, question
from localazure.arm.store import Body, Resource
from localazure.kinds import ml_online_deployment_rules as rules, ml_online_refusals as refusals
from localazure.kinds.ml_kind import MlKind
from localazure.ml import running
from localazure.ml.service import OnlineEndpoints
from localazure.ml.settings import PROBE, REQUESTS
from localazure.services import Services
from localazure.weather import role_delay

_PATCHED = ("tags", "sku")


class MlOnlineDeployments(MlKind):
    azure_type = azure_types.ML_ONLINE_DEPLOYMENT

    def __init__(self, endpoints: OnlineEndpoints) -> None:
        self._endpoints = endpoints

    refusal = staticmethod(refusals.form)

    def patched(self, under: Body, patch: Body) -> Body:
        refusals.refuse_other(patch, _PATCHED)
        return super().patched(under, patch)

    def check(self, change: Change) -> None:
        rules.check(change, self.judge)

    def check_removal(self, resource: Resource, services: Services) -> None:
        """A deployment that gets requests stays."""
        endpoint = services.store.get(resource.id.scope)
        if endpoint is None:
            return
        for what in ("traffic", "mirrorTraffic"):
            shares: Body = endpoint.properties.get(what) or {}
            share = next((share for name, share in shares.items() if name.lower() == resource.id.name.lower()), 0)
            if share > 0:
                # The service's own sentence isn't known.
                message = (
                    f"The deployment '{resource.id.name}' gets {share} percent of the endpoint's {what}, and can't be deleted "
                    "before that is 0."
                )
                raise refusals.invalid(message, f"properties.{what}.{resource.id.name}")

    def default_facts(self, change: Change) -> Body:  # noqa: ARG002
        return {"probe": PROBE, "requests": REQUESTS, "size": DEFAULT_INSTANCE_TYPE}

    async def provision(self, change: Change) -> Body:
        if change.previous is None and change.properties.get("endpointComputeType") == MANAGED:
            await role_delay.machine_starts(change.services)
        await self._endpoints.deploy(change.stored)
        return {}

    async def resume(self, change: Change) -> Body:
        await self._endpoints.deploy(change.stored, resumed=True)
        return {}

    async def remove(self, resource: Resource, services: Services) -> None:
        await self._endpoints.remove(resource)
        _forget_share(resource, services)

    @question("getLogs")
    async def logs(self, resource: Resource, call: Call) -> Answer:
        """What the containers printed, or what was fetched before they started. Also while it is created, and after a failure."""
        kind = call.body.get("containerType") or running.SERVER
        tail = call.body.get("tail")
        if kind not in (running.INITIALIZER, running.SERVER):
            raise refusals.invalid(f"containerType takes {running.INITIALIZER} or {running.SERVER}.", "containerType")
        if tail is not None and (not isinstance(tail, int) or tail < 0):
            raise refusals.invalid("tail takes a number of lines.", "tail")
        return Answer(body={"content": await self._endpoints.log(resource, kind, tail)})


def _forget_share(resource: Resource, services: Services) -> None:
    """The endpoint names no share any more, not even one of 0, of a deployment that has gone."""
    endpoint = services.store.get(resource.id.scope)
    if endpoint is None:
        return
    name, changed = resource.id.name.lower(), False
    for what in ("traffic", "mirrorTraffic"):
        shares: Body = endpoint.properties.get(what) or {}
        kept = {each: share for each, share in shares.items() if each.lower() != name}
        if kept != shares:
            endpoint.properties[what], changed = kept, True
    if changed:
        services.store.put(endpoint)
