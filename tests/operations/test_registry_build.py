"""A build in a registry that honours only roles of repositories runs as whoever asks for it."""

from types import SimpleNamespace
from typing import Any

import pytest

from azure_gpu.catalog import registry_modes
from azure_gpu_operations.run import registry_build
from azure_gpu_operations.run.registry_build import BuildFailedError, Registry

ID = "/subscriptions/s/resourceGroups/g/providers/Microsoft.ContainerRegistry/registries/r"
CONTEXT: Any = SimpleNamespace(repository="runs", tag="1", image="runs:1", described="./train.py")


class Arm:
    def __init__(self, mode: str, status: str) -> None:
        self.mode, self.status = mode, status
        self.sent: list[tuple[str, Any]] = []

    def values(self, *_: str) -> list[Any]:
        return []

    def get(self, path: str, version: str) -> dict[str, Any]:
        if path == ID:
            assert version == "2025-04-01"
            return {"properties": {registry_modes.PROPERTY: self.mode}}
        return {"properties": {"status": self.status}}

    def post(self, path: str, version: str, body: Any = None) -> dict[str, Any]:
        if path.endswith("/scheduleRun"):
            self.sent.append((version, body.get("credentials")))
            return {"properties": {"runId": "one"}}
        return {"uploadUrl": "https://up", "relativePath": "here"} if "Upload" in path else {}


def built(monkeypatch: pytest.MonkeyPatch, mode: str, status: str) -> list[tuple[str, Any]]:
    arm: Any = Arm(mode, status)
    monkeypatch.setattr(registry_build, "archive", lambda _: b"")
    monkeypatch.setattr(registry_build.requests, "put", lambda *_, **__: SimpleNamespace(status_code=201))
    Registry(arm, ID, "r.azurecr.io").build(CONTEXT, lambda _: None, sleep=lambda _: None)
    return arm.sent


def test_a_build_has_the_rights_of_who_asks_for_it_where_the_registry_wants_that(monkeypatch: pytest.MonkeyPatch) -> None:
    assert built(monkeypatch, registry_modes.LEGACY, "Succeeded") == [("2019-06-01-preview", None)]
    as_caller = {"sourceRegistry": {"identity": "[caller]"}}
    assert built(monkeypatch, registry_modes.ABAC, "Succeeded") == [("2025-03-01-preview", as_caller)]
    with pytest.raises(BuildFailedError, match="you need the role Container Registry Repository Writer on it"):
        built(monkeypatch, registry_modes.ABAC, "Failed")
