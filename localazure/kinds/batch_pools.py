"""Pools of Azure Batch as ARM resources. `localazure.batch.pools` runs their nodes and reports their live state.

A PUT is answered with 200 at once, and nodes come and go afterwards, as at the service.
"""

from typing import Any

from azure_gpu.formats import azure_types
from azure_gpu.formats.arm_ids import ArmId
from localazure.arm import answers
from localazure.arm.kind import Answer, Call, Change, Kind, action
from localazure.arm.store import Body, Resource
from localazure.batch.model import PoolKey
from localazure.batch.pools import Pools
from localazure.kinds import batch_pool_rules, batch_refusals
from localazure.kinds.batch_accounts import replaced
from localazure.services import Services


class BatchPools(Kind):
    azure_type = azure_types.BATCH_POOL

    def __init__(self, pools: Pools) -> None:
        self._pools = pools

    refusal = staticmethod(batch_refusals.form)

    def normalise(self, body: Body) -> Body:
        batch_pool_rules.refuse_cloud_services(body)
        return body

    def patched(self, under: Body, patch: Body) -> Body:
        """A PATCH replaces each property that it names as a whole."""
        return replaced(under, patch, tuple(patch["properties"]) if isinstance(patch.get("properties"), dict) else ())

    def check(self, change: Change) -> None:
        batch_pool_rules.check(change, self.defaults(change), self.judge)

    async def provision(self, change: Change) -> Body:
        self._pools.apply(key_of(change.id), change.body, change.id.name)
        return {}

    async def remove(self, resource: Resource, services: Services) -> None:  # noqa: ARG002
        await self._pools.remove(key_of(resource.id))

    def view(self, resource: Resource, services: Services) -> Body:
        body = super().view(resource, services)
        live = dict(self._pools.status(key_of(resource.id)))
        targets = {name: live.pop(name) for name in ("targetDedicatedNodes", "targetLowPriorityNodes") if name in live}
        properties = {
            **body["properties"],
            "currentNodeCommunicationMode": _communication(body["properties"]),
            "provisioningState": "Deleting" if resource.state == "Deleting" else "Succeeded",
            **{name: value for name, value in live.items() if value is not None},
        }
        scale: Any = properties["scaleSettings"]
        fixed = scale.get("fixedScale")
        if fixed:  # nodes that were removed one by one lower what is wanted
            properties["scaleSettings"] = {"fixedScale": {**fixed, **targets}}
        return {**body, "properties": properties}

    @action("disableAutoScale")
    async def disable_autoscale(self, resource: Resource, call: Call) -> Answer:
        """The pool keeps the nodes that it has."""
        scale = resource.body["properties"]["scaleSettings"]
        if scale.pop("autoScale", None) is not None:
            scale["fixedScale"] = _as_it_is(self._pools.status(key_of(resource.id)))
            resource.changed_at = call.services.clock.stamp()
            call.services.store.put(resource)
            self._pools.apply(key_of(resource.id), resource.body, resource.id.name)
        return Answer(body=answers.document(self, resource, call.services))

    @action("stopResize")
    async def stop_resize(self, resource: Resource, call: Call) -> Answer:
        """The pool stays as it is now. What it was to become is told on, beside the error ResizeStopped."""
        await self._pools.get(key_of(resource.id)).stop_resize()
        return Answer(body=answers.document(self, resource, call.services))


def key_of(pool: ArmId) -> PoolKey:
    return PoolKey(pool.scope.lower(), pool.name.lower())


def _as_it_is(status: Body) -> Body:
    return {
        "targetDedicatedNodes": status.get("currentDedicatedNodes") or 0,
        "targetLowPriorityNodes": status.get("currentLowPriorityNodes") or 0,
        "resizeTimeout": "PT15M",
    }


def _communication(properties: Body) -> str:
    """Classic where it was requested, while it could be; everything else is Simplified."""
    return "Classic" if properties.get("targetNodeCommunicationMode") == "Classic" else "Simplified"
