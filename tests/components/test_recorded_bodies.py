"""What is sent to Azure, and what is refused, is what was recorded."""

import pytest
import yaml

from azure_gpu.formats.azure_types import BY_TOKEN
from tests.components import recorded_bodies
from tests.components.recording import KEYS
from tests.components.settings_of import configuration

RENEW = "if that is meant: make renew, and say in CHANGELOG.md what becomes of stacks"
HAPPY = [name for name in recorded_bodies.names() if ".happy." in name]


def test_every_case_and_every_stack_file_is_recorded_as_a_file_that_is_written_so() -> None:
    assert sorted(recorded_bodies.recorded()) == recorded_bodies.names(), RENEW
    other = [
        name
        for name, body in recorded_bodies.recorded().items()
        if recorded_bodies.text_of(body) != (recorded_bodies.BODIES / f"{name}.yaml").read_text(encoding="utf-8")
    ]
    assert other == [], RENEW


def test_a_case_that_comes_or_goes_is_one_line_and_a_changed_one_says_where() -> None:
    before = {"gone": {"a": 1}, "kept": {"a": 1, "b": 1, "list": ["x", "y", "y"], "same": ["x", "y"]}}
    after = {"kept": {"a": 2, "c": 1, "list": ["y", "z"], "same": ["x", "z"]}, "new": {"a": 1}}
    assert list(recorded_bodies.changes(before, after)) == [
        "gone: gone",
        "kept.a: 1 is now 2",
        "kept.b: gone, 1",
        "kept.c: new, 1",
        'kept.list[]: new, "z"',
        'kept.list[]: gone, "x"',
        'kept.list[]: gone, "y"',
        'kept.same[1]: "y" is now "z"',
        "new: new",
    ]


@pytest.mark.parametrize("name", recorded_bodies.names())
def test_the_program_declares_and_refuses_what_was_recorded(name: str) -> None:
    assert list(recorded_bodies.differences(recorded_bodies.recorded()[name], recorded_bodies.now(name))) == [], RENEW


@pytest.mark.slow
@pytest.mark.parametrize("name", HAPPY)
def test_a_preview_declares_the_same_resources(name: str) -> None:
    """What depends on something created isn't known then."""
    case = yaml.load((recorded_bodies.CASES / f"{name}.yaml").read_text(encoding="utf-8"), yaml.CSafeLoader)
    lookups = {**KEYS, **case.get("azure_answers", {})}
    seen = recorded_bodies.run_program(configuration(case["says"]), lookups, preview=True)
    assert sorted(each.urn for each in seen.registrations) == sorted(recorded_bodies.recorded()[name]["resources"])


def test_every_type_in_azure_has_a_name_in_a_body() -> None:
    """One that no shipped stack, example or case declares could change its name unseen. Those are in the set."""
    named = {
        token
        for body in recorded_bodies.recorded().values()
        for urn, resource in body.get("resources", {}).items()
        if (token := urn.split("::")[-2].rpartition("$")[2]) in BY_TOKEN and BY_TOKEN[token].name_parameter in resource["wire"]
    }
    assert {token.removeprefix("azure-native:") for token in BY_TOKEN if token not in named} == UNNAMED


# A vault gets a random end; the program declares no other of these.
UNNAMED = {
    "batch:ApplicationPackage",
    "compute:Disk",
    "containerregistry:TaskRun",
    "keyvault:Key",
    "keyvault:Vault",
    "machinelearningservices:CodeContainer",
    "machinelearningservices:EnvironmentContainer",
    "machinelearningservices:Job",
    "machinelearningservices:ModelContainer",
    "network:Subnet",
}
