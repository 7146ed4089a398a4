"""What several stacks have in common, under what each has of its own."""

import json
from pathlib import Path

import pytest
from hypothesis import given, strategies as st

from azure_gpu.stack.common_file import extended, merge
from azure_gpu.stack.settings import read
from tests.components.settings_of import configuration

COMMON = """\
config:
  azure-gpu:tags: {owner: all, cost: "1"}
  azure-gpu:pools:
    train: {size: Standard_NC4as_T4_v3, autoscale: {max_nodes: 2}, expires_after: "2027-03-31"}
    night: {size: Standard_NC4as_T4_v3, expires_after: "2027-03-31"}
  azure-gpu:as_of: "2026-11-23"
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "common.yaml").write_text(COMMON)
    return tmp_path


def test_what_a_stack_has_of_its_own_lies_over_what_is_common(folder: Path) -> None:
    own = {
        "azure-gpu:extends": "common.yaml",
        "azure-gpu:tags": '{"cost": "2"}',
        "azure-gpu:pools": '{"train": {"autoscale": {"max_nodes": 8}}, "night": null}',
        "azure-native:location": "eastus",
    }
    found = extended(own, folder=folder)
    assert found.problems == []
    assert json.loads(found.configuration["azure-gpu:tags"]) == {"owner": "all", "cost": "2"}
    pool = {"size": "Standard_NC4as_T4_v3", "autoscale": {"max_nodes": 8}, "expires_after": "2027-03-31"}
    assert json.loads(found.configuration["azure-gpu:pools"]) == {"train": pool}
    assert found.configuration["azure-gpu:as_of"] == "2026-11-23"
    assert found.configuration["azure-native:location"] == "eastus"


def test_null_takes_a_whole_section_away(folder: Path) -> None:
    found = extended({"azure-gpu:extends": "common.yaml", "azure-gpu:pools": "null"}, folder=folder)
    assert "azure-gpu:pools" not in found.configuration


def test_a_stack_that_extends_nothing_is_as_it_is(folder: Path) -> None:
    own = {"azure-gpu:pools": "null", "azure-gpu:tags": "{}"}
    assert extended(own, folder=folder) == (own, [])


def test_the_settings_are_those_of_both(folder: Path) -> None:
    own = configuration({"team": "t", "location": "eastus", "extends": "common.yaml"})
    settings = read(own, "2026-11-23", folder=folder)
    assert settings.problems == []
    assert sorted(settings.parts["pools"]) == ["night", "train"]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (None, "extends: file not found; given: 'common.yaml'"),
        ("config: [", "extends: the file can't be read: line 1: this is not YAML"),
        ("config: {azure-native:location: x}", "extends.azure-native:location: common.yaml has a key that the engine reads"),
        ("config: {azure-gpu:extends: b.yaml}", "extends.azure-gpu:extends: common.yaml must not extend another file"),
        ("config: {azure-gpu:jobs: {a: {secure: v1}}}", "extends.azure-gpu:jobs: common.yaml has an encrypted value"),
    ],
)
def test_a_common_file_that_can_not_be_used_is_told_with_all_else(folder: Path, text: str | None, said: str) -> None:
    file = folder / "common.yaml"
    file.unlink() if text is None else file.write_text(text)
    own = configuration({"team": "t", "location": "nowhere", "extends": "common.yaml"})
    problems = [str(each) for each in read(own, "2026-11-23", folder=folder).problems]
    assert any(each.startswith(said) for each in problems), problems


@pytest.mark.parametrize("text", ["", "{}", "config: {}"])
def test_an_empty_common_file_adds_nothing(folder: Path, text: str) -> None:
    (folder / "common.yaml").write_text(text)
    own = {"azure-gpu:extends": "common.yaml", "azure-gpu:team": "t"}
    assert extended(own, folder=folder) == (own, [])


values = st.recursive(
    st.none() | st.integers() | st.text(max_size=3),
    lambda inner: st.dictionaries(st.sampled_from("abc"), inner, max_size=3),
    max_leaves=8,
)
mappings = st.dictionaries(st.sampled_from("abc"), values, max_size=3)


@given(mappings, mappings)
def test_merged_twice_is_merged_once_and_nothing_of_the_stacks_own_is_lost(
    under: dict[str, object], over: dict[str, object]
) -> None:
    found = merge(under, over)
    for key, value in over.items():
        if value is None and key in under:
            assert key not in found
        elif not isinstance(value, dict):
            assert found[key] == value
    assert {key: found[key] for key in under.keys() - over.keys()} == {key: under[key] for key in under.keys() - over.keys()}
    assert merge(under, {}) == under
    assert merge({}, over) == over
