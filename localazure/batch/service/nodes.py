"""Nodes over HTTP: list, get, reboot, reimage."""

from starlette.responses import Response

from localazure.arm.store import Body
from localazure.batch.errors import BatchError, not_imitated
from localazure.batch.model import PoolKey
from localazure.batch.pools import Pools as LivePools
from localazure.batch.service import answers, models, odata
from localazure.batch.service.pools import Pools
from localazure.batch.service.request import DataPlaneRequest


class Nodes:
    """The paths below /pools/POOL/nodes."""

    def __init__(self, live: LivePools, pools: Pools) -> None:
        self._live = live
        self._pools = pools

    async def listed(self, request: DataPlaneRequest) -> Response:
        entries = sorted(self._views(request), key=lambda each: each["id"].lower())
        return await answers.listed(request, "nodes", entries, odata.NODES)

    async def get(self, request: DataPlaneRequest) -> Response:
        return answers.one(request, "nodes", self._found(request))

    async def reboot(self, request: DataPlaneRequest) -> Response:
        body = await request.optional_body("BatchNodeRebootOptions")
        node = self._found(request)
        await self._live.reboot(self._key(request), node["id"], body.get("nodeRebootOption") or "requeue")
        return answers.done(request, 202)

    async def reimage(self, request: DataPlaneRequest) -> Response:
        body = await request.optional_body("BatchNodeReimageOptions")
        node = self._found(request)
        await self._live.reimage(self._key(request), node["id"], body.get("nodeReimageOption") or "requeue")
        return answers.done(request, 202)

    async def not_imitated(self, request: DataPlaneRequest) -> Response:
        """What else the service does to a node."""
        self._found(request)
        raise not_imitated(f"'{request.segments[4]}' of a node")

    def _key(self, request: DataPlaneRequest) -> PoolKey:
        return request.pool_key(request.segments[1])

    def _views(self, request: DataPlaneRequest) -> list[Body]:
        pool = self._pools.resource(request, request.segments[1])
        views: list[Body] = []
        for each in self._live.nodes(self._key(request)):
            view = models.spelled("BatchNode", each)
            views.append(view | {"url": request.url("pools", pool.id.name, "nodes", view["id"])})
        return views

    def _found(self, request: DataPlaneRequest) -> Body:
        requested = request.segments[3].lower()
        found = next((each for each in self._views(request) if each["id"].lower() == requested), None)
        if found is None:
            raise BatchError("NodeNotFound")
        return found
