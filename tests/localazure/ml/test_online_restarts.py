"""Deployments over the end of the server: killed, they go on and are found again; stopped, nothing of them is left running."""

import json
from pathlib import Path

import pytest

from localazure.process import start_time
from tests.localazure.conftest import new_group
from tests.localazure.ml.online_world import World
from tests.support import ml_resources as ml
from tests.support.embedded import ServedAzure, until

pytestmark = pytest.mark.slow  # servers of the test's own


def processes(state: Path) -> dict[str, int]:
    """The process of each container that runs, by its folder."""
    found = {each: json.loads(each.read_text())["pid"] for each in (state / "ml-endpoints" / "containers").glob("*/*/state.json")}
    return {str(each.parent): pid for each, pid in found.items() if pid and start_time(pid)}


def test_deployments_outlive_a_killed_server_and_end_with_stop(own_served_azure: ServedAzure) -> None:
    world = World(own_served_azure, new_group(own_served_azure))
    world.let_read()
    one = world.endpoint()
    one.deploy("blue")
    one.share(blue=100)
    key = one.keys()["primaryKey"]

    def answer() -> int:
        with one.client(key) as client:
            last = until(lambda: (found := client.post(one.uri, json={})).status_code == 200 and found, "it answers")
        return int(last.json()["pid"])

    pid, ran = answer(), processes(own_served_azure.state)
    half = one.try_deploy("green")
    assert half.status_code == 201  # it is being created when the server is killed
    own_served_azure.kill9()
    assert ran.items() <= processes(own_served_azure.state).items()
    own_served_azure.start()
    assert answer() == pid  # the same process
    found = until(
        lambda: (
            (shown := own_served_azure.get(world.path(one.name, "green"), ml.ML).json())["properties"]["provisioningState"]
            not in ("Creating", "Updating")
            and shown
        ),
        "the creation goes on",
    )
    assert found["properties"]["provisioningState"] == "Succeeded"
    assert len(processes(own_served_azure.state)) == 2
    own_served_azure.stop()
    assert processes(own_served_azure.state) == {}
    own_served_azure.start()
    assert answer() != pid  # another one
    assert own_served_azure.finished(own_served_azure.delete(world.group, "2024-03-01"))["status"] == "Succeeded"
    assert processes(own_served_azure.state) == {}
    assert not list((own_served_azure.state / "ml-endpoints" / "containers").iterdir())
