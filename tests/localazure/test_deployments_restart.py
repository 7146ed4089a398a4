"""A deployment that a restart cuts off: the next server goes on where the last one was."""

import asyncio
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.localazure.test_deployments import IDENTITY, VERSION, body, identity, template
from tests.localazure.test_long_operations import GROUP, Server, in_server, scenario
from tests.support.patience import SECONDS

DEPLOYMENT = f"{GROUP}/providers/Microsoft.Resources/deployments/main"


async def ask(server: Server, method: str, path: str, sent: Any = None, version: str = VERSION) -> httpx.Response:
    return await server.client.request(method, path, params={"api-version": version}, json=sent)


async def state(server: Server, name: str) -> str:
    """Of a resource; "" where it isn't there."""
    answer = await ask(server, "GET", f"{GROUP}/providers/{IDENTITY}/{name}", version="2023-01-31")
    return answer.json()["properties"]["provisioningState"] if answer.is_success else ""


async def begun(server: Server, *names: str) -> None:
    """Waits until these resources are being made."""
    async with asyncio.timeout(SECONDS):
        while [await state(server, name) for name in names] != ["Creating"] * len(names):
            await asyncio.sleep(0)


@in_server
async def test_a_restart_goes_on_with_a_deployment(server: Server, tmp_path: Path) -> None:
    content = template(
        identity("first"),
        identity("second", dependsOn=["first"], tags={"client": "[reference('first').clientId]"}),
        parameters={"key": {"type": "securestring"}, "when": {"type": "string", "defaultValue": "[utcNow()]"}},
        outputs={
            "key": {"type": "int", "value": "[length(parameters('key'))]"},
            "when": {"type": "string", "value": "[parameters('when')]"},
        },
    )
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


@in_server
async def test_what_depends_on_nothing_is_made_at_the_same_time(server: Server) -> None:
    answer = await ask(server, "PUT", DEPLOYMENT, body(template(identity("one"), identity("two"), identity("three"))))
    await begun(server, "one", "two", "three")
    server.kind.go.set()
    assert (await server.ended(answer))["status"] == "Succeeded"


@in_server
async def test_a_deployment_that_runs_is_neither_replaced_nor_deleted(server: Server) -> None:
    await ask(server, "PUT", DEPLOYMENT, body(template(identity("one"))))
    await begun(server, "one")
    for method, sent in (("PUT", body(template())), ("DELETE", None)):
        answer = await ask(server, method, DEPLOYMENT, sent)
        assert (answer.status_code, answer.json()["error"]["code"]) == (409, "DeploymentActive")


def nested(name: str) -> dict[str, Any]:
    properties = {"mode": "Incremental", "template": template()}
    return {"type": "Microsoft.Resources/deployments", "apiVersion": VERSION, "name": name, "properties": properties}


@in_server
async def test_a_nested_deployment_replaces_none_that_runs_of_its_own(server: Server) -> None:
    first = await ask(server, "PUT", f"{DEPLOYMENT}-b", body(template(identity("one"))))
    await begun(server, "one")
    for taken in ("main-b", "main"):  # another one that runs, and the one that it is nested in
        answer = await ask(server, "PUT", DEPLOYMENT, body(template(nested(taken))))
        error = (await server.ended(answer))["error"]
        assert [each["code"] for each in error["details"]] == ["DeploymentActive"]
        assert (await ask(server, "GET", DEPLOYMENT)).json()["properties"]["provisioningState"] == "Failed"
    assert (await ask(server, "GET", f"{DEPLOYMENT}-b")).json()["properties"]["provisioningState"] == "Running"
    server.kind.go.set()
    assert (await server.ended(first))["status"] == "Succeeded"


@in_server
async def test_a_deployment_that_cannot_go_on_has_an_end(server: Server, tmp_path: Path) -> None:
    content = template(identity("one", tags={"a": "[resourceGroup().tags.owner]"}))
    await server.ask("PATCH", GROUP, {"tags": {"owner": "me"}})
    answer = await ask(server, "PUT", DEPLOYMENT, body(content))
    await begun(server, "one")
    await server.ask("PATCH", GROUP, {"tags": {}})
    await server.killed()
    second = Server(tmp_path)
    await second.arm.operations.resume()
    second.kind.go.set()
    assert (await second.ended(answer))["status"] == "Failed"
    properties = (await ask(second, "GET", DEPLOYMENT)).json()["properties"]
    assert (properties["provisioningState"], properties["error"]["code"]) == ("Failed", "InvalidTemplate")
    assert (await ask(second, "PUT", DEPLOYMENT, body(template()))).status_code == 200


def test_an_error_of_the_servers_own_ends_a_deployment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object) -> None:
        raise RuntimeError("broken")

    async def play(server: Server) -> None:
        monkeypatch.setattr("localazure.deployments.running.finish", broken)
        answer = await ask(server, "PUT", DEPLOYMENT, body(template(identity("one"))))
        assert (await server.ended(answer))["status"] == "Failed"
        properties = (await ask(server, "GET", DEPLOYMENT)).json()["properties"]
        assert (properties["provisioningState"], properties["error"]["code"]) == ("Failed", "InternalServerError")

    scenario(tmp_path, play)


@in_server
async def test_a_deployment_that_has_ended_is_not_carried_out_again(server: Server, tmp_path: Path) -> None:
    server.kind.go.set()
    sound = await ask(server, "PUT", DEPLOYMENT, body(template(identity("one"))))
    failing = await ask(server, "PUT", f"{DEPLOYMENT}-b", body(template(nested("main-b"))))
    assert [(await server.ended(each))["status"] for each in (sound, failing)] == ["Succeeded", "Failed"]
    for answer in (sound, failing):  # as it is where a kill came before the operation's end was written
        operation = server.arm.operations.find(answer.headers["azure-asyncoperation"].split("/")[-1].split("?")[0])
        operation.status, operation.error = "InProgress", None
        server.store.put_operation(operation)
    await server.killed()
    second = Server(tmp_path)
    await second.arm.operations.resume()
    assert (await second.ended(sound))["status"] == "Succeeded"
    assert (await second.ended(failing))["error"]["code"] == "DeploymentFailed"


def test_what_is_secret_is_in_no_answer_about_a_nested_deployment(tmp_path: Path) -> None:
    inner = template(
        identity("two", tags={"t": "[parameters('key')]"}),
        outputs={"o": {"type": "securestring", "value": "[parameters('key')]"}},
    )
    given = {"key": {"value": "[parameters('key')]"}}
    for scope, parts in (("outer", {}), ("inner", {"parameters": given})):
        content = dict(inner)
        if scope == "inner":
            content["parameters"] = {"key": {"type": "securestring"}}
        one = nested("within")
        one["properties"] |= {"template": content, "expressionEvaluationOptions": {"scope": scope}, **parts}
        whole = template(one, parameters={"key": {"type": "securestring"}})

        async def play(server: Server, whole: Any = whole) -> None:
            server.kind.go.set()
            answer = await ask(server, "PUT", DEPLOYMENT, body(whole, key="hunter2"))
            status = await server.ended(answer)
            assert status["status"] == "Succeeded", status
            for name in ("main", "within"):
                path = DEPLOYMENT.replace("main", name)
                for what in ("", "/operations"):
                    assert "hunter2" not in (await ask(server, "GET", path + what)).text, (what, name)
                assert "hunter2" not in str(server.store.get(path)), name

        folder = tmp_path / scope
        folder.mkdir()
        scenario(folder, play)
