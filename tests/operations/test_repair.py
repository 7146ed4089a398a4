"""What a killed engine leaves: locks of dead owners, creates without an end."""

import json
import os
import socket
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from azure_gpu_operations import repair

SUBSCRIPTION = "00000000-0000-0000-0000-000000000000"
GROUP_ID = f"/subscriptions/{SUBSCRIPTION}/resourceGroups/rg-a"


def write_lock(backend: Path, pid: int, hostname: str | None = None) -> Path:
    folder = backend / ".pulumi" / "locks" / "organization" / "azure-gpu" / "local"
    folder.mkdir(parents=True, exist_ok=True)
    file = folder / f"{pid}.json"
    file.write_text(json.dumps({"pid": pid, "hostname": hostname or socket.gethostname(), "username": "u"}))
    return file


def pending(token: str, **inputs: str) -> dict[str, Any]:
    resource = {"urn": f"urn:{token}", "type": token, "inputs": {"azureApiVersion": "2024-03-01", **inputs}}
    return {"type": "creating", "resource": resource}


def test_a_lock_is_dead_when_its_owner_on_this_machine_is_gone(tmp_path: Path) -> None:
    files = [write_lock(tmp_path, 4242), write_lock(tmp_path, 4343)]
    found = repair.locks(tmp_path, "azure-gpu", "local", alive=lambda pid: pid != 4242)
    assert found == repair.Locks(dead=(files[0],), living=(files[1],))


def test_the_lock_of_a_living_process_stays(tmp_path: Path) -> None:
    file = write_lock(tmp_path, os.getpid())
    assert repair.locks(tmp_path, "azure-gpu", "local") == repair.Locks(living=(file,))


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="this system doesn't show in /proc that a process has ended")
def test_the_lock_of_a_process_whose_exit_code_nobody_has_collected_is_dead(tmp_path: Path) -> None:
    process = subprocess.Popen([sys.executable, "-c", ""])
    os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)
    file = write_lock(tmp_path, process.pid)
    assert repair.locks(tmp_path, "azure-gpu", "local") == repair.Locks(dead=(file,))
    process.wait()


def test_the_lock_of_another_machine_stays_because_nobody_here_can_tell(tmp_path: Path) -> None:
    file = write_lock(tmp_path, 4242, hostname="elsewhere")
    assert repair.locks(tmp_path, "azure-gpu", "local", alive=lambda pid: False) == repair.Locks(living=(file,))


def test_a_backend_without_locks_has_none(tmp_path: Path) -> None:
    assert repair.locks(tmp_path, "azure-gpu", "local") == repair.Locks()


def test_a_checksum_that_is_empty_is_torn_and_others_stay(tmp_path: Path) -> None:
    folder = tmp_path / ".pulumi" / "stacks" / "azure-gpu"
    folder.mkdir(parents=True)
    (folder / "local.json").touch()
    (folder / "local.json.attrs").touch()
    (folder / "lite.json.attrs").write_text("{}")
    assert repair.torn_attributes(tmp_path) == [folder / "local.json.attrs"]
    assert repair.torn_attributes(tmp_path / "none") == []


def test_a_pending_create_that_happened_is_imported_and_one_that_did_not_is_forgotten() -> None:
    deployment = {
        "pending_operations": [
            pending("azure-native:resources:ResourceGroup", resourceGroupName="rg-a"),
            pending("azure-native:resources:ResourceGroup", resourceGroupName="rg-b"),
        ]
    }
    asked: list[tuple[str, str]] = []

    def exists(resource_id: str, version: str) -> bool:
        asked.append((resource_id, version))
        return resource_id == GROUP_ID

    settled = repair.settle(repair.pending_creates(deployment), SUBSCRIPTION, exists)

    assert settled.imports == (("urn:azure-native:resources:ResourceGroup", GROUP_ID),)
    assert settled.forgotten == ("urn:azure-native:resources:ResourceGroup",)
    assert asked == [(GROUP_ID, "2024-03-01"), (GROUP_ID[:-1] + "b", "2024-03-01")]


def test_what_azure_does_not_know_is_forgotten_without_asking() -> None:
    deployment = {"pending_operations": [pending("pulumi:providers:azure-native")]}

    def exists(resource_id: str, version: str) -> bool:
        pytest.fail(f"asked Azure for {resource_id}")

    settled = repair.settle(repair.pending_creates(deployment), SUBSCRIPTION, exists)
    assert settled == repair.Settled((), ("urn:pulumi:providers:azure-native",))


def test_updates_and_deletes_without_an_end_are_left_to_the_engine() -> None:
    deployment = {"pending_operations": [{**pending("azure-native:resources:ResourceGroup"), "type": "deleting"}]}
    assert repair.pending_creates(deployment) == []


def test_what_exists_joins_the_resources_and_what_was_never_made_goes() -> None:
    made = pending("azure-native:resources:ResourceGroup", resourceGroupName="rg-a")
    lost = pending("azure-native:storage:StorageAccount", accountName="a")
    deleting = {**pending("azure-native:app:Job"), "type": "deleting"}
    deployment = {"manifest": {"time": "now"}, "resources": [{"urn": "stack"}], "pending_operations": [lost, made, deleting]}
    settled = repair.Settled(
        (("urn:azure-native:resources:ResourceGroup", GROUP_ID),), ("urn:azure-native:storage:StorageAccount",)
    )
    assert repair.settled_deployment(deployment, settled) == {
        "manifest": {"time": "now"},
        "resources": [{"urn": "stack"}, {**made["resource"], "id": GROUP_ID}],
        "pending_operations": [deleting],
    }


def test_a_create_that_nobody_settled_stays() -> None:
    deployment = {"pending_operations": [pending("azure-native:app:Job")]}
    assert repair.settled_deployment(deployment, repair.Settled((), ())) == {**deployment, "resources": []}


def test_what_was_made_to_replace_another_takes_its_place_and_leaves_that_one_to_be_deleted() -> None:
    made = pending("azure-native:resources:ResourceGroup", resourceGroupName="rg-a")
    urn = "urn:azure-native:resources:ResourceGroup"
    old = {"urn": urn, "id": GROUP_ID + "-old"}
    deployment = {"resources": [{"urn": "stack"}, old], "pending_operations": [made]}
    assert repair.settled_deployment(deployment, repair.Settled(((urn, GROUP_ID),), ()))["resources"] == [
        {"urn": "stack"},
        {**old, "delete": True},
        {**made["resource"], "id": GROUP_ID},
    ]


def test_what_is_written_down_already_is_never_left_to_be_deleted() -> None:
    made = pending("azure-native:resources:ResourceGroup", resourceGroupName="rg-a")
    urn = "urn:azure-native:resources:ResourceGroup"
    there = {"urn": urn, "id": GROUP_ID.upper(), "outputs": {"a": 1}}
    deployment = {"resources": [there], "pending_operations": [made]}
    settled = repair.settled_deployment(deployment, repair.Settled(((urn, GROUP_ID),), ()))
    assert settled == {"resources": [there], "pending_operations": []}


def test_what_was_taken_in_keeps_the_inputs_it_was_created_with_and_not_what_azure_added() -> None:
    made = pending("azure-native:resources:ResourceGroup", resourceGroupName="rg-a")
    urn = "urn:azure-native:resources:ResourceGroup"
    creates = repair.pending_creates({"pending_operations": [made]})
    old = {"urn": urn, "id": GROUP_ID + "-old", "delete": True, "inputs": {"resourceGroupName": "rg-old"}}
    read = {"urn": urn, "id": GROUP_ID, "inputs": {"resourceGroupName": "rg-a", "managedBy": ""}, "outputs": {"managedBy": ""}}
    found = repair.as_created({"resources": [old, read]}, creates, repair.Settled(((urn, GROUP_ID),), ()))
    assert found == {"resources": [old, {**read, "inputs": {"azureApiVersion": "2024-03-01", "resourceGroupName": "rg-a"}}]}


def event(urn: str, op: str = "create", said: str = "error reading from server: EOF\n") -> list[str]:
    """What the engine writes of a step that failed (pulumi 3.259)."""
    new = {"urn": urn, "type": "t", "id": "", "custom": True, "parent": "p", "provider": "r", "inputs": {"a": 1}, "outputs": {}}
    told = {"urn": urn, "prefix": "error: ", "message": said, "severity": "error"}
    failed = {"metadata": {"op": op, "urn": urn, "new": new}, "status": 2, "steps": 1}
    return [json.dumps({"diagnosticEvent": told}), json.dumps({"resOpFailedEvent": failed})]


def test_creates_whose_end_was_lost_are_those_that_ended_with_the_provider_or_with_the_connection_of_a_put() -> None:
    told = {"urn": "p", "message": "<{%reset%}>conflicted: it has appeared behind a refusal; run", "severity": "warning"}
    events = [
        *event("died"),
        *event("put", said='Put "https://management.azure.com/subscriptions/x": EOF'),
        *event("creating", said='Status=409 Code="StorageAccountOperationInProgress" Message="An operation is currently"'),
        *event("refused", said='Status=409 Code="Conflict" Message="in use"'),
        *event("busy", said='Status=409 Code="Conflict" Message="Another operation is in progress."'),
        *event("there", said="cannot create already existing resource '/subscriptions/x'"),
        json.dumps({"diagnosticEvent": told}),
        *event("urn::conflicted", said="cannot create already existing resource '/subscriptions/x'"),
        *event("changed", op="update"),
        '{"diagnosticEvent": {"urn": "tor',
    ]
    found = repair.lost_creates(events)
    assert [each["urn"] for each in found] == ["died", "put", "creating", "busy", "urn::conflicted"]
    assert found[0] == {"urn": "died", "type": "t", "custom": True, "parent": "p", "provider": "r", "inputs": {"a": 1}}


def test_a_lost_create_has_no_secret_as_no_state_can_have_what_events_have_of_it() -> None:
    secret = {"4dabf18193072939515e22adb298388d": repair.SECRET, "ciphertext": "[secret]"}
    inputs = {
        "size": "a",
        "osProfile": {"user": "u", "adminPassword": secret},
        "list": [{"key": secret, "name": "n"}],
        "all": secret,
    }
    text = json.dumps(inputs)
    [found] = repair.lost_creates([line.replace('{"a": 1}', text) for line in event("died")])
    assert found["inputs"] == {"size": "a", "osProfile": {"user": "u"}, "list": [{"name": "n"}]}


def test_what_another_up_continues_is_known_by_events_and_state() -> None:
    pool, refused = "urn:azure-native:batch:Pool::train", 'Code="PropertyCannotBeUpdated"'
    assert repair.refused_pools(['{"dia', *event(pool, op="update", said=refused), *event("other", said=refused)]) == [pool]
    assert repair.refused_pools(event(pool, op="update", said="Status=409")) == []

    def made(*why: str) -> dict[str, Any]:
        return {"urn": "urn::ml", "initErrors": list(why)}

    assert repair.half_made({"resources": [made("The identity lacks permission"), made("quota"), {"urn": "urn::ok"}]}) == ["ml"]


def test_a_create_that_was_lost_is_pending_in_the_deployment() -> None:
    pending_before = [{"type": "creating", "resource": {"urn": "one", "type": "t"}}]
    deployment = repair.with_pending({"pending_operations": pending_before}, repair.lost_creates(event("two")))
    assert [each.urn for each in repair.pending_creates(deployment)] == ["one", "two"]
