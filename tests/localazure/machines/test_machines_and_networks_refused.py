"""What a machine acts out of its size, its customData, its paths and its schedule; the rest: `conversations/machines.yaml`."""

import base64
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from localazure.machines import cloud_init, paths, schedules
from tests.localazure.conftest import new_group
from tests.support.embedded import ServedAzure
from tests.support.machines import COMPUTE, PLAIN, Network


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
