"""A build in a registry: as whom it runs, while it waits for an agent, and when it is given up."""

from types import SimpleNamespace
from typing import Any

import pytest

from azure_gpu.catalog import roles
from azure_gpu.shared import registry_build
from azure_gpu.shared.registry_build import BuildFailedError, Registry
from azure_gpu_operations.azure import AzureError

ID = "/subscriptions/s/resourceGroups/g/providers/Microsoft.ContainerRegistry/registries/r"
CONTEXT: Any = SimpleNamespace(repository="runs", tag="1", image="runs:1", described="./train.py", dockerfile="Dockerfile")
LONGER = "--build-timeout MINUTES sets a longer limit, of at most 480"


class Arm:
    """A registry whose run has one status after the other, a minute each; the last one stays."""

    errors = (AzureError,)

    def __init__(self, *statuses: str | BaseException, runs: Any = (), **registry: Any) -> None:
        self.statuses, self.runs, self.registry = list(statuses), list(runs), registry
        self.sent: list[tuple[str, Any]] = []
        self.refuses: Exception | None = None
        self.minutes = -1.0
        self.limits: list[float] = []

    def upload(self, _: str, __: bytes, seconds: float) -> None:
        self.limits.append(seconds)

    def values(self, *_: str) -> list[Any]:
        return self.runs

    def get(self, path: str, version: str) -> dict[str, Any]:
        if path == ID:
            assert version == "2025-04-01"
            return {"properties": self.registry}
        self.minutes += 1
        status = self.statuses.pop(0) if len(self.statuses) > 1 else self.statuses[0]
        if isinstance(status, BaseException):
            raise status
        return {"properties": {"status": status}}

    def post(self, path: str, version: str, body: Any = None) -> dict[str, Any]:
        if path.endswith("/scheduleRun"):
            self.sent.append((version, body.get("credentials")))
            return {"properties": {"runId": "one"}}
        if path.endswith("/runs/one/cancel"):
            self.sent.append(("cancel", self.refuses))
            if self.refuses:
                raise self.refuses
        return {"uploadUrl": "https://up", "relativePath": "here"} if "Upload" in path else {}


@pytest.fixture(autouse=True)
def nothing_is_packed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(registry_build, "archive", lambda _: b"")


def build(monkeypatch: pytest.MonkeyPatch, arm: Any, minutes: float = 60) -> list[str]:
    """What is said about it."""
    said: list[str] = []
    monkeypatch.setattr(registry_build.time, "monotonic", lambda: max(arm.minutes, 0) * 60)
    context: Any = SimpleNamespace(**{**vars(CONTEXT), "build_minutes": minutes})
    try:
        Registry(arm, ID, "r.azurecr.io", LONGER).build(context, said.append, sleep=lambda _: None)
    except (BuildFailedError, KeyboardInterrupt) as error:
        said.append(f"{type(error).__name__}: {error}")
    return said[1:]


def test_a_build_has_the_rights_of_who_asks_for_it_where_the_registry_wants_that(monkeypatch: pytest.MonkeyPatch) -> None:
    arm = Arm("Succeeded", **{roles.REGISTRY_MODE: roles.LEGACY})
    build(monkeypatch, arm)
    assert arm.sent == [("2019-06-01-preview", None)]
    arm = Arm("Failed", **{roles.REGISTRY_MODE: roles.ABAC})
    assert "you need the role Container Registry Repository Writer on it" in build(monkeypatch, arm)[-1]
    assert arm.sent == [("2025-03-01-preview", {"sourceRegistry": {"identity": "[caller]"}})]


def test_a_build_that_waits_for_an_agent_says_so_and_when_it_has_one(monkeypatch: pytest.MonkeyPatch) -> None:
    assert build(monkeypatch, Arm("Queued", "Queued", "Queued", "Running", "Succeeded")) == [
        "run one is queued: no build agent has taken it yet",
        "run one has an agent after 3 minutes in the queue",
    ]
    assert build(monkeypatch, Arm("Queued", "Succeeded")) == [], "the usual seconds"


def test_its_place_is_said_when_it_changes(monkeypatch: pytest.MonkeyPatch) -> None:
    times = {
        "a": ("Running", "1"),
        "b": ("Queued", "2"),
        "done": ("Succeeded", "0"),
        "one": ("Queued", "3"),
        "later": ("Queued", "4"),
    }
    runs = [{"name": name, "properties": {"status": status, "createTime": at}} for name, (status, at) in times.items()]
    said = build(monkeypatch, Arm("Queued", "Queued", "Queued", "Succeeded", runs=tuple(runs)))
    assert said == ["run one is queued: no build agent has taken it yet; 2 of this registry's runs are ahead of it"]


@pytest.mark.parametrize(
    ("registry", "reason"),
    [({}, "no free agent in the registry's region, or"), ({"publicNetworkAccess": "Disabled"}, "closed to public networks")],
)
def test_one_without_an_agent_names_the_likely_reason_and_is_cancelled_at_its_limit(
    monkeypatch: pytest.MonkeyPatch, registry: dict[str, str], reason: str
) -> None:
    arm = Arm("Queued", **registry)
    said = build(monkeypatch, arm, minutes=30)
    explained = next(line for line in said if "still queued after 5 minutes" in line)
    assert reason in explained
    assert "az acr task list-runs --registry r" in explained
    assert "run one of the registry is still Queued after 30 minutes and was cancelled; " in said[-1]
    assert reason in said[-1]
    assert arm.sent[1:] == [("cancel", None)]


@pytest.mark.parametrize("statuses", [("Running",), ("Running", "Timeout")])
def test_one_that_takes_longer_says_how_to_give_it_more_time(monkeypatch: pytest.MonkeyPatch, statuses: tuple[str, ...]) -> None:
    assert LONGER in build(monkeypatch, Arm(*statuses))[-1]


def test_ctrl_c_cancels_it(monkeypatch: pytest.MonkeyPatch) -> None:
    arm = Arm("Running", KeyboardInterrupt())
    assert build(monkeypatch, arm) == ["run one of the registry is cancelled", "KeyboardInterrupt: "]
    assert arm.sent[1:] == [("cancel", None)]


def test_one_that_can_not_be_cancelled_may_go_on(monkeypatch: pytest.MonkeyPatch) -> None:
    arm = Arm("Running", KeyboardInterrupt())
    arm.refuses = AzureError("Conflict: busy", 409)
    may_go_on = "run one of the registry may go on and be billed (Conflict: busy); "
    assert build(monkeypatch, arm)[0] == f"{may_go_on}cancel it: az acr task cancel-run --registry r --run-id one"


def test_an_answer_that_fails_once_does_not_end_it(monkeypatch: pytest.MonkeyPatch) -> None:
    said = build(monkeypatch, Arm("Running", AzureError("Bad gateway", 502), "Succeeded"))
    assert said == ["the state of run one can't be read at the moment, retrying: Bad gateway"]


def test_a_larger_upload_has_more_time(monkeypatch: pytest.MonkeyPatch) -> None:
    small, large = Arm("Succeeded"), Arm("Succeeded")
    build(monkeypatch, small)
    monkeypatch.setattr(registry_build, "archive", lambda _: bytes(128 * 1024 * 60))
    build(monkeypatch, large)
    assert small.limits + large.limits == [300, 360]
