"""A stack is read by one command of the engine, and created where the engine doesn't know it."""

import json
from pathlib import Path
from typing import Any

import pytest

from azure_gpu_operations import stack as stacks
from azure_gpu_operations.stack import EngineError, Stack
from tests.support.embedded import CHECKOUT

DEPLOYMENT = {"resources": [{"urn": "urn:a"}]}


class Engine:
    """The commands of an engine that has these stacks, of which none can be exported while it is `broken`."""

    def __init__(self, *names: str, broken: bool = False) -> None:
        self.names, self.broken = list(names), broken
        self.ran: list[str] = []

    def run(self, folder: Path, *words: str, **_: Any) -> str:
        self.ran.append(words[1])
        if words[1] == "ls":
            return json.dumps([{"name": name} for name in self.names])
        if words[1] == "init":
            self.names.append(words[2])
            return ""
        if self.broken or words[3] not in self.names:
            raise EngineError("it can't be exported")
        return json.dumps({"deployment": DEPLOYMENT})


@pytest.mark.parametrize(
    ("engine", "ran"), [(Engine("dev"), ["export"]), (Engine("prod"), ["export", "ls", "init", "export"])], ids=["there", "new"]
)
def test_a_stack_is_created_where_it_does_not_exist(engine: Engine, ran: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stacks, "run_engine", engine.run)
    assert Stack(CHECKOUT, "dev").deployment_or_new() == DEPLOYMENT
    assert engine.ran == ran


def test_a_mistyped_name_creates_neither_a_stack_nor_a_file(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "Pulumi.yaml").write_text("name: own")
    engine = Engine("dev")
    monkeypatch.setattr(stacks, "run_engine", engine.run)
    with pytest.raises(EngineError, match=r"Pulumi.dve.yaml doesn't exist, and neither does stack dve; existing stacks: dev; "):
        Stack(tmp_path, "dve").deployment_or_new()
    monkeypatch.setattr(stacks, "stack_names", lambda _: engine.run(tmp_path, "stack", "export", "--stack", "dve"))
    with pytest.raises(EngineError, match=r"it can't be exported; .*Pulumi.dve.yaml doesn't exist either"):
        Stack(tmp_path, "dve").deployment_or_new()
    assert "init" not in engine.ran
    assert [each.name for each in tmp_path.iterdir()] == ["Pulumi.yaml"]


def test_a_stack_that_exists_and_can_not_be_exported_is_not_created(monkeypatch: pytest.MonkeyPatch) -> None:
    engine = Engine("dev", broken=True)
    monkeypatch.setattr(stacks, "run_engine", engine.run)
    with pytest.raises(EngineError, match="it can't be exported"):
        Stack(CHECKOUT, "dev").deployment_or_new()
    assert engine.ran == ["export", "ls"]
