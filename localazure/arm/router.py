"""Routes ARM requests: checks token, subscription and api-version, finds the resource of the path, and answers in ARM's form.

The checks have ARM's order: token, subscription, version, and only then the resource.
"""

import logging
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from azure_gpu.formats.arm_ids import parse
from localazure import activity_log
from localazure.arm import answers, checks, paths, requested_version, role_definitions
from localazure.arm.caller import Caller
from localazure.arm.changes import Changes, found
from localazure.arm.errors import ArmError, arm_error, not_implemented
from localazure.arm.in_process import InProcessArm
from localazure.arm.kind import Kind, merged
from localazure.arm.operations import Operations, status_document
from localazure.arm.requests import body_of
from localazure.arm.store import Body, Resource
from localazure.arm.subscription_routes import Subscriptions
from localazure.deployments.routes import DeploymentRoutes, path_of
from localazure.kinds import rights
from localazure.lists import served
from localazure.services import Services
from localazure.subscriptions import SUBSCRIPTIONS
from localazure.weather import policies, registrations, throttling

METHODS = ("GET", "HEAD", "PUT", "PATCH", "POST", "DELETE")
log = logging.getLogger(__name__)


class CheckedRequest(NamedTuple):
    """A request whose token has been checked."""

    request: Request
    segments: list[str]
    caller: Caller

    @property
    def method(self) -> str:
        return self.request.method

    def query(self, name: str) -> str:
        """A query parameter; its name is compared without regard to letter case, as ARM does."""
        return self.queries.get(name.lower(), "")

    @property
    def queries(self) -> dict[str, str]:
        """All of them, by lower-case name."""
        return {key.lower(): value for key, value in reversed([*self.request.query_params.items()])}


class Arm:
    """An ASGI application for every path that nothing else answers."""

    def __init__(self, services: Services, kinds: Sequence[Kind]) -> None:
        by_type = {kind.arm_type.lower(): kind for kind in kinds}
        self._services = services
        self._kinds: Mapping[str, Kind] = by_type
        self._subscriptions = Subscriptions(services, by_type)
        self.operations = Operations(services, by_type)
        self._changes = Changes(services, self.operations)
        self._deployments = DeploymentRoutes(services, self.operations)
        by_type[self._deployments.kind.arm_type.lower()] = self._deployments.kind
        self.in_process = InProcessArm(services, by_type, self._changes, self.operations)
        services.arm = self.in_process
        self._deployments.open(self.in_process)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        request = Request(scope, receive)
        try:
            response = await self._answer(request)
        except ArmError as error:
            response = answers.refused(error)
        except ClientDisconnect:
            return  # the client has gone
        except Exception:
            log.exception("%s %s failed", request.method, request.url.path)
            response = answers.refused(arm_error("InternalServerError"))
        await response(scope, receive, send)

    async def _answer(self, request: Request) -> Response:
        caller = self._services.tokens.check(request.headers.get("authorization", ""))
        arrived = CheckedRequest(request, paths.segments_of(request.scope["path"]), caller)
        if arrived.method not in METHODS:
            raise ArmError(405, "MethodNotAllowed", f"The method '{arrived.method}' is not known to Azure Resource Manager.")
        match [segment.lower() for segment in arrived.segments]:
            case ["subscriptions"] | ["tenants"]:
                _only(arrived, "GET")
                self._subscriptions.api_version(arrived.query("api-version"))
                requested = self._subscriptions
                return requested.subscriptions() if arrived.segments[0].lower() == "subscriptions" else requested.tenants()
            case ["subscriptions", subscription, *below]:
                if subscription not in SUBSCRIPTIONS:
                    raise arm_error("SubscriptionNotFound", subscription=arrived.segments[1])
                throttling.check(arrived.method, subscription, self._services)
                rights.check(arrived.caller, arrived.method, request.url.path, self._services)
                return await self._in_subscription_logged(arrived, below)
            case ["providers", "microsoft.management", "managementgroups", *_, "policysetdefinitions", _]:
                _only(arrived, "GET")
                return _initiative(arrived, self._services)
            case _:
                raise not_implemented(f"the path '{request.scope['path']}'")

    async def _in_subscription_logged(self, arrived: CheckedRequest, below: list[str]) -> Response:
        """A write that is refused is told by the activity log."""
        try:
            return await self._in_subscription(arrived, below)
        except ArmError as error:
            correlation = arrived.request.headers.get("x-ms-correlation-request-id", "")
            activity_log.refused(arrived.method, arrived.segments, arrived.caller, error, correlation, self._services)
            raise

    async def _in_subscription(self, arrived: CheckedRequest, below: list[str]) -> Response:
        """`below`: what follows the subscription, in lower case."""
        match below:
            case ["providers", _, "operationstatuses" | "operationresults" as what, _]:
                _only(arrived, "GET")
                return self._operation(arrived, what)
            case ["providers", _, "locations", _, what, _] if what.endswith(("operationstatuses", "operationresults")):
                _only(arrived, "GET")
                return self._operation(arrived, what[what.rindex("operation") :])
            case [*_, "providers", "microsoft.authorization", "roledefinitions"]:
                _only(arrived, "GET")
                return role_definitions.listed(arrived.query("$filter"), arrived.query("api-version"))
            case [*_, "providers", "microsoft.authorization", "roledefinitions", role]:
                _only(arrived, "GET")
                return role_definitions.one(role, arrived.query("api-version"))
            case ["providers", _, "register" | "unregister" as what] if arrived.method == "POST":
                self._subscriptions.api_version(arrived.query("api-version"))
                registrations.register(below[1], self._services, registered=what == "register")
                return self._subscriptions.provider(arrived.segments[3])
            case _ if rows := served.at(arrived.segments):
                body = await body_of(arrived.request) if arrived.method != "GET" else {}
                requested = served.asked(rows, arrived.method, arrived.segments, arrived.query, body, self._services)
                return served.answered(requested)
            case ["providers", namespace, "checknameavailability"] if arrived.method == "POST":
                return self._subscriptions.name_availability(
                    namespace, await body_of(arrived.request), arrived.query("api-version")
                )
            case (
                []
                | ["locations" | "resources" | "resourcegroups" | "providers"]
                | ["providers", _]
                | ["resourcegroups", _, "resources"]
            ):
                _only(arrived, "GET")
                self._subscriptions.api_version(arrived.query("api-version"))
                return self._overview(arrived, below)
            case _:
                return await self._resource_path(arrived)

    def _overview(self, arrived: CheckedRequest, below: list[str]) -> Response:
        """The subscription itself, and what is listed over all types."""
        whole = self._subscriptions
        match below:
            case []:
                return whole.subscription(arrived.segments[1])
            case ["locations"]:
                return whole.locations(arrived.segments[1])
            case ["resourcegroups"]:
                return whole.groups(arrived.segments[1], arrived.query("$filter"))
            case ["providers"]:
                return whole.providers()
            case ["providers", _]:
                return whole.provider(arrived.segments[3])
            case _:
                scope = "/" + "/".join(arrived.segments[:-1])
                checks.scope(scope, self._services.store)
                return whole.resources(self._services.store.below(scope), arrived.query("$filter"), arrived.query("$expand"))

    async def _resource_path(self, arrived: CheckedRequest) -> Response:
        deployment = path_of(arrived.segments)
        if deployment is not None:
            query = {name.lower(): value for name, value in arrived.request.query_params.items()}
            return await self._deployments.answer(deployment, arrived.request, query, arrived.caller)
        target = paths.target_of(arrived.segments, self._kinds)
        kind = target.kind
        if target.tail:
            found(kind, arrived.method, target.tail)
        checks.api_version(kind, arrived.query("api-version"))
        requested_version.remember(arrived.query("api-version"))
        if target.id is None:
            return self._list(arrived, kind, target.scope)
        self._services.deviations.check_change(arrived.method, kind.arm_type, target.id.scope, arrived.caller)
        if target.tail:
            query, body = dict(arrived.request.query_params), {}
            if arrived.method == "POST":
                body = await body_of(arrived.request)
            return await self._changes.call(kind, target.id, arrived.method, target.tail, query, body, arrived.caller)
        match arrived.method:
            case "GET":
                resource = checks.stored(kind, target.id, self._services.store)
                return answers.respond(200, self._document(arrived, kind, resource))
            case "HEAD":
                checks.stored(kind, target.id, self._services.store)
                return answers.respond(204)
            case "PUT":
                return await self._changes.put(kind, target.id, await body_of(arrived.request), arrived.caller)
            case "PATCH":
                return await self._changes.patch(kind, target.id, await body_of(arrived.request), arrived.caller)
            case "DELETE":
                kind.before_delete(target.id, arrived.queries, self._services)
                return await self._changes.delete(kind, target.id)
            case _:
                raise ArmError(405, "MethodNotAllowed", f"{arrived.method} is only served for actions of a resource.")

    def _list(self, arrived: CheckedRequest, kind: Kind, scope: str) -> Response:
        if arrived.method != "GET":
            raise not_implemented(f"{arrived.method} on the list of '{kind.arm_type}'")
        listed = kind.chosen(kind.listed(scope, arrived.query("$filter"), self._services), arrived.queries)
        return answers.listed(self._document(arrived, kind, resource) for resource in listed)

    def _document(self, arrived: CheckedRequest, kind: Kind, resource: Resource) -> Body:
        """What GET answers, with what `$expand` adds to it."""
        expand = arrived.query("$expand").lower()
        more = kind.expanded(resource, expand, self._services) if expand else {}
        return merged(answers.document(kind, resource, self._services), more)

    def _operation(self, arrived: CheckedRequest, what: str) -> Response:
        operation = self.operations.find(arrived.segments[-1])
        if what == "operationstatuses":
            headers = self.operations.headers(operation) if operation.status == "InProgress" else {}
            return answers.respond(200, status_document(operation, "/" + "/".join(arrived.segments)), headers)
        if operation.status == "InProgress":
            return answers.respond(202, headers=self.operations.headers(operation, final="location"))
        if operation.error is not None:
            return answers.respond(409, {"error": operation.error})
        if operation.result is not None:
            return answers.respond(200, operation.result)
        made = self._services.store.get(operation.resource_key) if operation.kind == "put" else None
        if made is None:
            removed = parse(operation.resource_id) if operation.kind == "delete" else None
            return answers.respond(self._kinds[removed.type.lower()].removed_status if removed else 204)
        return answers.respond(200, answers.document(self._kinds[made.id.type.lower()], made, self._services))


def _only(arrived: CheckedRequest, method: str) -> None:
    if arrived.method != method:
        raise not_implemented(f"{arrived.method} on '{arrived.request.url.path}'")


def _initiative(arrived: CheckedRequest, services: Services) -> Response:
    checks.version_among(policies.LIST_VERSIONS, arrived.query("api-version"), "policySetDefinitions")
    found = policies.initiative(arrived.segments, services)
    if found is None:
        name = arrived.segments[-1]
        raise ArmError(404, "PolicySetDefinitionNotFound", f"The policy set definition '{name}' could not be found.")
    return answers.respond(200, found)
