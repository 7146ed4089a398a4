"""docs/edge.md: the device's commands are those that the catalog has, and what it shows as configuration can be had."""

import re
from pathlib import Path

import yaml

from azure_gpu.catalog.problems import Severity
from azure_gpu.formats.stack_file import configuration
from azure_gpu.stack.settings import read
from azure_gpu_operations.catalog_page import known_facts
from tests.components.recording import PROJECT, STACK, SUBSCRIPTION
from tests.components.settings_of import TODAY, pure_problems
from tests.support.edge_documents import FRAGMENT

ROOT = Path(__file__).parents[2]
COMMANDS = {fact.name: fact.value for fact in known_facts()["stack_edge_commands.device"]}  # with their parameters
PAGE = (ROOT / "docs" / "edge.md").read_text(encoding="utf-8")


def block(language: str) -> str:
    found = re.search(rf"^```{language}\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
    assert found is not None
    return found[1]


def test_the_table_has_every_command_of_the_device_as_the_catalog_has_it() -> None:
    rows = re.findall(r"^\| `(\w+-Hcs[^`]*)` \| (.*) \|$", PAGE, re.MULTILINE)
    assert rows == list(COMMANDS.items())


def test_both_spellings_of_the_command_that_shows_the_gpus_are_told() -> None:
    [also] = [fact.value for fact in known_facts()["stack_edge_commands"] if fact.name == "Get-HcsGpuNvidiaSmi, also spelt"]
    assert f"`{also}`" in PAGE


def test_the_commands_in_their_order_are_the_devices_own_with_their_parameters() -> None:
    known = {name: parameters for name, *parameters in map(str.split, COMMANDS)}
    for line in block("powershell").splitlines():
        name, *words = line.split()
        assert [word for word in words if word.startswith("-")] == known[name]


def test_what_is_left_out_is_what_the_facts_say() -> None:
    [namespace] = [each.value for each in known_facts()["stack_edge_commands"] if each.name == "namespace of IoT Edge"]
    assert f"namespace `{namespace}`" in PAGE
    assert "2024-03-31" in PAGE


def test_the_configuration_that_it_shows_can_be_had() -> None:
    text = block("yaml").replace("v1:…", "encrypted")
    said = configuration(text)
    whole = {**said, "azure-native:subscriptionId": SUBSCRIPTION, "azure-gpu:team": "vision", "azure-gpu:location": "eastus"}
    problems = pure_problems(read(whole, TODAY), PROJECT, STACK)
    assert [problem for problem in problems if problem.severity is Severity.ERROR] == []
    assert yaml.safe_load(text)["config"]["azure-gpu:edges"]["box"]["jobs"]["report"] == {"image": "python:3.12-slim"}


def test_the_documents_fragment_lies_in_the_examples_as_it_was_printed() -> None:
    assert (ROOT / "examples" / "documents" / "deployment.yaml").read_text(encoding="utf-8") == FRAGMENT
