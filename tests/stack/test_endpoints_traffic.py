"""Traffic as declared state, on the real engine: an endpoint with two deployments, one up, shares, promoting, taking one out.

One stack for all; each test says what it wants to be declared. Its servers are real, and their program is a few lines long.
"""

import json
import threading
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from azure_gpu.ml.endpoint.traffic import DRIFT_PATH
from tests.support.embedded import ServedAzure, until
from tests.support.light_endpoint import DEPLOYMENT, Endpoint, foundation, serving, uploaded
from tests.support.stack import ProgramStack, Step, changes_of

pytestmark = pytest.mark.slow
TWO: dict[str, dict[str, Any]] = {"blue": {}, "green": {}}
SHARED = {"blue": 90, "green": 10}
TEMPLATE = "azure-native:resources:Deployment"
_BETWEEN_SECONDS = 0.02  # between two requests, so that the engine, whose update they accompany, gets its share of the machine


class Served:
    """The stack, and what is declared in it now."""

    def __init__(self, azure: ServedAzure, engine_bin: Path) -> None:
        self.stack = ProgramStack(azure, "traffic", foundation(), engine_bin=engine_bin)
        self.stack.create()
        self.up()
        self._uri = uploaded(azure, self.stack.outputs()["storage"])
        self.become(TWO, traffic=SHARED)
        self.endpoint = Endpoint(self.stack)

    def up(self) -> str:
        return self.stack.update()

    def say(self, deployments: dict[str, dict[str, Any]], **endpoint: Any) -> None:
        self.stack.configure(serving(self._uri, deployments, **endpoint))

    def become(self, deployments: dict[str, dict[str, Any]], **endpoint: Any) -> None:
        """Nothing is updated where the last update has brought this about."""
        self.stack.become(serving(self._uri, deployments, **endpoint))

    def state_of(self, name: str) -> dict[str, Any]:
        """A resource of the state, by its logical name."""
        [found] = [each for each in self.stack.exported()["resources"] if each["urn"].split("::")[-1] == name]
        return found

    def planned(self) -> list[dict[str, Any]]:
        """The steps of a preview that do something, with all that they change."""
        done = self.stack.pulumi("preview", "--json")
        assert done.returncode == 0, done.stdout + done.stderr
        return [step for step in json.loads(done.stdout)["steps"] if step["op"] not in ("same", "read")]


@pytest.fixture(scope="module")
def served(azure: ServedAzure, engine_bin: Path) -> Iterator[Served]:
    made = Served(azure, engine_bin)
    yield made
    made.stack.end()


def test_what_somebody_changed_by_hand_is_shown_and_repaired_by_each_next_up(served: Served) -> None:
    served.become(TWO, traffic=SHARED)
    declared = served.endpoint.shown()
    by_hand = {
        "properties": {
            "traffic": {"blue": 50, "green": 50},
            "authMode": "AMLToken",
            "publicNetworkAccess": "Disabled",
        },
        "tags": {"stack": "another"},
    }
    for refreshed in (False, True):  # the same once more is another drift
        served.endpoint.change(by_hand)
        if refreshed:
            assert served.stack.pulumi("refresh", "--yes", "--skip-preview").returncode == 0
        [step] = served.planned()
        assert (step["op"], step["urn"].split("::")[-1]) == ("update", "colours-traffic")
        assert set(step["detailedDiff"]) == {DRIFT_PATH}
        said = step["newState"]["inputs"]["properties"]["template"]["metadata"]["drift"]
        assert said.startswith(
            "traffic is blue 50, green 50; authMode is AMLToken; publicNetworkAccess is Disabled; tag stack is another (since "
        )
        served.up()
        repaired = served.endpoint.shown()
        assert (repaired["tags"], repaired["identity"]) == (declared["tags"], declared["identity"])
        assert repaired["properties"] == declared["properties"]
    # A refresh is clean but for the first after a change of traffic.
    assert served.stack.pulumi("refresh", "--yes", "--skip-preview").returncode == 0
    clean = served.stack.pulumi("refresh", "--yes", "--skip-preview", "--expect-no-changes")
    assert clean.returncode == 0, clean.stdout + clean.stderr
    assert served.stack.steps() == []


def test_the_template_can_be_sent_again_and_other_targets_leave_the_endpoint_s_state_alone(served: Served) -> None:
    served.become(TWO, traffic=SHARED)
    served.endpoint.change({"properties": {"traffic": {"green": 100}}})
    before = served.state_of("colours-endpoint")
    urn = served.state_of("foundation-resource-group")["urn"]
    done = served.stack.pulumi("up", "--yes", "--skip-preview", "--target", urn)
    assert done.returncode == 0, done.stdout + done.stderr
    assert served.state_of("colours-endpoint") == before
    assert served.endpoint.shown()["properties"]["traffic"] == {"green": 100}
    done = served.stack.pulumi("up", "--yes", "--skip-preview", "--replace", served.state_of("colours-traffic")["urn"])
    assert done.returncode == 0, done.stdout + done.stderr
    assert served.endpoint.shown()["properties"]["traffic"] == SHARED


def test_promoting_changing_taking_one_out_and_bringing_it_back_lose_no_request(served: Served) -> None:
    served.become(TWO, traffic=SHARED)
    served.say(TWO, traffic={"green": 100})
    [step] = served.planned()  # promoting is two numbers
    assert (step["op"], step["urn"].split("::")[-2].split("$")[-1]) == ("update", TEMPLATE)
    place = "properties.template.resources[0].properties.traffic"
    assert set(step["detailedDiff"]) == {f"{place}.blue", f"{place}.green", DRIFT_PATH}
    with Load(served.endpoint) as load:
        served.up()
        assert served.endpoint.colours(50) == Counter(green=50)

        # A change of the endpoint keeps its traffic.
        changed = {"tags": {"cost": "42"}, "description": "[colours]"}
        served.become(TWO, traffic={"green": 100}, **changed)
        shown = served.endpoint.shown()
        assert shown["properties"]["traffic"] == {"blue": 0, "green": 100}
        assert (shown["tags"]["cost"], shown["properties"]["description"]) == ("42", "[colours]")
        assert served.stack.steps() == []

        # A deployment is deleted after its traffic has gone to others, and comes before it gets any.
        served.say({"blue": {}}, traffic={"blue": 100}, **changed)
        said = served.up()
        assert changes_of(said) == [
            Step("update", TEMPLATE, "colours-traffic"),
            Step("delete", "azure-native:machinelearningservices:OnlineDeployment", "colours-deployment-green"),
        ]
        assert said.index("colours-traffic updat") < said.index("colours-deployment-green delet")
        assert served.endpoint.deployments() == ["blue"]
        served.say(TWO, traffic=SHARED, **changed)
        said = served.up()
        assert said.index("colours-deployment-green creat") < said.index("colours-traffic updat")
        assert served.endpoint.deployments() == ["blue", "green"]
    assert load.asked > 100
    assert load.lost == []


def test_mirroring_and_shares_are_what_is_declared(served: Served) -> None:
    served.become(TWO, traffic={"blue": 100}, mirror={"green": 50})
    before = served.endpoint.requests_of("green")
    assert served.endpoint.colours(100) == Counter(blue=100)
    mirrored = until(lambda: found if (found := served.endpoint.requests_of("green") - before) >= 30 else 0, "copies arrive")
    assert mirrored <= 70
    served.become(TWO, traffic=SHARED)
    assert not served.endpoint.shown()["properties"].get("mirrorTraffic")
    # How exactly shares are kept is in tests/localazure/ml/test_online_router.py.
    assert 0 < served.endpoint.colours(100)["green"] < 20
    with served.endpoint.client() as client:
        assert served.endpoint.ask(client, **{DEPLOYMENT: "green"}).json()["colour"] == "green"


def test_the_endpoint_itself_can_be_made_anew_after_a_refresh(served: Served) -> None:
    """It goes with its deployments before it comes back under the same name, with the traffic that is declared."""
    served.become(TWO, traffic=SHARED)
    served.endpoint.change({"properties": {"traffic": {"green": 100}}})
    assert served.stack.pulumi("refresh", "--yes", "--skip-preview").returncode == 0
    before = served.endpoint.shown()["systemData"]["createdAt"]
    with_deployments = ("--replace", "**::colours-endpoint", "--replace", "**::colours-deployment-*")
    done = served.stack.pulumi("up", "--yes", "--skip-preview", *with_deployments)
    assert done.returncode == 0, done.stdout + done.stderr
    shown = served.endpoint.shown()
    assert shown["systemData"]["createdAt"] > before
    assert shown["properties"]["traffic"] == SHARED
    assert served.stack.steps() == []
    served.endpoint = Endpoint(served.stack)
    assert sum(served.endpoint.colours(20).values()) == 20


class Load:
    """Requests one after another for as long as a block runs. `lost` holds what wasn't answered as it should have been."""

    def __init__(self, endpoint: Endpoint) -> None:
        self._endpoint = endpoint
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._run)
        self.asked = 0
        self.lost: list[str] = []

    def __enter__(self) -> "Load":
        self._thread.start()
        until(lambda: self.asked > 10, "the load is there")
        return self

    def __exit__(self, *_: object) -> None:
        self._ended.set()
        self._thread.join()

    def _run(self) -> None:
        with self._endpoint.client() as client:
            while not self._ended.is_set():
                answer = self._endpoint.ask(client)
                self.asked += 1
                self._ended.wait(_BETWEEN_SECONDS)
                if answer.status_code != 200:
                    self.lost.append(f"{answer.status_code} {answer.text}")
