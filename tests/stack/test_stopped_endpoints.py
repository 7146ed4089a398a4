"""Stopping and starting an endpoint, on the real engine and the embedded Azure: its address and keys stay, its machines don't."""

from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from azure_gpu.formats.tags import STOPPED_SINCE
from tests.support.embedded import ServedAzure
from tests.support.light_endpoint import Endpoint, foundation, serving, uploaded
from tests.support.stack import ProgramStack, Step

pytestmark = [pytest.mark.slow, pytest.mark.timeout(900)]
TWO: dict[str, dict[str, Any]] = {"blue": {}, "green": {}}
SHARED = {"blue": 90, "green": 10}
API = "2025-12-01"
AT_REST = "at rest"
OF_THE_REST = [Step("update", "azure-native:operationalinsights:Workspace", "foundation-logs")]


class Served:
    """A stack with an endpoint of two deployments."""

    def __init__(self, azure: ServedAzure, engine_bin: Path) -> None:
        self.stack = ProgramStack(azure, "resting", foundation(), engine_bin=engine_bin)
        self.stack.become(foundation())
        self.uri = uploaded(azure, self.stack.outputs()["storage"])
        self.stack.become(self.says())
        self.endpoint = Endpoint(self.stack)

    def says(self, **endpoint: Any) -> dict[str, Any]:
        return serving(self.uri, TWO, **{"traffic": SHARED, **endpoint})

    def says_more(self, **endpoint: Any) -> dict[str, Any]:
        """With a change of something else."""
        said = self.says(**endpoint)
        said["foundation"]["log_workspace"] = {"create": True, "overrides": {"retentionInDays": 60}}
        return said

    def key(self) -> str:
        return self.endpoint.azure.post(f"{self.endpoint.id}/listKeys", API).json()["primaryKey"]


@pytest.fixture(scope="module")
def served(azure: ServedAzure, engine_bin: Path) -> Iterator[Served]:
    made = Served(azure, engine_bin)
    yield made
    if made.stack.name in made.stack.names():  # the last test ends it
        made.stack.end()


def test_a_stopped_endpoint_keeps_address_and_key_stays_stopped_and_comes_back_as_it_was(served: Served) -> None:
    stack, endpoint = served.stack, served.endpoint
    key, address = served.key(), endpoint.shown()["properties"]["scoringUri"]

    # Only the endpoint stops, whatever else the file has changed; with a part that isn't there yet it would come up.
    stack.configure({**served.says(), "jobs": {"night": {"expires_after": "2026-12-31"}}})
    done = stack.operations("stop", "colours")
    assert done.returncode == 2, done.stdout + done.stderr
    assert "error: the stack file has resources that aren't deployed yet: " in done.stderr
    assert "night-job" in done.stderr
    assert endpoint.deployments() == ["blue", "green"]

    stack.configure(served.says_more())
    done = stack.operations("stop", "colours")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "stopping colours: blue, green; its address and keys stay" in done.stdout
    shown = endpoint.shown()
    assert (endpoint.deployments(), shown["properties"]["traffic"]) == ([], {})
    assert (served.key(), shown["properties"]["scoringUri"]) == (key, address)
    since = shown["tags"][STOPPED_SINCE]
    with endpoint.client() as client:
        assert endpoint.ask(client).status_code == 404
    assert stack.outputs()["idle_cost"]["colours"] == 0
    kinds = [each["type"] for each in stack.exported()["resources"]]
    assert "azure-native:machinelearningservices:OnlineDeployment" not in kinds
    assert stack.steps() == OF_THE_REST

    again = stack.operations("stop", "colours")
    assert (again.returncode, again.stdout) == (0, f"colours is already stopped, since {since}\n"), again.stderr

    drift = stack.operations("drift")
    assert drift.returncode == 0, drift.stdout + drift.stderr
    assert f": stopped since {since}, until `python -m operations start`" in drift.stdout

    promoted = stack.operations("promote", "colours", "green")
    assert promoted.returncode == 2
    assert (
        f"colours has been stopped since {since}; start it first: python -m operations start colours --stack " in promoted.stderr
    )

    explained = stack.operations("explain", "colours")
    assert f"it has been stopped since {since}" in explained.stdout, explained.stdout + explained.stderr

    # An `up` with another change, refreshed before or not, brings that change and starts nothing.
    stack.configure(served.says(description=AT_REST))
    assert stack.pulumi("refresh", "--yes", "--skip-preview").returncode == 0
    assert stack.steps() == [Step("update", "azure-native:resources:Deployment", "colours-traffic")]
    said = stack.update()
    assert f"ml_endpoints.colours: stopped since {since}: its address and keys are kept" in said
    assert endpoint.deployments() == []
    assert endpoint.shown()["properties"]["description"] == AT_REST

    stack.configure(served.says_more(description=AT_REST, traffic={"green": 100}))
    done = stack.operations("start", "colours")
    assert done.returncode == 0, done.stdout + done.stderr
    shown = endpoint.shown()
    assert (endpoint.deployments(), shown["properties"]["traffic"]) == (["blue", "green"], {"blue": 0, "green": 100})
    assert (served.key(), shown["properties"]["scoringUri"]) == (key, address)
    assert STOPPED_SINCE not in shown["tags"]
    assert endpoint.colours(10) == Counter(green=10)
    assert stack.steps() == OF_THE_REST

    again = stack.operations("start", "colours")
    assert (again.returncode, again.stdout) == (0, "colours isn't stopped; it has blue, green\n"), again.stderr


def test_after_its_last_day_an_endpoint_is_neither_stopped_nor_started(served: Served) -> None:
    stack = served.stack
    ends = {"description": AT_REST, "traffic": {"green": 100}, "expires_after": "2026-11-30"}
    stack.become(served.says(**ends))
    stack.configure({**served.says(**ends), "as_of": "2026-12-05"})
    done = stack.operations("stop", "colours")
    assert done.returncode == 2, done.stdout + done.stderr
    assert done.stderr.startswith(
        "error: colours has expired, and an expired endpoint isn't changed; fix: set a later `expires_after`"
    )
    assert served.endpoint.deployments() == ["blue", "green"]
    done = stack.operations("end", "--past", "--as-of", "2026-12-05", "--yes")
    assert done.returncode == 0, done.stdout + done.stderr
    assert served.endpoint.azure.get(served.endpoint.id, API).status_code == 404
    assert stack.name not in stack.names()  # its only part was past, and with protect_data: false it is short-lived
