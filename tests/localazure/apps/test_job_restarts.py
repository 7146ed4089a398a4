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


def test_a_replica_goes_on_while_the_server_is_killed_and_started_again(own: Apps) -> None:
    own.create("goes-on", own.body("pid", "wait"))
    execution = own.start("goes-on")
    before = pid(own, "goes-on", execution)
    server(own).kill9()
    server(own).start()
    assert pid(own, "goes-on", execution) == before
    assert own.execution("goes-on", execution)["status"] == "Running"
    own.azure.post(f"{own.job_path('goes-on')}/stop", "2025-01-01").raise_for_status()
    assert own.execution("goes-on", execution)["status"] == "Stopped"


def test_a_replica_that_went_with_the_server_is_replaced_and_doesnt_count_as_a_failure(own: Apps) -> None:
    own.create("begins-anew", own.body("pid", "wait"))
    execution = own.start("begins-anew")
    before = pid(own, "begins-anew", execution)
    own.azure.restart()
    assert pid(own, "begins-anew", execution) != before
    found = own.execution("begins-anew", execution)
    assert found["status"] == "Running"
    assert len(containers(found)) == 2


def test_what_ended_while_no_server_ran_has_ended(own: Apps) -> None:
    own.create("ends", own.body("pid", "wait"))
    execution = own.start("ends")
    process = int(pid(own, "ends", execution).split()[1])
    server(own).kill9()
    os.kill(process, signal.SIGKILL)
    server(own).start()
    ended = own.ended("ends", execution)
    assert (ended["status"], [one["code"] for one in containers(ended)]) == ("Failed", [137])
