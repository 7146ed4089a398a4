"""Long operations, with a kind whose work waits for the test: what clients are told meanwhile, and what a restart makes of it."""

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import httpx
import pytest

from azure_gpu.formats import azure_types
from azure_gpu.formats.arm_ids import parse
from localazure.arm.caller import Caller
from localazure.arm.errors import ArmError
from localazure.arm.kind import Answer, Call, Change, Kind, action
from localazure.arm.router import Arm
from localazure.arm.store import Body, Resource
from localazure.entra.tokens import Tokens
from localazure.kinds import stored
from localazure.services import Services
from localazure.subscriptions import SUBSCRIPTION
from tests.localazure.coroutines import within
from tests.localazure.parts import services_in
from tests.support.patience import SECONDS

GROUP = f"/subscriptions/{SUBSCRIPTION}/resourceGroups/rg"
SLOW = f"{GROUP}/providers/Microsoft.ManagedIdentity/userAssignedIdentities/slow"
QUERY = {"api-version": "2023-01-31"}
BODY = {"location": "westeurope"}


class Slow(Kind):
    """Work that goes on until `go` is set, and then ends as `outcome` says."""

    azure_type = azure_types.USER_ASSIGNED_IDENTITY
    long_running = True
    long_running_delete = True
    shows_state = True

    def __init__(self) -> None:
        self.go = asyncio.Event()
        self.held = asyncio.Event()
        self.outcome: ArmError | Exception | None = None
        self.resumed = False
        self.removed: list[str] = []

    def begun(self, change: Change) -> Body:
        return {}  # and not the ids of an identity

    async def provision(self, change: Change) -> Body:
        change.services.store.put(change.stored)  # as kinds do that note how far they are
        await self.go.wait()
        if self.outcome is not None:
            raise self.outcome
        return {"properties": {"clientId": "made"}}

    async def resume(self, change: Change) -> Body:
        self.resumed = True
        return await self.provision(change)

    async def resume_action(self, action: str, resource: Resource, services: Services) -> None:
        self.resumed = True

    async def remove(self, resource: Resource, services: Services) -> None:
        await self.go.wait()
        if self.outcome is not None:
            raise self.outcome
        self.removed.append(resource.id.name)

    @action("restart")
    async def restart(self, resource: Resource, call: Call) -> Answer:
        async def work() -> None:
            await self.go.wait()

        return Answer(status=202, work=work)

    @action("hold")
    async def hold(self, resource: Resource, call: Call) -> Answer:
        await self.held.wait()
        return Answer(body={"removedMeanwhile": self.removed})


class Below(Kind):
    """What lies in a slow one."""

    azure_type = azure_types.FEDERATED_IDENTITY_CREDENTIAL

    def __init__(self, slow: Slow) -> None:
        self.slow = slow

    async def remove(self, resource: Resource, services: Services) -> None:
        self.slow.removed.append(resource.id.name)


class AnyToken(Tokens):
    def __init__(self) -> None:
        """Without a key: it signs nothing."""

    def check(self, authorization: str) -> Caller:
        return Caller(object_id="p", app_id="some-application")


class Server:
    """ARM alone, on a store in a file, as one process of it would be; `killed` leaves the store as a kill would."""

    def __init__(self, folder: Path) -> None:
        self.kind = Slow()
        self.services = services_in(folder, tokens=AnyToken())
        self.store = self.services.store
        self.arm = Arm(self.services, [stored.of(azure_types.RESOURCE_GROUP.arm_type), self.kind, Below(self.kind)])
        self.client = httpx.AsyncClient(transport=httpx.ASGITransport(self.arm), base_url="https://localhost:1")

    async def killed(self) -> None:
        await self.arm.operations.stop()
        self.store.close()

    async def ask(self, method: str, path: str, body: Any = None) -> httpx.Response:
        version = QUERY if path.startswith(SLOW) else {"api-version": "2024-03-01"}
        return await self.client.request(method, path, params=version, json=body)

    async def status(self, answer: httpx.Response) -> dict[str, Any]:
        return (await self.client.get(answer.headers["azure-asyncoperation"])).json()

    async def ended(self, answer: httpx.Response) -> dict[str, Any]:
        async with asyncio.timeout(SECONDS):
            while (await self.status(answer))["status"] == "InProgress":
                await asyncio.sleep(0)
        return await self.status(answer)


def scenario(folder: Path, play: Callable[[Server], Awaitable[None]]) -> None:
    async def run() -> None:
        server = Server(folder)
        await server.ask("PUT", GROUP, BODY)
        await play(server)

    asyncio.run(run())


in_server = within(scenario, "tmp_path")


@in_server
async def test_a_long_put_is_polled_until_it_has_succeeded(server: Server) -> None:
    answer = await server.ask("PUT", SLOW, BODY)
    assert answer.status_code == 201
    assert answer.json()["properties"] == {"provisioningState": "Creating"}
    assert answer.headers["retry-after"] == "1"
    status = await server.status(answer)
    assert {"id", "name", "status", "startTime"} <= set(status)
    assert status["status"] == "InProgress"
    assert (await server.ask("GET", SLOW)).json()["properties"] == {"provisioningState": "Creating"}
    server.kind.go.set()
    assert (await server.ended(answer))["endTime"]
    made = await server.ask("GET", SLOW)
    assert made.json()["properties"] == {"provisioningState": "Succeeded", "clientId": "made"}


@in_server
async def test_a_change_while_one_is_going_on_is_a_conflict(server: Server) -> None:
    await server.ask("PUT", SLOW, BODY)
    for method, path, body in (("PUT", SLOW, BODY), ("PATCH", SLOW, {}), ("POST", f"{SLOW}/restart", None)):
        answer = await server.ask(method, path, body)
        assert (answer.status_code, answer.json()["error"]["code"]) == (409, "Conflict")
    assert (await server.ask("GET", SLOW)).status_code == 200


@pytest.mark.parametrize(
    ("outcome", "code"),
    [(ArmError(409, "SkuNotAvailable", "no more of these"), "SkuNotAvailable"), (RuntimeError("a bug"), "InternalServerError")],
)
@in_server
async def test_work_that_fails_ends_as_failed_with_its_reason(server: Server, outcome: Exception, code: str) -> None:
    server.kind.outcome = outcome
    server.kind.go.set()
    answer = await server.ask("PUT", SLOW, BODY)
    ended = await server.ended(answer)
    assert (ended["status"], ended["error"]["code"]) == ("Failed", code)
    assert (await server.ask("GET", SLOW)).json()["properties"]["provisioningState"] == "Failed"
    server.kind.outcome = None
    assert (await server.ended(await server.ask("PUT", SLOW, BODY)))["status"] == "Succeeded"


@in_server
async def test_a_restart_takes_up_what_was_going_on(server: Server, tmp_path: Path) -> None:
    answer = await server.ask("PUT", SLOW, BODY)
    await server.killed()
    second = Server(tmp_path)
    assert (await second.status(answer))["status"] == "InProgress"
    await second.arm.operations.resume()
    second.kind.go.set()
    assert (await second.ended(answer))["status"] == "Succeeded"
    assert second.kind.resumed
    assert (await second.ask("GET", SLOW)).json()["properties"]["clientId"] == "made"


@in_server
async def test_a_restart_goes_on_deleting(server: Server, tmp_path: Path) -> None:
    server.kind.go.set()
    await server.ended(await server.ask("PUT", SLOW, BODY))
    server.kind.go.clear()
    answer = await server.ask("DELETE", GROUP)
    assert answer.status_code == 202
    await asyncio.sleep(0)
    await server.killed()
    second = Server(tmp_path)
    group = await second.ask("GET", GROUP)
    assert group.json()["properties"]["provisioningState"] == "Deleting"
    refused = await second.ask("PUT", SLOW, BODY)
    assert (refused.status_code, refused.json()["error"]["code"]) == (409, "ResourceGroupBeingDeleted")
    await second.arm.operations.resume()
    second.kind.go.set()
    async with asyncio.timeout(SECONDS):
        while (await second.client.get(answer.headers["location"])).status_code == 202:
            await asyncio.sleep(0)
    assert second.kind.removed == ["slow"]
    assert (await second.ask("GET", GROUP)).status_code == 404


@in_server
async def test_nothing_is_added_to_a_group_that_is_being_deleted(server: Server) -> None:
    server.kind.go.set()
    await server.ended(await server.ask("PUT", SLOW, BODY))
    server.kind.go.clear()
    first = await server.ask("DELETE", GROUP)
    for path, body in ((f"{SLOW}2", BODY), (GROUP, BODY)):
        answer = await server.ask("PUT", path, body)
        assert (answer.status_code, answer.json()["error"]["code"]) == (409, "ResourceGroupBeingDeleted")
    again = await server.ask("DELETE", GROUP)
    assert again.headers["location"] == first.headers["location"]


@in_server
async def test_what_a_creation_adds_while_its_group_is_deleted_goes_before_what_it_lies_in(server: Server) -> None:
    server.kind.go.set()
    for path in (SLOW, f"{SLOW}2"):
        await server.ended(await server.ask("PUT", path, BODY))
    server.kind.go.clear()
    deleted = await server.ask("DELETE", GROUP)
    await asyncio.sleep(0.01)
    late = parse(f"{SLOW}2/federatedIdentityCredentials/late")
    assert late is not None
    server.store.put(Resource(id=late, body={}, created_at="", changed_at=""))
    server.kind.go.set()
    async with asyncio.timeout(SECONDS):
        while (await server.client.get(deleted.headers["location"])).status_code == 202:
            await asyncio.sleep(0)
    assert server.kind.removed == ["slow", "late", "slow2"]


@in_server
async def test_a_group_that_is_deleted_waits_for_requests_at_work_in_it(server: Server) -> None:
    server.kind.go.set()
    await server.ended(await server.ask("PUT", SLOW, BODY))
    holding = asyncio.create_task(server.ask("POST", f"{SLOW}/hold"))
    await asyncio.sleep(0.01)
    deleted = await server.ask("DELETE", GROUP)
    await asyncio.sleep(0.01)
    server.kind.held.set()
    assert (await holding).json() == {"removedMeanwhile": []}
    async with asyncio.timeout(SECONDS):
        while (await server.client.get(deleted.headers["location"])).status_code == 202:
            await asyncio.sleep(0)
    assert server.kind.removed == ["slow"]
    assert (await server.ask("POST", f"{SLOW}/hold")).status_code == 404


@in_server
async def test_a_deletion_that_fails_leaves_the_resource_failed_and_can_be_repeated(server: Server) -> None:
    server.kind.go.set()
    await server.ended(await server.ask("PUT", SLOW, BODY))
    server.kind.outcome = OSError("the disk is gone")
    assert (await server.ended(await server.ask("DELETE", SLOW)))["status"] == "Failed"
    assert (await server.ask("GET", SLOW)).json()["properties"]["provisioningState"] == "Failed"
    server.kind.outcome = None
    assert (await server.ended(await server.ask("DELETE", SLOW)))["status"] == "Succeeded"


@in_server
async def test_deleting_ends_what_was_going_on(server: Server) -> None:
    created = await server.ask("PUT", SLOW, BODY)
    deleted = await server.ask("DELETE", SLOW)
    assert deleted.status_code == 202
    assert (await server.status(created))["status"] == "Canceled"
    server.kind.go.set()
    assert (await server.ended(deleted))["status"] == "Succeeded"
    assert (await server.ask("GET", SLOW)).status_code == 404


@in_server
async def test_a_long_action_is_polled_and_taken_up_again(server: Server, tmp_path: Path) -> None:
    server.kind.go.set()
    await server.ended(await server.ask("PUT", SLOW, BODY))
    server.kind.go.clear()
    answer = await server.ask("POST", f"{SLOW}/Restart")
    assert (answer.status_code, answer.headers["retry-after"]) == (202, "1")
    await server.killed()
    second = Server(tmp_path)
    await second.arm.operations.resume()
    assert (await second.ended(answer))["status"] == "Succeeded"
    assert second.kind.resumed


@in_server
async def test_an_operation_that_never_was_is_not_found(server: Server) -> None:
    answer = await server.ask("GET", f"/subscriptions/{SUBSCRIPTION}/providers/Microsoft.X/operationStatuses/nothing")
    assert (answer.status_code, answer.json()["error"]["code"]) == (404, "OperationNotFound")
