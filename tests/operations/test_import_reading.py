"""What `import` makes of a file before it reads it: a manifest is known, and what a foe has written takes no time."""

import time

import pytest

from azure_gpu.catalog.problems import errors
from azure_gpu.formats.old_machine_learning.project import OldProject
from azure_gpu.formats.old_machine_learning.read import read
from azure_gpu_operations.importing.manifests import is_manifest
from tests.support.edge_documents import COMPANION, FRAGMENT


@pytest.mark.parametrize(
    ("text", "is_one"),
    [
        (COMPANION, True),
        (FRAGMENT, True),
        ("apiVersion: 2018-10-01\nlocation: eastus\nproperties: {containers: []}\ntype: x\n", False),
        ('{"$schema": "https://schema.management.azure.com/x", "resources": []}', False),
        ("pool_specification: {id: a}\n", False),
    ],
    ids=["a Job", "a piece of one", "a container group", "a template", "Batch Shipyard"],
)
def test_a_manifest_is_known_among_the_files_that_are_read(text: str, is_one: bool) -> None:
    assert is_manifest(text) is is_one


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("blank.yml", "\n" * 500_000),
        ("fences.md", "```a\n" * 200_000),
        ("blocks.md", "```a\n```\n" * 50_000),
        ("deep.ipynb", '{"cells": ' + "[" * 100_000),
        ("deep.py", "import azureml\nx = " + "-" * 100_000 + "1\n"),
        ("null.py", "import azureml\n\0"),
    ],
)
def test_files_of_a_foe_are_passed_over_at_once(name: str, text: str) -> None:
    began = time.process_time()
    found, problems = read([(name, text)])
    assert time.process_time() - began < 5, "what is linear takes a hundredth of this"
    assert found == OldProject()
    assert not errors(problems)
