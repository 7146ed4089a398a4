"""What a stack's file says is read by the library alone: the same keys, defaults and environment as for the program."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from azure_gpu.stack.file import StackFile
from azure_gpu.stack.keys import config_key
from azure_gpu_operations import planned
from azure_gpu_operations.stack import Stack
from tests.support.embedded import CHECKOUT

OPERATIONS = CHECKOUT / "operations" / "azure_gpu_operations"
FILE = """\
config:
  azure-native:subscriptionId: 00000000-0000-0000-0000-000000000000
  azure-gpu:team: vision
  azure-gpu:location: westeurope
  azure-gpu:clusters:
    gpu: {gpu_pools: {t4: {size: Standard_NC4as_T4_v3}}, expires_after: "2026-11-30"}
  azure-gpu:edges:
    box: {kubeconfig: {secure: v1:x}, namespace: vision}
    broken: {namespace: [1]}
"""


@pytest.fixture
def file(tmp_path: Path) -> Path:
    made = tmp_path / "Pulumi.dev.yaml"
    made.write_text(FILE)
    return made


def test_settings_are_the_librarys_without_what_is_wrong_and_with_a_stand_in_for_secrets(file: Path) -> None:
    found = planned.settings(file)
    assert found.parts["edges"] == {"box": {"kubeconfig": "[secret]", "namespace": "vision"}}
    assert [problem.path for problem in found.problems] == ["edges.broken.namespace"]


def test_an_encrypted_value_at_a_key_in_plain_text_is_a_problem_and_at_one_for_secrets_none(file: Path) -> None:
    assert planned.inventory(CHECKOUT, file, "dev").problems[0].path == "edges.broken.namespace"
    file.write_text(FILE.replace("t4: {size:", "t4: {tags: {pin: {secure: v1:y}}, size:"))
    found = planned.inventory(CHECKOUT, file, "dev").problems
    assert [each.path for each in found if "is encrypted" in each.message] == ["clusters.gpu.gpu_pools.t4.tags.pin"]


def test_a_part_that_is_off_is_named_with_its_file_by_its_own_name_or_with_the_one_around_it(file: Path) -> None:
    off = FILE.replace("t4: {size:", "t4: {enabled: false, size:").replace("box: {", "box: {enabled: false, ")
    file.write_text(off)
    assert planned.switched_off(file, "box") == "edges.box is switched off: enabled: false in Pulumi.dev.yaml"
    for name in ("t4", "gpu/t4"):
        found = planned.switched_off(file, name)
        assert found == "clusters.gpu.gpu_pools.t4 is switched off: enabled: false in Pulumi.dev.yaml"
    for name in ("gpu", "other/t4", "clusters"):
        assert planned.switched_off(file, name) == ""
    assert planned.switched_off(file, "", "edges") == planned.switched_off(file, "box")
    assert planned.switched_off(file, "", "clusters") == ""  # the one that it has is on
    workspace = "  azure-gpu:ml_workspace: {computes: {big: {enabled: false, size: Standard_NC4as_T4_v3}}}\n"
    file.write_text(off + workspace)
    for name in ("", "big"):
        found = planned.switched_off(file, name, "ml_workspace.computes")
        assert found == "ml_workspace.computes.big is switched off: enabled: false in Pulumi.dev.yaml"
    file.write_text(off + workspace.replace("{computes", "{enabled: false, computes"))
    assert planned.switched_off(file, "", "ml_workspace.computes").startswith("ml_workspace is switched off")
    file.write_text("config: [")
    assert planned.switched_off(file, "box") == ""


def test_a_plan_is_judged_on_another_day_where_one_is_named(file: Path) -> None:
    assert planned.inventory(CHECKOUT, file, "dev", "2026-11-21").day.isoformat() == "2026-11-21"
    assert {name.path for name in planned.inventory(CHECKOUT, file, "dev").names} >= {"clusters.gpu", "clusters.gpu.gpu_pools.t4"}


def test_what_the_provider_takes_from_the_environment_is_in_the_plan_as_in_the_programs(
    file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("ARM_METADATA_HOSTNAME", raising=False)
    monkeypatch.setenv("ARM_CLIENT_ID", "11111111-aaaa-bbbb-cccc-000000000000")  # who runs it changes no plan
    assert "access" not in planned.settings(file).parts["clusters"]["gpu"]
    monkeypatch.setenv("ARM_METADATA_HOSTNAME", "management.example")
    assert planned.settings(file).parts["clusters"]["gpu"].get("access") == {"authority_host": "https://management.example/"}


def test_a_section_is_declared_in_the_namespace_of_the_project(tmp_path: Path) -> None:
    (tmp_path / "Pulumi.yaml").write_text("name: somebodys\nruntime: python\n")
    (tmp_path / "Pulumi.dev.yaml").write_text("config:\n  azure-gpu:pools: {}\n  somebodys:clusters: {}\n")
    stack = Stack(tmp_path, "dev")
    assert stack.declares("clusters")
    assert not stack.declares("pools")


def test_no_verb_spells_a_key_of_the_stack_file_by_itself() -> None:
    keys = "|".join(map(re.escape, map(config_key, StackFile.__annotations__)))
    spelt = re.compile(rf"(?:{keys})\b")
    found = [
        f"{module.relative_to(CHECKOUT)}:{constant.lineno}"
        for module in sorted(OPERATIONS.rglob("*.py"))
        for constant in texts(ast.parse(module.read_text(encoding="utf-8")))
        if spelt.search(str(constant.value))
    ]
    assert found == []


def texts(tree: ast.Module) -> Iterator[ast.Constant]:
    """Every text of a module but docstrings."""
    documented = {
        id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
    }
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in documented:
            yield node
