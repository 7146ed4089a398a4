"""How a state is recorded: what stays in it, what is replaced, and that a fresh one plans nothing either."""

import base64
import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from tests.components.recording import SECRET_SIGNATURE
from tests.support.embedded import ServedAzure
from tests.upgrades import bringing_up, placeholders, plans, records

URN = "urn:pulumi:s::azure-gpu::"
STACK = {"urn": f"{URN}pulumi:pulumi:Stack::azure-gpu-s", "type": "pulumi:pulumi:Stack", "created": "2026-11-20T12:00:00Z"}
PROVIDER = {"urn": f"{URN}pulumi:providers:azure-native::default", "type": "pulumi:providers:azure-native", "id": "drawn-id"}
GROUP = {
    "urn": f"{URN}azure-native:resources:ResourceGroup::group",
    "type": "azure-native:resources:ResourceGroup",
    "parent": STACK["urn"],
    "provider": f"{PROVIDER['urn']}::{PROVIDER['id']}",
    "sourcePosition": "project:///__main__.py#1",
}
IDENTITY = {
    "urn": f"{URN}azure-native:managedidentity:UserAssignedIdentity::a",
    "type": "azure-native:managedidentity:UserAssignedIdentity",
    "dependencies": [STACK["urn"], GROUP["urn"]],
    "propertyDependencies": {"resourceGroupName": [GROUP["urn"]], "location": None},
}


def recorded(*resources: dict[str, Any]) -> records.Record:
    return records.record_of("s", {"azure-gpu:team": "vision"}, {"resources": resources}, [])


def test_a_record_has_no_times_and_is_the_same_in_whatever_order_resources_were_created() -> None:
    record = recorded(STACK, PROVIDER, GROUP, IDENTITY)
    assert [resource["urn"] for resource in record["state"]["resources"]] == [
        PROVIDER["urn"],
        STACK["urn"],
        GROUP["urn"],
        IDENTITY["urn"],
    ]
    assert record == recorded({**IDENTITY, "dependencies": IDENTITY["dependencies"][::-1]}, GROUP, STACK, PROVIDER)
    text = json.dumps(record)
    assert not [word for word in ("created", "sourcePosition", "drawn-id") if word in text]
    [group] = [each for each in record["state"]["resources"] if each["urn"] == GROUP["urn"]]
    assert group["provider"] == f"{PROVIDER['urn']}::{record['state']['resources'][0]['id']}"


def test_a_secret_is_replaced_alike_in_the_answer_and_in_what_the_program_made_of_it(tmp_path: Path) -> None:
    azure = cast(ServedAzure, SimpleNamespace(state=tmp_path, client_secret="client+secret", admin_token="admin"))
    kubeconfig = base64.b64encode(b"server: https://localhost:45678").decode()
    record = {
        "config": {"azure-native:metadataHost": "localhost:45679"},
        "state": {
            "group": {"key": {SECRET_SIGNATURE: "1b47061264138c4ac30d75fd1eb44270", "plaintext": json.dumps("of the logs")}},
            "log": f"{tmp_path}/logs/build.log",
            "plain": "client+secret",
        },
        "invokes": [
            {"token": "t", "answer": {"primarySharedKey": "of the logs", "name": "logs"}},
            {"token": "t", "answer": {"kubeconfigs": [{"name": "clusterUser", "value": kubeconfig}]}},
        ],
    }
    put = placeholders.put(record, azure)
    key = put["invokes"][0]["answer"]["primarySharedKey"]
    assert key.startswith("secret-")
    assert json.loads(put["state"]["group"]["key"]["plaintext"]) == key
    assert put["state"]["plain"].startswith("secret-")
    assert put["state"]["plain"] != key
    assert put["state"]["log"] == "/state/logs/build.log"
    assert put["config"] == {"azure-native:metadataHost": "localhost:8443"}
    assert put["invokes"][0]["token"] == "t"
    value = put["invokes"][1]["answer"]["kubeconfigs"][0]["value"]
    assert base64.b64decode(value) == b"server: https://localhost:8443"


@pytest.mark.slow
def test_a_case_that_is_brought_up_now_and_recorded_plans_nothing(tmp_path: Path, engine_bin: Path) -> None:
    folders = [tmp_path / each for each in ("up", "planned")]
    for folder in folders:
        folder.mkdir()
    record = bringing_up.offline("job.happy.existing_environment", folders[0], engine_bin)
    assert record["invokes"] != []
    plan = plans.over(record, folders[1], engine_bin)
    assert plan.changes == []
    assert plan.unchanged == plans.resources(record)
