"""Faults on purpose, through the control path and the command."""

from datetime import timedelta
from typing import Any

import httpx
import pytest

from tests.localazure.conftest import GROUPS
from tests.support.embedded import SUBSCRIPTION, EmbeddedAzure

PATH = "/local/faults"


pytestmark = pytest.mark.usefixtures("no_fault_is_left")


def control(azure: EmbeddedAzure, method: str, body: Any = None, token: str = "") -> httpx.Response:
    with azure.http(headers={"Authorization": f"Bearer {token or azure.admin_token}"}) as client:
        return client.request(method, PATH, json=body)


def test_a_fault_hits_what_it_fits_as_often_as_asked(azure: EmbeddedAzure, group: str) -> None:
    fits = {"method": "GET", "path": "*/RESOURCEGROUPS/*", "count": 2}
    made = control(azure, "PUT", {"kind": "fail", **fits, "status": 409, "code": "Busy", "message": "x"})
    assert made.status_code == 200
    assert azure.patch(group, {"tags": {}}, GROUPS).status_code == 200
    assert azure.client.get("/subscriptions?api-version=2022-12-01").status_code == 200
    answers = [azure.get(group, GROUPS) for _ in range(3)]
    assert [each.status_code for each in answers] == [409, 409, 200]
    assert answers[0].json() == {"error": {"code": "Busy", "message": "x"}}
    assert answers[0].headers["x-local-azure"] == "embedded"
    assert [fault for fault in control(azure, "GET").json()["value"] if fault["kind"] == "fail"] == []


def test_throttling_says_when_to_come_back(azure: EmbeddedAzure, group: str) -> None:
    azure.fault("throttle", seconds=7)
    answer = azure.get(group, GROUPS)
    assert (answer.status_code, answer.headers["retry-after"]) == (429, "7")
    assert answer.json()["error"]["code"] == "TooManyRequests"


def test_a_delayed_answer_comes_late_and_whole(azure: EmbeddedAzure, group: str) -> None:
    azure.fault("delay", seconds=0.3)
    began = azure.now()
    assert azure.get(group, GROUPS).status_code == 200
    assert azure.now() - began >= timedelta(seconds=0.3)


@pytest.mark.parametrize(("kind", "status"), [("lose-answer", 200), ("reset", 404)])
def test_a_lost_answer_was_carried_out_and_a_reset_request_was_not(azure: EmbeddedAzure, kind: str, status: int) -> None:
    path = f"/subscriptions/{SUBSCRIPTION}/resourceGroups/rg-{kind}"
    azure.fault(kind, method="PUT")
    with pytest.raises(httpx.RemoteProtocolError):
        azure.put(path, {"location": "westeurope"}, GROUPS)
    assert azure.get(path, GROUPS).status_code == status


def test_a_wrong_answer_hides_what_was_carried_out_and_an_operation_fails_after_it_was_accepted(azure: EmbeddedAzure) -> None:
    path = f"/subscriptions/{SUBSCRIPTION}/resourceGroups/rg-hidden"
    azure.fault("wrong-answer", method="PUT", status=409, code="Conflict")
    assert azure.put(path, {"location": "westeurope"}, GROUPS).status_code == 409
    assert azure.get(path, GROUPS).status_code == 200

    account = f"{path}/providers/Microsoft.Storage/storageAccounts/sthidden"
    body = {"location": "westeurope", "sku": {"name": "Standard_LRS"}, "kind": "StorageV2"}
    azure.fault("fail-later", method="PUT", path="*/storageAccounts/*", status=500, code="Broken")
    assert azure.put(account, body, "2025-01-01").status_code == 202
    azure.until(lambda: azure.get(account, "2025-01-01").json()["properties"]["provisioningState"] == "Failed", "it has failed")
    assert azure.made(account, body, "2025-01-01")["properties"]["provisioningState"] == "Succeeded", "once, and only there"


def test_a_request_that_times_out_is_answered_late_and_was_not_carried_out(azure: EmbeddedAzure) -> None:
    path = f"/subscriptions/{SUBSCRIPTION}/resourceGroups/rg-timeout"
    azure.fault("timeout", method="PUT", seconds=0.3)
    began = azure.now()
    answer = azure.put(path, {"location": "westeurope"}, GROUPS)
    assert azure.now() - began >= timedelta(seconds=0.3)
    assert (answer.status_code, answer.json()["error"]["code"]) == (504, "GatewayTimeout")
    assert azure.get(path, GROUPS).status_code == 404


def test_nobody_without_the_admin_token_makes_faults(azure: EmbeddedAzure) -> None:
    for token in ("wrong", azure.token(), "Bearer"):
        assert control(azure, "PUT", {"kind": "fail"}, token).status_code == 401
    assert control(azure, "GET").json()["value"] == []


@pytest.mark.parametrize(
    ("fault", "word"),
    [
        ({"kind": "explode"}, "lose-answer"),
        ({"kind": "fail", "bogus": 1}, "bogus"),
        ({"kind": "fail", "count": "3"}, "count"),
        ({"kind": "fail", "status": 200}, "400 to 599"),
        ({"kind": "clock", "date": "yesterday"}, "YYYY-MM-DD"),
        ({"kind": "delay", "seconds": -1}, "seconds"),
        ({"kind": "inside", "name": "hub"}, "isn't the id of a virtual network"),
    ],
)
def test_a_fault_that_is_not_understood_is_refused_with_what_is(azure: EmbeddedAzure, fault: dict[str, Any], word: str) -> None:
    answer = control(azure, "PUT", fault)
    assert answer.status_code == 400
    assert word in answer.json()["error"]["message"]


@pytest.mark.slow
def test_the_command_adds_lists_and_clears(azure: EmbeddedAzure, group: str) -> None:
    added = azure.command("fault", "fail", "--method", "GET", "--path", f"{group}*", "--status", "503", "--code", "Down")
    assert added.returncode == 0, added.stderr
    assert "503" in azure.command("fault", "list").stdout
    assert azure.get(group, GROUPS).json()["error"]["code"] == "Down"
    assert azure.command("fault", "list").stdout == "no faults\n"
    azure.command("fault", "clock", "2019-06-01")
    assert "2019-06-01" in azure.command("fault", "list").stdout
    assert azure.command("fault", "clear").stdout == "no faults\n"


def test_a_wrong_fault_command_is_one_line(azure: EmbeddedAzure) -> None:
    done = azure.command("fault", "fail", "--status", "200")
    assert (done.returncode, done.stderr.count("\n")) == (1, 1)
    assert azure.command("fault", "clock", "soon").returncode == 2


def test_faults_outlive_a_restart(own_azure: EmbeddedAzure) -> None:
    control(own_azure, "PUT", {"kind": "throttle", "count": 0, "path": "/subscriptions"})
    own_azure.restart()
    assert own_azure.client.get("/subscriptions?api-version=2022-12-01").status_code == 429
