"""Executions over the end of the server: killed, it finds what went on without it; stopped, it begins anew what it ended."""

import os
import signal
from collections.abc import Iterator

import pytest

from tests.localazure.apps.sdk import Apps, containers, lines
from tests.localazure.conftest import new_group
from tests.localazure.containers.conftest import write_workload
from tests.localazure.containers.sdk import Registry
from tests.support.embedded import ServedAzure, until

pytestmark = pytest.mark.slow


@pytest.fixture
def own(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Apps]:
    """Jobs on a server that the test may end."""
    checkout = tmp_path_factory.mktemp("checkout")
    write_workload(checkout / "workloads" / "hello")
    server = ServedAzure(tmp_path_factory.mktemp("own"), checkout=checkout)
    registry = Registry(server, new_group(server), "restarted")
    assert registry.build("hello", "hello:1")["status"] == "Succeeded"
    registry.allow_pull()
    made = Apps(server, registry.group, "env", registry, f"{registry.server}/hello:1")
    made.create_environment()
    yield made
    server.stop()


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
