"""Container groups over a kill and a stop of the embedded Azure."""

import pytest

from localazure.process import start_time
from tests.localazure.conftest import new_group
from tests.localazure.containers.conftest import new_registry
from tests.localazure.containers.sdk import GROUP, Groups, group_state
from tests.support.embedded import ServedAzure, until


@pytest.fixture
def groups(own_running_azure: ServedAzure) -> Groups:
    return Groups(own_running_azure, new_registry(own_running_azure), new_group(own_running_azure))


def test_containers_outlive_a_killed_server_and_end_with_a_stopped_one(own_running_azure: ServedAzure, groups: Groups) -> None:
    body = groups.body(groups.container("pid", "wait"), restartPolicy="Always")
    groups.create("one", body)
    pid = groups.pid("one")
    cut_off = [f"g{number}" for number in range(5)]
    answers = [own_running_azure.put(groups.path(name), body, GROUP) for name in cut_off]
    assert {answer.status_code for answer in answers} == {201}
    own_running_azure.kill9()
    assert start_time(pid) != ""
    own_running_azure.start()
    assert group_state(groups.show("one")) == "Running"
    assert groups.logs("one").count("pid ") == 1
    assert groups.pid("one") == pid
    created = ""
    for name in cut_off:  # each is created once
        until(lambda name=name: groups.show(name)["properties"]["provisioningState"] == "Succeeded", f"{name} is there")
        created = groups.pid(name)
        assert groups.logs(name).count("pid ") == 1
    assert own_running_azure.delete(groups.path(name), GROUP).status_code == 200
    assert start_time(created) == ""
    own_running_azure.stop()
    assert start_time(pid) == ""
    own_running_azure.start()
    until(lambda: group_state(groups.show("one")) == "Running", "the container runs again")
    assert groups.pid("one") != pid
