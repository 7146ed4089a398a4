"""What Microsoft.Compute, Microsoft.Network and Microsoft.DevTestLab refuse, in their own codes and words, and what they show."""

import base64
import re
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from localazure.machines import cloud_init, paths, schedules
from tests.localazure.conftest import new_group
from tests.support import ml_resources as ml
from tests.support.embedded import ServedAzure
from tests.support.in_process import InProcessAzure
from tests.support.machines import COMPUTE, NETWORK, PLAIN, REGION, SCHEDULES, Network, TestMachine


@pytest.fixture(scope="module")
def network(azure: InProcessAzure) -> Network:
    return Network(azure, new_group(azure))


@pytest.fixture(scope="module")
def interface(network: Network) -> str:
    """Of machines that are never made."""
    return network.interface()


@pytest.fixture(scope="module")
def machine(network: Network) -> TestMachine:
    return network.machine(image=PLAIN, custom_data="#!/bin/sh\ntrue\n")


def refused(network: Network, body: dict[str, Any], name: str = "") -> tuple[int, str, str]:
    return ml.refused(network.try_machine(body, name))


def test_an_interface_stays_reserved_for_a_machine_that_found_no_capacity(
    azure: InProcessAzure, network: Network, interface: str
) -> None:
    body = network.machine_body(interface=interface, size="Standard_NC8as_T4_v3") | {"location": REGION}
    path = f"{network.group}/providers/Microsoft.Compute/virtualMachines/reserved"
    try:
        azure.fault("weather", name="reserved-interfaces", seconds=60)
        azure.fault("capacity", location=REGION)
        assert azure.finished(network.try_machine(body, "reserved"))["error"]["code"] == "AllocationFailed"
        azure.finished(azure.delete(path, COMPUTE))
        status, code, message = ml.refused(azure.delete(interface, "2024-05-01"))
        assert (status, code) == (400, "NicReservedForAnotherVm")
        assert message.endswith(f"retry after 180 seconds. Reserved VM: {path}")
    finally:
        azure.clear_faults()


def test_quota_restriction_and_capacity_have_azures_codes(azure: InProcessAzure, network: Network, interface: str) -> None:
    body = network.machine_body(interface=interface, size="Standard_NC8as_T4_v3")
    body["location"] = REGION
    try:
        azure.fault("quota", service="compute", location=REGION, name="Standard NCASv3_T4 Family", limit=0)
        found = refused(network, body)
        assert found[:2] == (409, "OperationNotAllowed")
        # nforgeio/neonKUBE issue 1671, of a family
        wanted = (
            r"results in exceeding approved Standard NCASv3_T4 Family Cores quota\. .*Current Limit: 0, .*Additional Required: 8,"
        )
        assert re.search(wanted, found[2]), found[2]
        azure.clear_faults()
        azure.fault("restrict", name="Standard_NC8as_T4_v3", location=REGION)
        assert refused(network, body)[:2] == (409, "SkuNotAvailable")
        azure.clear_faults()
        azure.fault("capacity", location=REGION)
        begun = network.try_machine(body, "nowhere")
        assert begun.status_code == 201
        error = azure.finished(begun)["error"]
        assert error["code"] == "AllocationFailed"
        assert "We do not have sufficient capacity for the requested VM size in this region." in error["message"]
    finally:
        azure.clear_faults()
    again = network.try_machine(body, "nowhere")  # it is there, failed, and can be made again
    ended = azure.finished(again)
    assert ended["status"] == "Succeeded", ended["error"]
    made = azure.get(f"{network.group}/providers/Microsoft.Compute/virtualMachines/nowhere", COMPUTE).json()["properties"]
    assert made["vmId"]
    assert azure.get(made["storageProfile"]["osDisk"]["managedDisk"]["id"], "2024-03-02").status_code == 200
    azure.finished(azure.delete(f"{network.group}/providers/Microsoft.Compute/virtualMachines/nowhere", COMPUTE))


def test_a_put_of_what_get_answers_changes_nothing(machine: TestMachine) -> None:
    azure = machine.azure
    body = azure.get(machine.id, COMPUTE).json()
    assert azure.finished(azure.put(machine.id, body, COMPUTE))["status"] == "Succeeded"
    body["properties"]["hardwareProfile"]["vmSize"] = "Standard_NC8as_T4_v3"
    assert azure.finished(azure.put(machine.id, body, COMPUTE))["status"] == "Succeeded"
    silent = {name: body[name] for name in ("location", "identity", "properties") if name in body}
    del silent["properties"]["osProfile"], silent["properties"]["storageProfile"]["osDisk"]
    before = azure.get(machine.id, COMPUTE).json()["properties"]
    assert azure.finished(azure.put(machine.id, silent, COMPUTE))["status"] == "Succeeded"
    after = azure.get(machine.id, COMPUTE).json()["properties"]
    assert after["hardwareProfile"]["vmSize"] == "Standard_NC8as_T4_v3"
    same = ("osProfile", "storageProfile")
    assert [after[name] for name in same] == [before[name] for name in same], "what isn't said stays"
    body["properties"]["storageProfile"]["dataDisks"] = [{"lun": 0, "createOption": "Empty", "diskSizeGB": 4}]
    assert ml.refused(azure.put(machine.id, body, COMPUTE))[0] == 501


@pytest.mark.slow
def test_another_size_starts_a_machine_anew(served_azure: ServedAzure) -> None:
    machine = Network(served_azure, new_group(served_azure)).machine(image=PLAIN, custom_data="#!/bin/sh\ntrue\n")
    machine.run("echo 1 > /opt/here; cloud-init status --wait")
    boot = machine.out("cat /proc/self/stat | cut -d' ' -f4")
    body = served_azure.get(machine.id, COMPUTE).json()
    body["properties"]["hardwareProfile"]["vmSize"] = "Standard_NC8as_T4_v3"
    assert served_azure.finished(served_azure.put(machine.id, body, COMPUTE))["status"] == "Succeeded"
    assert machine.out("cat /opt/here") == "1\n"
    assert machine.out("cat /proc/self/stat | cut -d' ' -f4") != boot, "another process runs its commands"


def test_an_interface_has_one_machine_and_an_address(network: Network, machine: TestMachine) -> None:
    azure = network.azure
    used = azure.get(machine.id, COMPUTE).json()["properties"]["networkProfile"]["networkInterfaces"][0]["id"]
    shown = azure.get(used, NETWORK).json()["properties"]
    assert shown["virtualMachine"]["id"] == machine.id
    assert shown["ipConfigurations"][0]["properties"]["privateIPAddress"].startswith("10.1.0.")
    assert refused(network, network.machine_body(interface=used))[:2] == (409, "OperationNotAllowed")


def test_a_schedule_deallocates_its_machine(network: Network, machine: TestMachine) -> None:
    azure = network.azure
    path = f"{network.group}/providers/Microsoft.DevTestLab/schedules/shutdown-computevm-{machine.name}"
    properties = {
        "status": "Enabled",
        "taskType": "ComputeVmShutdownTask",
        "dailyRecurrence": {"time": "1900"},
        "timeZoneId": "W. Europe Standard Time",
        "targetResourceId": machine.id,
    }
    ml.done(azure, azure.put(path, {"location": REGION, "properties": properties}, SCHEDULES))
    assert azure.finished(azure.post(f"{path}/execute", SCHEDULES))["status"] == "Succeeded"
    assert machine.power == "deallocated"


def test_a_time_of_day_is_that_of_its_zone() -> None:
    times = {
        datetime(2026, 11, 22, 18, 0, 10, tzinfo=UTC): True,  # 19:00 in Berlin in winter
        datetime(2026, 11, 22, 17, 59, tzinfo=UTC): False,
        datetime(2026, 7, 1, 17, 0, 5, tzinfo=UTC): True,  # and in summer
        datetime(2026, 7, 1, 18, 0, 5, tzinfo=UTC): False,
    }
    zone, minute = "W. Europe Standard Time", timedelta(minutes=1)
    assert {now: schedules.due("1900", zone, now - minute, now) for now in times} == times


def test_cloud_init_tells_what_it_doesnt_do() -> None:
    def plan(text: str) -> cloud_init.Plan:
        return cloud_init.plan(base64.b64encode(text.encode()).decode())

    found = plan("#cloud-config\nruncmd: [echo 2]\nntp: {}\n")
    assert [script.splitlines()[-1] for script in found.scripts] == ["echo 2"]
    assert found.notes == ["the embedded Azure doesn't act out the module of 'ntp'"]
    (error,) = plan('Content-Type: multipart/mixed; boundary="b"\nMIME-Version: 1.0\n').errors
    assert error.startswith("the embedded Azure doesn't act out customData that begins with 'Content-Type")
    assert plan("#cloud-config\n- a\n- b: [").errors[0].startswith("the cloud-config can't be read: line 3: this is not YAML")


def test_paths_of_a_machine_are_led_into_its_folder_and_others_are_left(tmp_path: Any) -> None:
    root = tmp_path / "root"
    text = "cat /var/log/x https://host/var/y /usr/bin/z $HOME/opt/a file:/mnt/b '/opt/it''s' /etc/own.conf /etc/other"
    led = paths.led(text, root, ["/etc/own.conf"])
    assert led == (
        f"cat {root}/var/log/x https://host/var/y /usr/bin/z $HOME/opt/a file:{root}/mnt/b '{root}/opt/it''s' "
        f"{root}/etc/own.conf /etc/other"
    )
    assert paths.led(led, root, ["/etc/own.conf"]) == led
    assert paths.inside("/../../etc/passwd", root) == root / "etc/passwd"
