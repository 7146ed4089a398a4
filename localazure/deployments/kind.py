"""The resource type of deployments: how one is stored, resumed after a restart, and shown.

`routes` answers for it: its requests hold a template that is not always JSON, and its answers are not what was sent.
"""

from collections.abc import Awaitable, Callable

from azure_gpu.formats import azure_types
from localazure.arm.errors import not_implemented
from localazure.arm.kind import Change, Kind
from localazure.arm.store import Body, Resource
from localazure.services import Services

TYPE = "Microsoft.Resources/deployments"
ACTIVE = ("Accepted", "Running")


class Deployments(Kind):
    """A record of a deployment, of which the resources that it has made know nothing. It goes with its resource group."""

    azure_type = azure_types.DEPLOYMENT
    location = "none"
    patchable = False

    def __init__(self, resume: Callable[[Resource], Awaitable[None]]) -> None:
        self._resume = resume

    def check(self, change: Change) -> None:  # noqa: ARG002
        raise not_implemented("a deployment as a resource in a request of another type")

    async def resume_action(self, action: str, resource: Resource, services: Services) -> None:  # noqa: ARG002
        await self._resume(resource)

    def view(self, resource: Resource, services: Services) -> Body:  # noqa: ARG002
        tags = {"tags": resource.tags} if resource.tags else {}
        return {**tags, "properties": resource.service.get("properties", {})}
