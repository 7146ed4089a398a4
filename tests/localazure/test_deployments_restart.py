"""A deployment that a restart cuts off: the next server goes on where the last one was."""

import asyncio
from pathlib import Path
from typing import Any

import httpx

from tests.localazure.test_deployments import IDENTITY, VERSION, body, identity, template
from tests.localazure.test_long_operations import GROUP, Server, scenario

DEPLOYMENT = f"{GROUP}/providers/Microsoft.Resources/deployments/main"


async def ask(server: Server, method: str, path: str, sent: Any = None, version: str = VERSION) -> httpx.Response:
    return await server.client.request(method, path, params={"api-version": version}, json=sent)


async def state(server: Server, name: str) -> str:
    """Of a resource; "" where it isn't there."""
    answer = await ask(server, "GET", f"{GROUP}/providers/{IDENTITY}/{name}", version="2023-01-31")
    return answer.json()["properties"]["provisioningState"] if answer.is_success else ""


async def begun(server: Server, *names: str) -> None:
    """Waits until these resources are being made."""
    async with asyncio.timeout(10):
        while [await state(server, name) for name in names] != ["Creating"] * len(names):
            await asyncio.sleep(0)


def test_a_restart_goes_on_with_a_deployment(tmp_path: Path) -> None:
    content = template(
        identity("first"),
        identity("second", dependsOn=["first"], tags={"client": "[reference('first').clientId]"}),
        parameters={"key": {"type": "securestring"}, "when": {"type": "string", "defaultValue": "[utcNow()]"}},
        outputs={
            "key": {"type": "int", "value": "[length(parameters('key'))]"},
            "when": {"type": "string", "value": "[parameters('when')]"},
        },
    )

    async def play(server: Server) -> None:
        answer = await ask(server, "PUT", DEPLOYMENT, body(content, key="hunter2"))
        assert answer.status_code == 201, answer.text
        when = answer.json()["properties"]["parameters"]["when"]["value"]
        await begun(server, "first")
        await server.killed()
        second = Server(tmp_path)
        assert (await ask(second, "GET", DEPLOYMENT)).json()["properties"]["provisioningState"] == "Running"
        await second.arm.operations.resume()
        second.kind.go.set()
        assert (await second.ended(answer))["status"] == "Succeeded"
        properties = (await ask(second, "GET", DEPLOYMENT)).json()["properties"]
        assert properties["outputs"] == {"key": {"type": "Int", "value": 7}, "when": {"type": "String", "value": when}}
        assert await state(second, "second") == "Succeeded"
        assert "hunter2" not in str(second.store.get(DEPLOYMENT))

    scenario(tmp_path, play)


def test_what_depends_on_nothing_is_made_at_the_same_time(tmp_path: Path) -> None:
    async def play(server: Server) -> None:
        answer = await ask(server, "PUT", DEPLOYMENT, body(template(identity("one"), identity("two"), identity("three"))))
        await begun(server, "one", "two", "three")
        server.kind.go.set()
        assert (await server.ended(answer))["status"] == "Succeeded"

    scenario(tmp_path, play)


def test_a_cancelled_deployment_begins_nothing_more(tmp_path: Path) -> None:
    async def play(server: Server) -> None:
        answer = await ask(server, "PUT", DEPLOYMENT, body(template(identity("one"), identity("two", dependsOn=["one"]))))
        await begun(server, "one")
        assert (await ask(server, "POST", f"{DEPLOYMENT}/cancel")).status_code == 204
        server.kind.go.set()
        assert (await server.status(answer))["status"] == "Canceled"
        assert (await ask(server, "GET", DEPLOYMENT)).json()["properties"]["provisioningState"] == "Canceled"
        assert [await state(server, name) for name in ("two",)] == [""]

    scenario(tmp_path, play)
