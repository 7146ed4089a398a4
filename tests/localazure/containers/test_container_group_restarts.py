"""Container groups over a kill and a stop of the embedded Azure."""

import uuid
from collections.abc import Iterator

import pytest

from localazure.process import start_time
from tests.localazure.conftest import new_group
from tests.localazure.containers.conftest import write_workload
from tests.localazure.containers.sdk import (
    GROUP,
    Registry,
    container,
    create,
    group_body,
    group_path,
    group_state,
    logs,
    show,
    wait_for_pid,
)
from tests.support.embedded import ServedAzure, until

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def own(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServedAzure]:
    """A server that tests stop and kill; each starts it again."""
    checkout = tmp_path_factory.mktemp("own-checkout")
    write_workload(checkout / "workloads" / "hello")
    server = ServedAzure(tmp_path_factory.mktemp("own"), checkout=checkout)
    yield server
    server.stop()


def test_a_killed_server_takes_its_containers_up_again(own: ServedAzure) -> None:
    group = new_group(own)
    registry = Registry(own, group, f"reg{uuid.uuid4().hex[:10]}")
    registry.build("hello", "hello:1")
    registry.allow_pull()
    image = f"{registry.server}/hello:1"
    create(own, group, "one", group_body(registry, container(image, "pid", "wait"), restartPolicy="Always"))
    pid = wait_for_pid(own, group, "one")
    own.kill9()
    assert start_time(pid) != ""
    own.start()
    assert group_state(show(own, group, "one")) == "Running"
    assert logs(own, group, "one").count("pid ") == 1
    assert wait_for_pid(own, group, "one") == pid
    assert own.delete(group_path(group, "one"), GROUP).status_code == 200
    assert start_time(pid) == ""


def test_a_creation_that_a_kill_cut_off_is_completed_once(own: ServedAzure) -> None:
    group = new_group(own)
    registry = Registry(own, group, f"reg{uuid.uuid4().hex[:10]}")
    registry.build("hello", "hello:1")
    registry.allow_pull()
    bodies = group_body(registry, container(f"{registry.server}/hello:1", "pid", "wait"))
    answers = [own.put(group_path(group, f"g{number}"), bodies, GROUP) for number in range(5)]
    assert {answer.status_code for answer in answers} == {201}
    own.kill9()
    own.start()
    for number in range(5):
        name = f"g{number}"
        until(lambda name=name: show(own, group, name)["properties"]["provisioningState"] == "Succeeded", f"{name} is there")
        wait_for_pid(own, group, name)
        assert logs(own, group, name).count("pid ") == 1


def test_a_stopped_server_leaves_no_process(own: ServedAzure) -> None:
    group = new_group(own)
    registry = Registry(own, group, f"reg{uuid.uuid4().hex[:10]}")
    registry.build("hello", "hello:1")
    registry.allow_pull()
    body = group_body(registry, container(f"{registry.server}/hello:1", "pid", "wait"), restartPolicy="Always")
    create(own, group, "one", body)
    pid = wait_for_pid(own, group, "one")
    own.stop()
    assert start_time(pid) == ""
    own.start()
    until(lambda: group_state(show(own, group, "one")) == "Running", "the container runs again")
    assert wait_for_pid(own, group, "one") != pid
