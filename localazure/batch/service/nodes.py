"""Nodes over HTTP: list, get, reboot.

Beside them lists of an account: its nodes by state, and the images, which are the catalog's that Batch takes on the day of the
request; the service lists more.
"""

from collections.abc import Iterator

from starlette.responses import Response

from azure_gpu.catalog.lifecycle import SOLD, Status
from azure_gpu.catalog.services.batch import images
from azure_gpu.catalog.services.vm_images import IMAGES
from localazure.arm import checks
from localazure.arm.as_of import request_date
from localazure.arm.store import Body
from localazure.batch.errors import BatchError, not_imitated
from localazure.batch.model import PoolKey
from localazure.batch.pools import Pools as LivePools
from localazure.batch.service import answers, models
from localazure.batch.service.pools import Pools
from localazure.batch.service.request import DataPlaneRequest
from localazure.services import Services


class Nodes:
    """The paths below /pools/POOL/nodes."""

    def __init__(self, live: LivePools, pools: Pools) -> None:
        self._live = live
        self._pools = pools

    async def listed(self, request: DataPlaneRequest) -> Response:
        entries = sorted(self._views(request), key=lambda each: each["id"].lower())
        return await answers.listed(request, "nodes", entries)

    async def get(self, request: DataPlaneRequest) -> Response:
        return answers.one(request, "nodes", self._found(request))

    async def reboot(self, request: DataPlaneRequest) -> Response:
        body = await request.optional_body("BatchNodeRebootOptions")
        node = self._found(request)
        await self._live.reboot(self._key(request), node["id"], body.get("nodeRebootOption") or "requeue")
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


class Lists:
    """/supportedimages and /nodecounts."""

    def __init__(self, services: Services, live: LivePools, pools: Pools) -> None:
        self._services = services
        self._live = live
        self._pools = pools

    async def images(self, request: DataPlaneRequest) -> Response:
        entries = sorted(self._images(request), key=_image_key)
        return await answers.listed(request, "supportedimages", entries, _image_key)

    async def node_counts(self, request: DataPlaneRequest) -> Response:
        def key(entry: Body) -> str:
            return entry["poolId"].lower()

        entries = [self._counts(request, pool["id"]) for pool in self._pools.all_of(request)]
        return await answers.listed(request, "poolnodecounts", sorted(entries, key=key), key)

    def _images(self, request: DataPlaneRequest) -> Iterator[Body]:
        day = request_date(None, request.account, checks.group_of(request.account.id, self._services.store), self._services.clock)
        for image in IMAGES:
            agent = images.agent_for(image.distribution)
            if agent is None or not image.reference.sku or image.lifecycle.status(day) not in SOLD:
                continue
            if agent.lifecycle.status(day) not in SOLD:
                continue
            entry: Body = {
                "nodeAgentSKUId": agent.sku,
                "imageReference": {
                    "publisher": image.reference.publisher,
                    "offer": image.reference.offer,
                    "sku": image.reference.sku,
                    "version": "latest",
                },
                "osType": "windows" if agent.operating_system == "Windows" else "linux",
                "verificationType": "verified" if image.lifecycle.status(day) is Status.GENERAL else "unverified",
                "capabilities": ["DockerCompatible"] if image.docker_root else [],
            }
            if agent.lifecycle.end is not None and agent.lifecycle.end.day is not None:
                entry["batchSupportEndOfLife"] = f"{agent.lifecycle.end.day.isoformat()}T00:00:00Z"
            yield entry

    def _counts(self, request: DataPlaneRequest, pool_id: str) -> Body:
        states = models.shape("BatchNodeCounts").properties
        counts = {sort: dict.fromkeys(states, 0) for sort in ("dedicated", "lowPriority")}
        names = {name.lower(): name for name in states}
        for node in self._live.nodes(request.pool_key(pool_id)):
            of_sort = counts["dedicated" if node.get("isDedicated", True) else "lowPriority"]
            of_sort[names.get(str(node.get("state", "")).lower(), "unknown")] += 1
            of_sort["total"] += 1
        return {"poolId": pool_id, **counts}


def _image_key(entry: Body) -> str:
    image = entry["imageReference"]
    return f"{image['publisher']}/{image['offer']}/{image['sku']}/{entry['nodeAgentSKUId']}".lower()
