"""`compare`: what differs between two environments, with what each extends."""

import json
from pathlib import Path

import pytest

from azure_gpu_operations.__main__ import main
from azure_gpu_operations.compare import Difference, differences

FILES = {
    "dev": "config:\n  azure-gpu:team: t\n  azure-gpu:extends: ../common.yaml\n  azure-gpu:pools: {a: {max: 1}}\n",
    "prod": "config:\n  azure-gpu:team: t\n  azure-gpu:pools: {a: {max: 2, zones: [1]}, b: {}}\n  azure-native:tenantId: x\n",
}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name, text in FILES.items():
        (tmp_path / f"Pulumi.{name}.yaml").write_text(text)
    return tmp_path


def test_each_leaf_that_differs_is_one_row() -> None:
    first = {"team": "t", "pools": {"a": {"max": 1, "zones": [1]}, "b": {}}, "tags": {}}
    second = {"team": "u", "pools": {"a": {"max": 1, "zones": [2]}}, "tags": {"x": "y"}}
    assert list(differences(first, second)) == [
        Difference("pools.a.zones", "[1]", "[2]"),
        Difference("pools.b", "{}", None),
        Difference("tags.x", None, "y"),
        Difference("team", "t", "u"),
    ]
    assert list(differences(first, first)) == []


def test_two_files_are_compared_as_the_program_reads_them(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = (folder / "Pulumi.dev.yaml").read_text()
    (folder / "Pulumi.dev.yaml").write_text(text.replace("../common.yaml", str(folder / "common.yaml")))
    (folder / "common.yaml").write_text("config: {azure-gpu:pools: {a: {zones: [1]}}}")
    assert main(["compare", "dev", "prod", "--json", "--config-folder", str(folder)]) == 0
    rows = {row["key"]: (row["dev"], row["prod"]) for row in json.loads(capsys.readouterr().out)["differences"]}
    extends = rows.pop("extends")
    assert extends == (str(folder / "common.yaml"), None)
    assert rows == {"azure-native:tenantId": (None, "x"), "pools.a.max": ("1", "2"), "pools.b": (None, "{}")}
