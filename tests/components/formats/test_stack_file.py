"""`Pulumi.<stack>.yaml` read without the engine leads to the configuration that the engine gives."""

import json
from pathlib import Path

import pytest

from azure_gpu.formats import stack_file

ROOT = Path(__file__).parents[3]


def test_text_stays_text_and_everything_else_becomes_json() -> None:
    configuration = stack_file.configuration(
        "config:\n  a:team: vision\n  a:count: 2\n  a:flag: true\n  a:groups:\n    one:\n      cpu: 1.5\n"
    )
    assert configuration == {"a:team": "vision", "a:count": "2", "a:flag": "true", "a:groups": '{"one": {"cpu": 1.5}}'}


def test_an_unquoted_day_is_the_day() -> None:
    assert stack_file.configuration("config:\n  a:as_of: 2019-06-01\n") == {"a:as_of": "2019-06-01"}
    nested = stack_file.configuration("config:\n  a:groups:\n    one:\n      expires_after: 2019-06-30\n")
    assert json.loads(nested["a:groups"]) == {"one": {"expires_after": "2019-06-30"}}


def test_an_encrypted_value_gets_a_stand_in() -> None:
    configuration = stack_file.configuration(
        "config:\n  a:key:\n    secure: AAAB\n  a:groups:\n    one:\n      secret_environment:\n"
        "        TOKEN:\n          secure: v1:x\n"
    )
    assert configuration["a:key"] == "[secret]"
    assert json.loads(configuration["a:groups"]) == {"one": {"secret_environment": {"TOKEN": "[secret]"}}}


@pytest.mark.parametrize("text", ["", "config:\n", "encryptionsalt: v1\n"])
def test_a_file_without_configuration_has_none(text: str) -> None:
    assert stack_file.configuration(text) == {}


def test_a_day_that_is_none_is_left_to_the_program() -> None:
    text = "config:\n  azure-gpu:jobs: {train: {expires_after: 2026-11-31}}\n"
    assert stack_file.configuration(text) == {"azure-gpu:jobs": '{"train": {"expires_after": "2026-11-31"}}'}


@pytest.mark.parametrize(
    ("text", "said"),
    [("config: [", "not YAML"), ("- 1\n", "is a mapping"), ("config: 3\n", "is a mapping"), ("3", "is a mapping")],
)
def test_what_is_no_stack_file_is_refused_by_name(text: str, said: str) -> None:
    with pytest.raises(stack_file.StackFileError, match=said):
        stack_file.configuration(text)


@pytest.mark.parametrize(("stack", "work"), [("dev", "clusters"), ("local", "jobs"), ("documents", "container_groups")])
def test_the_shipped_stack_files_are_read(stack: str, work: str) -> None:
    configuration = stack_file.configuration((ROOT / f"Pulumi.{stack}.yaml").read_text(encoding="utf-8"))
    assert {"azure-gpu:team", "azure-gpu:location", f"azure-gpu:{work}"} <= configuration.keys()
