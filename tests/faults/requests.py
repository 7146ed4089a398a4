"""The requests that a stack's life consists of, and a calm life that shows them.

Whether a life sends a request is seen with a fault that changes nothing: a delay of 0 seconds for the next request that fits,
which is used up where there was one. In: a scenario. Out: its requests, and its calm life.
"""

import re
import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from azure_gpu.formats.azure_types import BY_TOKEN, ROLE_ASSIGNMENT
from tests.faults.lives import Calm, Life, Outcome, Part, life
from tests.faults.looking import looks
from tests.faults.scenarios import Scenario

_METHODS = ("GET", "PUT", "PATCH", "DELETE")
# What isn't about one resource: method, what it is, and the paths. Looked for last, since several of them fit all resources.
_BESIDE = (
    ("POST", "sign-in", "*/oauth2/v2.0/token"),
    ("GET", "metadata of the cloud", "/metadata/endpoints"),
    ("GET", "registration of a provider", "/subscriptions/*/providers/microsoft.insights"),
    ("POST", "registration of a provider", "/subscriptions/*/providers/*/register"),
    ("GET", "data plane of Batch", "/batch/*"),
    ("GET", "data plane of blobs", "/blob/*"),
    ("PUT", "data plane of blobs", "/blob/*"),
)


@dataclass(frozen=True, slots=True, order=True)
class Request:
    """A kind of request of one part of a life. `path`: a glob."""

    part: Part
    method: str
    what: str  # a type of resource, `state of an operation of …`, or another name
    path: str

    @property
    def kind(self) -> tuple[str, str, str]:
        return self.part, self.method, self.what

    def fault(self, **values: Any) -> dict[str, Any]:
        return {"method": self.method, "path": self.path, **values}


def candidates(resources: Iterable[Mapping[str, Any]]) -> list[Request]:
    """Every request that a life could send, for all of its parts alike, the more exact ones first."""
    ids: dict[str, str] = {}
    for each in resources:
        azure_type = BY_TOKEN.get(each["type"])
        if azure_type is None or each.get("external"):
            continue
        path = each["id"]
        if azure_type is ROLE_ASSIGNMENT:
            path = f"{path.rsplit('/', 1)[0]}/*"  # its name follows from a principal, which is new in each life
        ids[_glob(path)] = azure_type.arm_type
    providers = sorted({arm_type.split("/")[0] for arm_type in ids.values()})
    one: list[tuple[str, str, str]] = [(method, arm_type, path) for path, arm_type in ids.items() for method in _METHODS]
    one += [("POST", f"{arm_type}, an action", f"{path}/*") for path, arm_type in sorted(ids.items(), reverse=True)]
    one += [("GET", f"state of an operation of {each}", f"*/providers/{each}/*operation*/*") for each in providers]
    one += [("GET", "state of a deployment", "*/deployments/*/operationstatuses/*"), *_BESIDE]
    return [Request(part, *each) for part in Part for each in one]


def _glob(path: str) -> str:
    """Fits the same resource in every life: the ends of names that the provider makes up are new in each."""
    return re.sub(r"[0-9a-f]{8}(?=/|$)", "?" * 8, path.lower())


def found(scenario: Scenario, folder: Path, engine_bin: Path) -> tuple[list[Request], Calm]:
    """The requests of a life, and the calm life. Two are lived: the first one's resources are what the second one's requests are
    told by."""
    with life(scenario, folder / "first", engine_bin) as first:
        _calm_run(first, Part.UP)
        every = candidates(first.stack.exported()["resources"])
        _calm_run(first, Part.DOWN)
        assert not (left := first.end()), left
    with life(scenario, folder / "second", engine_bin) as second:
        calm = Calm({}, {}, {})
        sent: list[Request] = []
        size = 0
        for part in Part:
            mine = {(each.method, each.path): each for each in every if each.part is part}
            for each in mine.values():
                second.faults("PUT", each.fault(kind="delay", seconds=0))
            began = time.monotonic()
            _calm_run(second, part)
            calm.seconds[part] = time.monotonic() - began
            unused = {(each["method"], each["path"]) for each in second.faults("GET")}
            sent += [each for key, each in mine.items() if key not in unused]
            second.faults("DELETE")
            if part is not Part.DOWN:
                assert not (steps := second.steps()), steps
                calm.refreshed[part] = second.steps("--refresh")
                size = max(file.stat().st_size for file in second.azure.state.rglob(f"{scenario.stack}.json"))
                calm.looks[part] = looks(second.azure.state, second.stack.exported())
        lost = [*second.judge(Part.DOWN, calm), *second.end()]
        assert not lost, lost
    return sent, replace(calm, state_bytes=size)


def _calm_run(one: Life, part: Part) -> None:
    outcome = Outcome()
    went = one.heard(one.run(part), outcome)
    assert went, outcome.said
    assert not outcome.lost, outcome.lost
