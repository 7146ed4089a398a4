"""`graph` from the command line, which runs the program of a project."""

import json
import os
from datetime import date
from pathlib import Path
from typing import Any

import pytest
import yaml

from azure_gpu_operations.__main__ import main
from azure_gpu_operations.graph import recorded
from azure_gpu_operations.graph.diagrams import mermaid
from azure_gpu_operations.graph.reading import graph_of
from tests.support import graphs
from tests.support.embedded import CHECKOUT

in_process = pytest.mark.usefixtures("recorded_here")
THEIRS = yaml.load((Path(__file__).parent / "theirs.yaml").read_text(encoding="utf-8"), yaml.CSafeLoader)
PROGRAM = """\
import pulumi
from pulumi_azure_native import resources, storage

print("to nobody who reads JSON")
pulumi.log.warn("mind the gap")
group = resources.ResourceGroup("all", resource_group_name="all")


class Data(pulumi.ComponentResource):
    def __init__(self):
        super().__init__("somebodys:index:Data", "data")
        account = storage.StorageAccount(
            "account",
            account_name=pulumi.Config().require("account"),
            resource_group_name=group.name,
            kind="StorageV2",
            sku={"name": "Standard_LRS"},
            opts=pulumi.ResourceOptions(parent=self),
        )
        storage.Table("rows", account_name=account.name, resource_group_name=group.name)


Data()
"""


def project_of(folder: Path, program: str) -> Path:
    (folder / "Pulumi.yaml").write_text("name: somebodys\nruntime: python\n")
    (folder / "Pulumi.dev.yaml").write_text("config:\n  somebodys:account: theirdata\n")
    (folder / "__main__.py").write_text(program)
    return folder


@in_process
def test_the_diagram_in_the_documents_is_the_one_of_the_local_stack(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    for variable in [each for each in os.environ if each.startswith("ARM_")]:  # who is logged in gets a role
        monkeypatch.delenv(variable)
    assert main(["graph", "--stack", "local", "--config-folder", str(CHECKOUT), "--mermaid"]) == 0
    assert capsys.readouterr().out == (CHECKOUT / "docs" / "local.mermaid").read_text(encoding="utf-8"), "run `make renew`"
    private = (CHECKOUT / "docs" / "private-team.mermaid").read_text(encoding="utf-8")
    assert f"{mermaid(graphs.graph('example.private-team'))}\n" == private


@in_process
def test_what_exists_already_is_not_looked_up_and_a_secret_is_not_shown(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "Pulumi.theirs.yaml").write_text(yaml.safe_dump({"config": THEIRS["config"]}))
    assert main(["graph", "--stack", "theirs", "--config-folder", str(tmp_path), "--json"]) == 0
    told: dict[str, Any] = json.loads(capsys.readouterr().out)
    names = {each["key"]: each["name"] for each in told["parts"]}
    found: dict[str, list[Any]] = {
        "exists": [each["name"] for each in told["parts"] if each["exists"]],
        "uses": [[names[each["part"]], each["words"], names[each["on"]]] for each in told["depends_on"]],
        "roles": [[names[each["who"]], each["role"], names[each["scope"]]] for each in told["roles"]],
    }
    assert {key: sorted(each) for key, each in found.items()} == {key: sorted(each) for key, each in THEIRS["graph"].items()}


@in_process
def test_all_problems_of_a_stack_file_are_told_as_preview_tells_them(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    wrong = yaml.safe_dump({"config": THEIRS["config"]}).replace("gpu: T4", "gpu: T5")
    (tmp_path / "Pulumi.theirs.yaml").write_text(wrong.replace("edges:", "edge:"))
    assert main(["graph", "--stack", "theirs", "--config-folder", str(tmp_path), "--mermaid"]) == 2
    told = capsys.readouterr()
    assert told.out == ""
    assert told.err.startswith("error: 2 problems in the configuration, nothing was created:\n")
    assert "\n  - edge: unknown key" in told.err
    assert "\n  - jobs.tonight.gpu: invalid value; given: 'T5'; allowed: T4, A100" in told.err
    assert "Traceback" not in told.err


@in_process
def test_a_program_of_ones_own_has_its_resources_as_parts(tmp_path: Path) -> None:
    folder = project_of(tmp_path, PROGRAM)
    found = recorded.record(folder, folder / "Pulumi.dev.yaml", "dev")
    assert found.warnings == ("mind the gap",)
    graph = graph_of(found, date(2026, 11, 20))
    assert [(each.noun, each.name) for each in graph.parts] == [
        ("resource group", "all"),
        ("storage", "account"),
        ("table", "rows"),
    ]
    assert [(each.part.rpartition("::")[2], each.words, each.on.rpartition("::")[2]) for each in graph.uses] == [
        ("rows", "keeps data in", "account")
    ]


@in_process
def test_a_program_that_fails_is_told_with_its_reason(tmp_path: Path) -> None:
    folder = project_of(tmp_path, "raise KeyError('x')")
    with pytest.raises(recorded.ProgramError, match=r"the program failed: KeyError: 'x' \(.*__main__.py:1\)"):
        recorded.record(folder, folder / "Pulumi.dev.yaml", "dev")


@in_process
def test_a_missing_value_of_a_program_is_a_problem_of_the_stack(tmp_path: Path) -> None:
    folder = project_of(tmp_path, "import pulumi\npulumi.Config().require('none')\n")
    with pytest.raises(recorded.WrongStackError, match="none"):
        recorded.record(folder, folder / "Pulumi.dev.yaml", "dev")


@pytest.mark.slow
def test_a_program_runs_in_a_process_of_its_own_whose_output_is_not_the_recording(tmp_path: Path) -> None:
    folder = project_of(tmp_path, PROGRAM)
    assert len(recorded.record(folder, folder / "Pulumi.dev.yaml", "dev").resources) == 4
    other = tmp_path / "Pulumi.other.yaml"
    other.write_text("config:\n  somebodys:account: other\n")
    project_of(tmp_path, "import parts")
    declares = "pulumi.ComponentResource('somebodys:index:Data', pulumi.Config().require('account'))\n"
    (tmp_path / "parts.py").write_text(f"import pulumi\n{declares}")
    files = [folder / "Pulumi.dev.yaml", other]
    with recorded.begun(folder, files, "dev") as record:  # a module of the program declares in each run
        assert [[each.name for each in record(file).resources] for file in files] == [["theirdata"], ["other"]]
    project_of(tmp_path, "import sys\nprint('why', file=sys.stderr)\nimport os\nos._exit(3)")
    with pytest.raises(recorded.ProgramError, match=r"ended early: .*why"):
        recorded.record(folder, folder / "Pulumi.dev.yaml", "dev")
