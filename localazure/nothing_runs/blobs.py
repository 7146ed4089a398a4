"""Blob storage that starts with the first client request, not with declarations.

Until then containers are known to Resource Manager alone; that client finds them made. Whether a blob is there that a declaration
names is not looked at: who uploads it does so beside the declarations.
"""

import asyncio
import uuid

from starlette.routing import BaseRoute, Mount
from starlette.types import Receive, Scope, Send

from azure_gpu.formats import azure_types
from localazure.arm.store import Body
from localazure.blobs.addresses import Address
from localazure.blobs.errors import BlobError
from localazure.blobs.service import Blobs
from localazure.services import Services


class LazyBlobs(Blobs):
    def __init__(self, services: Services) -> None:
        super().__init__(services)
        self._all_made = False  # each container that Resource Manager knows is there for clients
        self._making = asyncio.Lock()

    def routes(self) -> list[BaseRoute]:
        return [Mount("/blob", app=self._when_asked)]

    async def put_container(self, account: str, container: str, properties: Body) -> None:
        if self._all_made:
            await super().put_container(account, container, properties)

    async def exists(self, account_name: str, container: str, blob: str) -> bool:  # noqa: ARG002
        return True

    async def any_below(self, account_name: str, container: str, path: str) -> bool:  # noqa: ARG002
        return True

    async def _ensure(self, address: Address) -> None:
        if self._all_made:
            await super()._ensure(address)

    async def _when_asked(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            async with self._making:
                if not self._all_made:
                    await self._make_all()
        except BlobError as error:
            await error.response(scope["method"], str(uuid.uuid4()), self._services.clock.now())(scope, receive, send)
            return
        await self._front(scope, receive, send)

    async def _make_all(self) -> None:
        for each in self._services.store.of_type(azure_types.BLOB_CONTAINER.arm_type):
            account = each.id.scope.rsplit("/blobServices/", 1)[0].rsplit("/", 1)[-1]
            await super().put_container(account.lower(), each.id.name, each.properties)
        self._all_made = True
