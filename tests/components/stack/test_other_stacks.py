"""Outputs of other stacks in the texts of parts."""

from collections.abc import Mapping
from typing import Any

import pytest

from azure_gpu.catalog.problems import Problem
from azure_gpu.shared.secret_places import leaves, put
from azure_gpu.stack import other_stacks
from azure_gpu.stack.file import StackFile
from azure_gpu.stack.other_stacks import Outputs, OutputsError, Reader
from azure_gpu.stack.settings import read
from tests.support.tables import of_table

NETWORK = Outputs(
    {"subnet": "/subnets/a", "names": {"vault": "kv", "count": 2, "open": True}, "key": "[secret]"}, frozenset({"key"})
)
STACKS = {"net": "acme/network/prod"}


def resolved(sections: Mapping[str, object], outputs_of: Reader) -> tuple[Any, list[Problem]]:
    """Sections with the outputs in their places."""
    texts = [each for each in leaves(sections, StackFile, ()) if other_stacks.REFERENCE.search(each.value)]
    found, problems = other_stacks.values(texts, sections.get("stacks"), outputs_of)
    return put(sections, found, ()), problems


def taken(value: object, stacks: object = STACKS) -> tuple[object, list[str]]:
    """What becomes of a value below a part, and the problems."""
    found, problems = resolved({"stacks": stacks, "jobs": {"train": {"args": value}}}, {"acme/network/prod": NETWORK}.__getitem__)
    return found["jobs"]["train"]["args"], [str(each) for each in problems]


@of_table("value", "becomes")
def test_a_reference_becomes_the_output_of_its_own_type(value: object, becomes: object) -> None:
    assert taken(value) == (becomes, [])


@of_table("value", "said")
def test_a_reference_to_what_is_not_there_stays_and_is_a_problem(value: str, said: str) -> None:
    kept, problems = taken(value)
    assert kept == value
    assert len(problems) == 1
    assert said in problems[0]


def test_a_stack_is_read_once_and_what_fails_there_is_one_problem() -> None:
    asked: list[str] = []

    def fails(stack: str) -> Outputs:
        asked.append(stack)
        raise OutputsError("no stack named 'prod' found")

    sections: Mapping[str, object] = {"stacks": STACKS, "jobs": {"a": "${stacks.net.x}", "b": "${stacks.net.y}"}}
    found, problems = resolved(sections, fails)
    assert found == sections
    assert asked == ["acme/network/prod"]
    assert [problem.path for problem in problems] == ["stacks.net"]
    assert "can't be read: no stack named 'prod' found" in str(problems[0])


def test_no_stack_is_read_where_nothing_refers_to_it() -> None:
    assert resolved({"stacks": STACKS, "jobs": {"a": {}}}, other_stacks.unavailable) == (
        {"stacks": STACKS, "jobs": {"a": {}}},
        [],
    )


def test_what_names_the_stack_takes_no_output() -> None:
    found, problems = resolved({"stacks": STACKS, "team": "${stacks.net.subnet}"}, other_stacks.unavailable)
    assert found["team"] == "${stacks.net.subnet}"
    assert [str(each) for each in problems] == [
        "team: outputs of other stacks can't be used here; given: '${stacks.net.subnet}'; fix: write the value itself"
    ]


@pytest.mark.parametrize("stacks", [None, "text", ["list"], {"net": 3}])
def test_a_section_of_another_form_is_told_and_nothing_is_read(stacks: object) -> None:
    kept, problems = taken("${stacks.net.subnet}", stacks)
    assert kept == "${stacks.net.subnet}"
    assert len(problems) == 1


def test_the_settings_have_the_output_in_its_place() -> None:
    configuration = {
        "azure-gpu:team": "t",
        "azure-gpu:location": "eastus",
        "azure-gpu:stacks": '{"net": "acme/network/prod"}',
        "azure-gpu:batch_account": '{"existing": "${stacks.net.subnet}"}',
    }
    settings = read(configuration, "2026-11-23", outputs_of=lambda _: NETWORK)
    account: Any = settings.parts["batch_account"]["batch"]
    assert account == {"existing": "/subnets/a"}
    assert not settings.problems
