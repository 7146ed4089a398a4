"""Nodes over HTTP: list, get, reboot, reimage, scheduling, removal. What runs on them is the pools' to say."""

from starlette.responses import Response

from localazure.arm.store import Body
from localazure.batch.errors import BatchError, invalid_value, not_imitated
from localazure.batch.model import PoolKey
from localazure.batch.pools import Pools as LivePools
from localazure.batch.service import answers, identifiers, models, odata
from localazure.batch.service.asked import Asked
from localazure.batch.service.pools import Pools

MOST_REMOVED = 100  # documentation of BatchNodeRemoveOptions


class Nodes:
    """The paths below /pools/POOL/nodes, and /pools/POOL/removenodes."""

    def __init__(self, live: LivePools, pools: Pools) -> None:
        self._live = live
        self._pools = pools

    async def listed(self, asked: Asked) -> Response:
        entries = sorted(self._views(asked), key=lambda each: each["id"].lower())
        return await answers.listed(asked, "nodes", entries, odata.NODES)

    async def get(self, asked: Asked) -> Response:
        return answers.one(asked, "nodes", self._found(asked))

    async def reboot(self, asked: Asked) -> Response:
        body = await asked.optional_body("BatchNodeRebootOptions")
        node = self._found(asked)
        await self._live.reboot(self._key(asked), node["id"], body.get("nodeRebootOption") or "requeue")
        return answers.done(asked, 202)

    async def reimage(self, asked: Asked) -> Response:
        body = await asked.optional_body("BatchNodeReimageOptions")
        node = self._found(asked)
        await self._live.reimage(self._key(asked), node["id"], body.get("nodeReimageOption") or "requeue")
        return answers.done(asked, 202)

    async def disable_scheduling(self, asked: Asked) -> Response:
        body = await asked.optional_body("BatchNodeDisableSchedulingOptions")
        node, option = self._found(asked), body.get("nodeDisableSchedulingOption") or "requeue"
        await self._live.disable_scheduling(self._key(asked), node["id"], option)
        return answers.done(asked, 200)

    async def enable_scheduling(self, asked: Asked) -> Response:
        node = self._found(asked)
        await self._live.enable_scheduling(self._key(asked), node["id"])
        return answers.done(asked, 200)

    async def remove(self, asked: Asked) -> Response:
        body = await asked.body("BatchNodeRemoveOptions")
        pool = self._pools.resource(asked, asked.segments[1])
        names = body["nodeList"]
        if not 1 <= len(names) <= MOST_REMOVED:
            raise invalid_value("nodeList", len(names), f"It takes 1 to {MOST_REMOVED} nodes")
        identifiers.check_duration(body.get("resizeTimeout"), "resizeTimeout")
        if (pool.properties.get("scaleSettings") or {}).get("autoScale"):
            reason = "The pool has automatic scaling; its nodes can't be removed individually"
            raise BatchError("OperationInvalidForCurrentState", values={"Reason": reason})
        known = {each["id"].lower(): each["id"] for each in self._views(asked)}
        for name in names:
            if name.lower() not in known:
                raise BatchError("NodeNotFound", values={"NodeId": name[:100]})
        ids = [known[name.lower()] for name in dict.fromkeys(names)]
        await self._live.remove_nodes(self._key(asked), ids, body.get("nodeDeallocationOption") or "requeue")
        return answers.done(asked, 202)

    async def not_imitated(self, asked: Asked) -> Response:
        """What else the service does to a node."""
        self._found(asked)
        raise not_imitated(f"'{asked.segments[4]}' of a node")

    def _key(self, asked: Asked) -> PoolKey:
        return asked.pool_key(asked.segments[1])

    def _views(self, asked: Asked) -> list[Body]:
        pool = self._pools.resource(asked, asked.segments[1])
        views: list[Body] = []
        for each in self._live.nodes(self._key(asked)):
            view = models.spelled("BatchNode", each)
            views.append(view | {"url": asked.url("pools", pool.id.name, "nodes", view["id"])})
        return views

    def _found(self, asked: Asked) -> Body:
        wanted = asked.segments[3].lower()
        found = next((each for each in self._views(asked) if each["id"].lower() == wanted), None)
        if found is None:
            raise BatchError("NodeNotFound")
        return found
