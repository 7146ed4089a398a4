"""How one ARM type is served: the base class of everything in `localazure/kinds`.

The router checks token, api-version, path, name, parent, location, body shape and conflicts before it calls a kind. A kind adds
the rules of its service and the work it does, with the backends that its constructor takes (`localazure.wiring`). All methods run
on the server's event loop: long work must await.
"""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from datetime import date
from types import MappingProxyType
from typing import Any, Literal

from starlette.routing import BaseRoute

from azure_gpu.formats.arm_ids import ArmId
from azure_gpu.formats.azure_types import AzureType
from localazure.arm import refusals
from localazure.arm.caller import Caller
from localazure.arm.errors import ArmError, conflict, not_implemented, resource_not_found
from localazure.arm.store import Body, Resource, Store
from localazure.evidence import Refusal
from localazure.services import Services


@dataclass(slots=True, kw_only=True)
class Change:
    """A PUT or PATCH under way: validated by the router, and by `Kind.check` once that has returned."""

    id: ArmId
    body: Body  # the whole new body, read-only properties left out; with the kind's defaults from `provision` on
    previous: Resource | None  # None when creating
    as_of: date
    services: Services
    caller: Caller | None = None  # None when work is resumed after a restart
    resource: Resource | None = None  # the stored record, from `provision` on; its `private` may be written
    patched: bool = False  # a PATCH

    @property
    def creating(self) -> bool:
        return self.previous is None

    @property
    def properties(self) -> Body:
        return self.body.get("properties") or {}

    @property
    def stored(self) -> Resource:
        """The stored record, from `provision` on."""
        if self.resource is None:
            raise ValueError("a change is provisioned with its stored record")
        return self.resource


@dataclass(slots=True, kw_only=True)
class Call:
    """A POST action or a GET below a resource."""

    services: Services
    as_of: date
    body: Body = field(default_factory=dict)  # {} where none was sent
    query: Mapping[str, str] = field(default_factory=dict)  # keys as sent
    path: Mapping[str, str] = field(default_factory=dict)  # values of the `{names}` in the pattern
    caller: Caller | None = None


@dataclass(slots=True, kw_only=True)
class Answer:
    """The response of an action. With `work`, the work runs in the background as a long operation: use 202, headers are added."""

    status: int = 200
    body: Any = None  # sent as JSON; None sends no content
    text: str | None = None  # sent as text/plain instead
    headers: dict[str, str] = field(default_factory=dict)
    work: Callable[[], Awaitable[Body | None]] | None = None  # what it returns is the result; ArmError ends it as Failed


Action = Callable[[Resource, Call], Awaitable[Answer]]
Polling = Literal["none", "async", "location", "both"]  # which of Azure-AsyncOperation and Location an answer carries


class Kind:
    """One ARM type. Subclasses set the class attributes and override what their service does."""

    azure_type: AzureType
    extra_api_versions: frozenset[str] = frozenset()  # served beyond those of the installed SDK; give the reason beside each
    location: Literal["required", "global", "none"] = "required"  # "global": the body may give "global" only
    parent_type: str | None = None  # ARM type of the parent; None: the resource group
    between: str = ""  # in an id, behind the parent's: a part that isn't a resource, such as "/blobServices/default"
    long_running: bool = False  # PUT answers at once and `provision` runs in the background
    long_running_update: bool | None = None  # the same where the resource was there; None: as `long_running`
    long_running_delete: bool = False  # DELETE answers 202 and `remove` runs in the background
    created_status: int = 201  # 202 is answered without a body
    updated_status: int = 200
    patched_status: int | None = None  # None: as `updated_status`
    deleted_status: int = 200  # where not `long_running_delete`
    removed_status: int = 200  # `Location` of a DELETE that has ended
    absent_status: int = 204  # of DELETE for a missing resource; 404 is answered as GET answers it
    # The code of the 404 where the resource group is missing. Services differ, and so do reads and deletes.
    read_without_group: str = "ResourceGroupNotFound"
    delete_without_group: str = "ResourceGroupNotFound"
    created_headers: Polling = "async"  # of what is `long_running`
    updated_headers: Polling | None = None  # None: as `created_headers`
    patched_headers: Polling | None = None  # None: as `updated_headers`
    deleted_headers: Polling = "both"
    # Where clients read the address: `/locations/<region>/<this>OperationStatuses/<id>`; empty: without region and name.
    operations_named: str = ""
    created_location: bool = False  # what isn't `long_running` is answered with its own address as Location
    states: Mapping[str, str] = MappingProxyType({})  # the service's names for Creating, Updating, Deleting, where they differ
    shown_only: tuple[str, ...] = ()  # paths in GET that the SDK's class lacks; a body may have them without effect
    has_system_data: bool = False  # the answer has creator, last editor and times
    patchable: bool = True  # the service has PATCH; else 405
    patches_tags_alone: bool = False  # PATCH changes tags, and nothing runs because of it
    globally_unique: tuple[int, str, str] | None = None  # status, code, message with {name}: the name is taken in all of Azure
    delete_shows_resource: bool = False  # DELETE answers the resource as it was
    shows_state: bool = True  # properties.provisioningState is part of the answer

    @property
    def arm_type(self) -> str:
        return self.azure_type.arm_type

    @property
    def listed_as_resource(self) -> bool:
        """Part of a group's list of resources: neither a child of another resource nor an extension."""
        return self.parent_type is None and self.location != "none"

    @property
    def actions(self) -> Mapping[str, Action]:
        """POST {id}/{pattern}, by pattern: `stop`, or `runs/{run}/listLogSasUrl`. Matched without regard to letter case."""
        return {}

    @property
    def reads(self) -> Mapping[str, Action]:
        """GET {id}/{pattern} of what isn't a child resource, such as `containers/{container}/logs`."""
        return {}

    @property
    def questions(self) -> Mapping[str, Action]:
        """POST {id}/{pattern} that changes nothing, such as for logs: also answered while a long operation runs."""
        return {}

    @property
    def offers(self) -> Mapping[str, Action]:
        """POST {id}/{pattern} for a resource that needn't exist yet, such as an address to upload its files to.

        The action gets the stored resource, or a new record of that id that isn't stored. The parent has to exist.
        """
        return {}

    def routes(self, services: Services) -> list[BaseRoute]:  # noqa: ARG002
        """Routes outside of ARM that this service answers, such as a build log's URL. Their requests have no ARM token."""
        return []

    def implied(self, resource_id: ArmId, store: Store) -> Resource | None:  # noqa: ARG002
        """A resource that exists with its parent without a PUT; None if there is none."""
        return None

    def busy(self, resource: Resource) -> ArmError:
        """The service's error for a change while a long operation runs on the same resource."""
        return conflict(
            f"Another operation on '{resource.id.name}' of type '{self.arm_type}' is in progress. Please try again later."
        )

    def busy_with(self, resource: Resource, operation: str) -> ArmError:  # noqa: ARG002
        """The same, where the error depends on the running operation: put, delete, or the name of an action."""
        return self.busy(resource)

    def preempts(self, action: str, operation: str) -> bool:  # noqa: ARG002
        """Whether an action cancels the operation that runs on its resource, instead of being refused."""
        return False

    def parent_id(self, resource_id: ArmId) -> str:
        """The id of the parent of a resource with a `parent_type`."""
        return resource_id.scope[: len(resource_id.scope) - len(self.between)]

    def check_removal(self, resource: Resource, services: Services) -> None:
        """Raises ArmError if a DELETE is forbidden. Not called when a whole resource group is deleted."""

    def invalid_name(self, name: str, allowed: str) -> ArmError:
        """The service's error for an invalid name. `allowed` is the rule in words."""
        return ArmError(400, "InvalidResourceName", f"Resource name {name} is invalid. It takes {allowed}.", target="name")

    def not_found(self, resource_id: ArmId) -> ArmError:
        """The error of a GET of a missing resource, in ARM's words."""
        pairs = resource_id.text.split("/")[-2 * self.arm_type.count("/") :]
        return resource_not_found(self.arm_type, "/".join(pairs[1::2]), resource_id.resource_group)

    def read(self, body: Body) -> Body:
        """`body` as the service reads it, where it accepts more than its description. Called before the shape is validated."""
        return body

    def normalise(self, body: Body) -> Body:
        """Replaces spellings that the service accepts with its own.

        Called for a body that its shape rejects, except for a value of a wrong type; the result is validated again.
        """
        return body

    def patched(self, under: Body, patch: Body) -> Body:
        """The whole body after a PATCH. Default: a JSON merge patch (RFC 7396)."""
        return patched(under, patch)

    def check(self, change: Change) -> None:
        """Validates the service's own rules: those of the table, with `facts`. Raises ArmError."""
        before = change.previous.body if change.previous else None
        facts = {"name": change.id.name, **self.facts(change)}
        refusals.judge(self.arm_type, change.body, change.as_of, before=before, facts=facts, form=self.refusal)

    def facts(self, change: Change) -> Body:  # noqa: ARG002
        """What the conditions of the table of refusals ask for beside the body."""
        return {}

    def refusal(self, row: Refusal, message: str, target: str, value: Any) -> ArmError:
        """The form of the service's refusals."""
        return refusals.plain(row, message, target, value)

    def defaults(self, change: Change) -> Body:  # noqa: ARG002
        """The service's defaults, in the body's shape. The body is merged over them, deeply."""
        return {}

    def begun(self, change: Change) -> Body:  # noqa: ARG002
        """The properties that the service sets of a `long_running` resource before it answers, as `provision` returns them."""
        return {}

    async def provision(self, change: Change) -> Body:  # noqa: ARG002
        """Does the work; returns the properties that the service sets, merged over the body, deeply, and kept over updates.

        Runs inside the request, or after it where `long_running`. ArmError refuses the request, or ends the operation as Failed.
        """
        return {}

    async def resume(self, change: Change) -> Body:
        """Resumes a `provision` that a restart interrupted; `change.previous` is None. Default: provisions again."""
        return await self.provision(change)

    async def resume_action(self, action: str, resource: Resource, services: Services) -> Body | None:
        """Resumes a long action that a restart interrupted."""

    async def remove(self, resource: Resource, services: Services) -> None:
        """Ends what runs for the resource, before its record is deleted. May be called twice."""

    def view(self, resource: Resource, services: Services) -> Body:  # noqa: ARG002
        """The answer of GET without id, name and type: stored body, properties set by the service, and live state. No secrets."""
        return merged(resource.body, resource.service)

    def expanded(self, resource: Resource, what: str, services: Services) -> Body:  # noqa: ARG002
        """What `$expand=what` adds to the answer of GET, in its shape. `what` is in lower case."""
        return {}

    def hidden(self, body: Body) -> Body:
        """`body` without secrets that its shape doesn't mark, such as values that another property makes secret."""
        return body

    def listed(self, scope: str, conditions: str, services: Services) -> list[Resource]:
        """The resources of this type below `scope`. `conditions` is the `$filter`. ArmError 404 where `scope` is missing."""
        if conditions:
            raise not_implemented(f"$filter on the list of '{self.arm_type}'")
        if scope.count("/") > 2 and services.store.get(scope) is None:
            above = scope.rsplit("/", 1)[1]
            code = "ResourceGroupNotFound" if self.parent_type is None else "ParentResourceNotFound"
            raise ArmError(404, code, f"'{above}' could not be found: no resource has the id '{scope}'.")
        return services.store.of_type(self.arm_type, scope)

    def chosen(self, listed: list[Resource], query: Mapping[str, str]) -> list[Resource]:  # noqa: ARG002
        """The resources of a list that further conditions in the query select. Names in `query` are in lower case."""
        return listed

    def before_delete(self, resource_id: ArmId, query: Mapping[str, str], services: Services) -> None:
        """Handles the query of a DELETE over HTTP, its names in lower case. The resource needn't exist."""

    async def started(self, services: Services) -> None:
        """Called when the server has started: resumes what outlived the last one."""

    async def stopping(self, services: Services) -> None:
        """Called before the server ends: leaves background work to the next one."""


def merged(under: Body, over: Body) -> Body:
    """`over` laid on `under`, objects joined at every depth; lists and values of `over` replace. Inputs stay untouched."""
    result = dict(under)
    for name, value in over.items():
        below = result.get(name)
        result[name] = merged(below, value) if isinstance(below, dict) and isinstance(value, dict) else value
    return result


def patched(under: Body, patch: Body) -> Body:
    """`patch` laid on `under` as RFC 7396 has it: `null` takes a property away."""
    result = dict(under)
    for key, value in patch.items():
        below = result.get(key)
        if value is None:
            result.pop(key, None)
        elif isinstance(value, dict):
            result[key] = patched(below if isinstance(below, dict) else {}, value)
        else:
            result[key] = value
    return result
