"""The engine's options of entries: on every resource that an entry is in Azure, and refused where they can't be."""

from typing import Any, is_typeddict

import pytest
import yaml

from azure_gpu.shared.validation import below, form, is_map, key_hints
from azure_gpu.stack import entry_options
from azure_gpu.stack.file import StackFile
from azure_gpu.stack.kinds import KINDS
from azure_gpu.stack.settings import read
from tests.components import recorded_bodies
from tests.components.recording import KEYS, PROJECT, STACK
from tests.components.settings_of import TODAY, configuration, pure_problems
from tests.components.test_cases import CASES
from tests.support.tables import of_table

OPTIONS = {"protect": True, "ignore_changes": ["tags"], "custom_timeouts": {"create": "90m", "delete": "1h30m"}}
# Names of resources that each case declares as what its entry is in Azure, and of one beside them.
CASES_OF_SECTIONS = {
    "foundation.happy.create": ("foundation", "foundation-registry", "foundation-pull-role"),
    "container_group.happy.defaults": ("container_groups", "tensorflow-check-group", ""),
    "job.happy.defaults": ("jobs", "tonight-job", ""),
    "pool.happy.gallery_image": ("gallery_images", "trained-definition", ""),
    "pool.happy.defaults": ("pools", "train-pool", ""),
    "cluster.happy.defaults": ("clusters", "shared-pool-t4", "shared-identity"),
    "ml_workspace.happy.defaults": ("ml_workspace", "ml-workspace", "ml-vault"),
    "ml_endpoint.happy.blue_and_green": ("ml_endpoints", "digits-deployment-blue", ""),
    "vm.happy.defaults": ("vms", "trainer-machine", "trainer-interface"),
}


def with_options(said: dict[str, Any], section: str, options: dict[str, Any]) -> dict[str, Any]:
    """The settings with options in every entry of a section."""
    entries: dict[str, Any] = {"create": True} if said.get(section) == "create" else said[section]
    if not is_map(key_hints(StackFile)[section]):
        return {**said, section: {**entries, "opts": options}}
    return {**said, section: {name: {**entry, "opts": options} for name, entry in entries.items()}}


@pytest.mark.parametrize("name", CASES_OF_SECTIONS)
def test_options_reach_what_an_entry_is_in_azure(name: str) -> None:
    section, main, beside = CASES_OF_SECTIONS[name]
    case = yaml.load((CASES / f"{name}.yaml").read_text(), yaml.CSafeLoader)
    config = configuration(with_options(case["says"], section, OPTIONS))
    resources = recorded_bodies.declared_by_program(config, {**KEYS, **case.get("azure_answers", {})})["resources"]
    by_name = {urn.rpartition("::")[2]: resource for urn, resource in resources.items()}
    before = {urn.rpartition("::")[2]: each for urn, each in recorded_bodies.recorded()[name]["resources"].items()}
    assert by_name.keys() == before.keys()
    for here, ignores in ((main, True), (beside, False)):
        if here:
            assert by_name[here]["protect"]
            assert by_name[here]["custom_timeouts"] == {"create": "90m", "delete": "1h30m"}
            assert ("tags" in by_name[here]["ignore_changes"]) is ignores
            assert set(before[here]["ignore_changes"]) <= set(by_name[here]["ignore_changes"])
            assert by_name[here]["wire"] == before[here]["wire"]


def test_every_section_with_entries_in_azure_takes_options() -> None:
    hints = key_hints(StackFile)
    has = {section for section, hint in hints.items() if "opts" in keys_of_entries(hint)}
    assert has == {kind.section for kind in KINDS if kind.azure_types}


def keys_of_entries(hint: Any) -> dict[str, Any]:
    entry = form(below(hint, "name") if is_map(hint) else hint)
    return key_hints(entry) if is_typeddict(entry) else {}


@of_table("options", "path", "part")
def test_what_the_engine_could_not_do_is_refused(options: dict[str, Any], path: str, part: str) -> None:
    pool = {"size": "Standard_NC4as_T4_v3", "expires_after": "2026-12-31", "opts": options}
    said = {"location": "eastus", "foundation": {"identity": "create", "storage": "create"}, "batch_account": "create"}
    [told] = pure_problems(read(configuration({**said, "pools": {"t4": pool}}), TODAY), PROJECT, STACK)
    assert told.path == f"pools.t4.opts.{path}"
    assert part in str(told)


def test_an_entry_without_options_has_none() -> None:
    said = read(configuration({"container_groups": {"a": {"image": "python:3.11"}}}), TODAY)
    assert not said.opts
    assert entry_options.of(None, "container_groups") is None
