"""Pools over HTTP. Changes and reads go through ARM, with all its checks; `app` answers its refusals in the data plane's form.

Sources of the refusals: the documentation of resize, enable_pool_auto_scale and evaluate_pool_auto_scale in azure-batch 15.1.
"""

import copy
from collections.abc import Iterator

from starlette.responses import Response

from azure_gpu.formats.azure_types import BATCH_POOL
from localazure.arm.store import Body, Resource
from localazure.batch.errors import BatchError, not_imitated
from localazure.batch.pools import Pools as LivePools
from localazure.batch.service import answers, pool_forms, task_bodies
from localazure.batch.service.request import DataPlaneRequest
from localazure.services import Services

API_VERSION = "2024-07-01"  # of ARM, in which pools are written here
_CHANGEABLE = {"startTask", "applicationPackageReferences", "metadata", "targetNodeCommunicationMode", "certificateReferences"}


class Pools:
    """The paths below /pools that are about pools themselves."""

    def __init__(self, services: Services, live: LivePools) -> None:
        self._services = services
        self._live = live

    async def add(self, request: DataPlaneRequest) -> Response:
        body = await request.body("BatchPoolCreateOptions")
        task_bodies.check_id("id", body["id"])
        if self._services.store.get(self._id(request, body["id"])) is not None:
            raise BatchError("PoolExists")
        await self._put(request, body["id"], {"properties": pool_forms.to_arm(body, request.account.id.text)})
        return answers.done(request, 201, self._view(request, body["id"]), location=request.url("pools", body["id"]))

    async def listed(self, request: DataPlaneRequest) -> Response:
        return await answers.listed(request, "pools", self.all_of(request))

    async def get(self, request: DataPlaneRequest) -> Response:
        entry = self._view(request, self._found(request).id.name)
        answers.conditions(request, entry)
        return answers.one(request, "pools", entry)

    async def exists(self, request: DataPlaneRequest) -> Response:
        entry = self._view(request, self._found(request).id.name)
        answers.conditions(request, entry)
        return answers.done(request, 200, entry)

    async def patch(self, request: DataPlaneRequest) -> Response:
        body = await request.body("BatchPoolUpdateOptions")
        pool = self._changing(request)
        for name in body.keys() - _CHANGEABLE:
            if body[name] != self._view(request, pool.id.name).get(name):
                raise not_imitated(f"a change of '{name}' of an existing pool")
        given = {name: body[name] for name in body.keys() & _CHANGEABLE}
        await self._change(request, pool, pool_forms.to_arm(given, request.account.id.text))
        return answers.done(request, 200, self._view(request, pool.id.name))

    async def replace_properties(self, request: DataPlaneRequest) -> Response:
        """What isn't given is taken away."""
        body = await request.body("BatchPoolReplaceOptions")
        pool = self._changing(request)
        given = pool_forms.to_arm(body, request.account.id.text)
        gone = {name: None for name in ("startTask",) if name not in given}
        await self._change(request, pool, given | gone)
        return answers.done(request, 204, self._view(request, pool.id.name))

    async def delete(self, request: DataPlaneRequest) -> Response:
        pool = self._changing(request)
        await self._services.arm.delete(pool.id.text, wait=False)
        return answers.done(request, 202)

    async def resize(self, request: DataPlaneRequest) -> Response:
        body = await request.body("BatchPoolResizeOptions")
        pool = self._changing(request)
        scale = copy.deepcopy(pool.properties.get("scaleSettings") or {})
        if scale.get("autoScale"):
            raise _not_now("The pool has automatic scaling; it can't be resized")
        if self._allocation(request, pool) != "steady":
            raise BatchError("PoolBeingResized")
        names = ("targetDedicatedNodes", "targetLowPriorityNodes")
        if not any(name in body for name in names):
            raise BatchError("MissingRequiredProperty", values={"PropertyName": names[0]})
        # Documentation of the operation: a target that isn't given stays as it is.
        fixed = (scale.get("fixedScale") or {}) | pool_forms.scale_to_arm(body)["fixedScale"]
        fixed.pop("nodeDeallocationOption", None)
        if body.get("nodeDeallocationOption"):
            fixed["nodeDeallocationOption"] = body["nodeDeallocationOption"]
        await self._change(request, pool, pool_forms.spelled({"scaleSettings": {"fixedScale": fixed}}))
        return answers.done(request, 202, self._view(request, pool.id.name))

    async def stop_resize(self, request: DataPlaneRequest) -> Response:
        pool = self._changing(request)
        if self._allocation(request, pool) != "resizing":
            raise _not_now("The pool is not being resized")
        await self._act(pool, "stopResize", request)
        return answers.done(request, 202, self._view(request, pool.id.name))

    async def enable_autoscale(self, request: DataPlaneRequest) -> Response:
        """The formula is evaluated at once, and from then on at each interval."""
        body = await request.optional_body("BatchPoolEnableAutoScaleOptions")
        pool = self._changing(request)
        before = (pool.properties.get("scaleSettings") or {}).get("autoScale") or {}
        if not before and self._allocation(request, pool) != "steady":
            raise BatchError("PoolBeingResized")
        formula = body.get("autoScaleFormula") or before.get("formula")
        if not formula:
            raise BatchError("MissingRequiredProperty", values={"PropertyName": "autoScaleFormula"})
        interval = body.get("autoScaleEvaluationInterval") or before.get("evaluationInterval") or "PT15M"
        auto = {"formula": formula, "evaluationInterval": interval}
        await self._change(request, pool, {"scaleSettings": {"autoScale": auto}})
        self._live.get(request.pool_key(pool.id.name)).set_autoscale(formula, interval)
        return answers.done(request, 200, self._view(request, pool.id.name))

    async def disable_autoscale(self, request: DataPlaneRequest) -> Response:
        pool = self._changing(request)
        await self._act(pool, "disableAutoScale", request)
        return answers.done(request, 200, self._view(request, pool.id.name))

    async def evaluate_autoscale(self, request: DataPlaneRequest) -> Response:
        body = await request.body("BatchPoolEvaluateAutoScaleOptions")
        pool = self._found(request)
        if not (pool.properties.get("scaleSettings") or {}).get("autoScale"):
            raise _not_now("The pool has no automatic scaling; a formula is evaluated only where there is some")
        run = self._live.get(request.pool_key(pool.id.name)).evaluate(body["autoScaleFormula"], act=False)
        return answers.plain(request, "autoscalerun", pool_forms.run_of(run))

    def all_of(self, request: DataPlaneRequest) -> Iterator[Body]:
        """By id."""
        for pool in list(self._services.store.of_type(BATCH_POOL.arm_type, request.account.key)):
            if self._services.store.get(pool.key) is not None:  # it may have gone since the list began
                yield self._view(request, pool.id.name)

    def resource(self, request: DataPlaneRequest, pool_id: str) -> Resource:
        """BatchError 404 where there is none."""
        pool = self._services.store.get(self._id(request, pool_id)) if "/" not in pool_id else None
        if pool is None:
            raise BatchError("PoolNotFound")
        return pool

    def _found(self, request: DataPlaneRequest) -> Resource:
        return self.resource(request, request.segments[1])

    def _changing(self, request: DataPlaneRequest) -> Resource:
        pool = self._found(request)
        answers.conditions(request, self._view(request, pool.id.name))
        if pool.state == "Deleting":
            raise BatchError("PoolBeingDeleted")
        return pool

    def _view(self, request: DataPlaneRequest, pool_id: str) -> Body:
        document = self._services.arm.document(self._id(request, pool_id), API_VERSION)
        return pool_forms.from_arm(document, request.url("pools", document["name"]))

    def _allocation(self, request: DataPlaneRequest, pool: Resource) -> str:
        return self._view(request, pool.id.name).get("allocationState", "steady")

    @staticmethod
    def _id(request: DataPlaneRequest, pool_id: str) -> str:
        return f"{request.account.id.text}/pools/{pool_id}"

    async def _change(self, request: DataPlaneRequest, pool: Resource, given: Body) -> None:
        """`given` on what is stored, property by property; None takes one away."""
        body = copy.deepcopy(pool.body)
        body["properties"] = {name: each for name, each in (body["properties"] | given).items() if each is not None}
        await self._put(request, pool.id.name, body)

    async def _put(self, request: DataPlaneRequest, pool_id: str, body: Body) -> None:
        await self._services.arm.put(self._id(request, pool_id), API_VERSION, body, request.caller)

    async def _act(self, pool: Resource, action: str, request: DataPlaneRequest) -> None:
        await self._services.arm.act(pool.id.text, action, API_VERSION, {}, request.caller)


def _not_now(reason: str) -> BatchError:
    return BatchError("OperationInvalidForCurrentState", values={"Reason": reason})
