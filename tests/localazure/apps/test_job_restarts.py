"""Executions over the end of the server: killed, it finds what went on without it; stopped, it begins anew what it ended."""

import os
import signal

import pytest

from tests.localazure.apps.sdk import Apps, containers, lines, new_apps
from tests.localazure.containers.conftest import new_registry
from tests.support.embedded import ServedAzure, until


@pytest.fixture
def own(own_running_azure: ServedAzure) -> Apps:
    return new_apps(own_running_azure, new_registry(own_running_azure))


def server(apps: Apps) -> ServedAzure:
    assert isinstance(apps.azure, ServedAzure)
    return apps.azure


def pid(apps: Apps, job: str, execution: str) -> str:
    """What the replica's program has written: a replica runs a moment before its program has."""
    replica = apps.running_replica(job, execution)
    stream = replica["containers"][0]["logStreamEndpoint"]
    (line,) = until(lambda: lines(apps.log(job, stream).text), "the program has written its line")
    return line


def test_executions_over_a_kill_and_a_stop_of_the_server(own: Apps) -> None:
    for job in ("goes-on", "ends"):
        own.create(job, own.body("pid", "wait"))
    execution, ending = own.start("goes-on"), own.start("ends")
    before, process = pid(own, "goes-on", execution), int(pid(own, "ends", ending).split()[1])
    server(own).kill9()
    os.kill(process, signal.SIGKILL)
    server(own).start()
    ended = own.ended("ends", ending)
    assert (ended["status"], [one["code"] for one in containers(ended)]) == ("Failed", [137])
    assert pid(own, "goes-on", execution) == before
    assert own.execution("goes-on", execution)["status"] == "Running"
    own.azure.restart()
    assert pid(own, "goes-on", execution) != before
    found = own.execution("goes-on", execution)
    assert found["status"] == "Running"
    assert len(containers(found)) == 2  # the one that went with the server doesn't count as a failure
    own.azure.post(f"{own.job_path('goes-on')}/stop", "2025-01-01").raise_for_status()
    assert own.execution("goes-on", execution)["status"] == "Stopped"
