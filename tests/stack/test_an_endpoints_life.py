"""An endpoint's life, on the real engine and the embedded Azure: as whom it serves, stopped and started, and past its last day.

One stack, whose tests follow each other. A stopped endpoint's address and keys stay, its machines don't.
"""

from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from azure_gpu.formats.tags import STOPPED_SINCE
from tests.support.embedded import ServedAzure
from tests.support.light_endpoint import Endpoint, foundation, serving, uploaded
from tests.support.stack import ProgramStack, Step, changes_of

pytestmark = pytest.mark.slow
TWO: dict[str, dict[str, Any]] = {"blue": {}, "green": {}}
SHARED = {"blue": 90, "green": 10}
API, LOGS = "2025-12-01", "2023-09-01"
AT_REST = "at rest"
LAST = {"expires_after": "2026-11-30"}


class Served:
    """A stack with an endpoint, whose identity serves and does nothing else at first."""

    def __init__(self, azure: ServedAzure, engine_bin: Path) -> None:
        self.stack = ProgramStack(azure, "living", self.separated(foundation()), engine_bin=engine_bin)
        self.stack.become(self.separated(foundation()))
        self.uri = uploaded(azure, self.stack.outputs()["storage"])
        self.stack.become(self.separated(serving(self.uri, {"blue": {}})))

    @staticmethod
    def separated(said: dict[str, Any]) -> dict[str, Any]:
        return {**said, "foundation": {**said["foundation"], "serving_identity": "create"}}

    @property
    def endpoint(self) -> Endpoint:
        """As it is now: another one after a replacement."""
        return Endpoint(self.stack)

    def says(self, **endpoint: Any) -> dict[str, Any]:
        """Two deployments, and one identity for all."""
        return serving(self.uri, TWO, **{"traffic": SHARED, **LAST, **endpoint})

    def says_more(self, **endpoint: Any) -> dict[str, Any]:
        """With a change of something else."""
        said = self.says(**endpoint)
        said["foundation"]["log_workspace"] = {"create": True, "overrides": {"retentionInDays": 60}}
        return said

    def key(self) -> str:
        return self.stack.azure.post(f"{self.endpoint.id}/listKeys", API).json()["primaryKey"]

    def identity(self, output: str) -> None:
        """Asserts that the endpoint serves as the identity of this output."""
        [found] = self.endpoint.shown()["identity"]["userAssignedIdentities"]
        assert found.lower() == self.stack.outputs()[output].lower()

    def days_of_logs(self) -> int:
        """In Azure, whatever the file says."""
        [workspace] = [
            each["id"]
            for each in self.stack.exported()["resources"]
            if each["type"] == "azure-native:operationalinsights:Workspace"
        ]
        return self.stack.azure.get(workspace, LOGS).json()["properties"]["retentionInDays"]


@pytest.fixture(scope="module")
def served(azure: ServedAzure, engine_bin: Path) -> Iterator[Served]:
    made = Served(azure, engine_bin)
    yield made
    if made.stack.name in made.stack.names():  # the last test ends it
        made.stack.end()


def test_it_serves_what_it_has_read_as_the_identity_that_serves(served: Served) -> None:
    served.identity("serving_identity")
    assert served.endpoint.colours(2) == {"blue": 2}


def test_it_moves_to_another_identity_only_where_that_is_allowed(served: Served) -> None:
    stack = served.stack
    stack.configure(served.says())
    refused = stack.operations("up")
    assert refused.returncode == 1, refused.stdout
    assert "  - ml_endpoints.colours: this up would replace the online endpoint " in refused.stderr
    assert "allowed: with --replace colours-endpoint; fix: undo this change, " in refused.stderr
    assert served.endpoint.colours(1) == {"blue": 1}
    allowed = stack.operations("up", "--replace", "colours-endpoint")
    assert allowed.returncode == 0, allowed.stdout + allowed.stderr
    served.identity("identity")
    assert served.endpoint.deployments() == ["blue", "green"]
    assert served.endpoint.colours(2).total() == 2
    assert stack.steps() == []


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
    assert served.days_of_logs() == 30

    again = stack.operations("stop", "colours")
    assert (again.returncode, again.stdout) == (0, f"colours is already stopped, since {since}\n"), again.stderr

    explained = stack.operations("explain", "colours")
    assert f"it has been stopped since {since}" in explained.stdout, explained.stdout + explained.stderr

    # An `up` with another change, refreshed before or not, brings that change and starts nothing.
    stack.configure(served.says(description=AT_REST))
    assert stack.pulumi("refresh", "--yes", "--skip-preview").returncode == 0
    said = stack.update()
    assert changes_of(said) == [Step("update", "azure-native:resources:Deployment", "colours-traffic")]
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
    assert served.days_of_logs() == 30
    assert stack.steps() == [Step("update", "azure-native:operationalinsights:Workspace", "foundation-logs")]

    again = stack.operations("start", "colours")
    assert (again.returncode, again.stdout) == (0, "colours isn't stopped; it has blue, green\n"), again.stderr


def test_after_its_last_day_an_endpoint_is_neither_stopped_nor_started(served: Served) -> None:
    stack, endpoint = served.stack, served.endpoint
    stack.configure({**served.says(description=AT_REST, traffic={"green": 100}), "as_of": "2026-12-05"})
    done = stack.operations("stop", "colours")
    assert done.returncode == 2, done.stdout + done.stderr
    assert done.stderr.startswith(
        "error: colours has expired, and an expired endpoint isn't changed; fix: set a later `expires_after`"
    )
    assert endpoint.deployments() == ["blue", "green"]
    done = stack.operations("end", "--past", "--as-of", "2026-12-05", "--yes")
    assert done.returncode == 0, done.stdout + done.stderr
    assert stack.azure.get(endpoint.id, API).status_code == 404
    assert stack.name not in stack.names()  # its only part was past, and with protect_data: false it is short-lived
