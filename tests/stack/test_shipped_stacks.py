"""The stack files that the project ships, judged by the program: what each is warned of, and what is switched off in one."""

import pytest

from azure_gpu.catalog.problems import Problem
from azure_gpu.formats.stack_file import configuration
from azure_gpu.stack import settings
from tests.components.recorded_bodies import CONNECTED, ROOT
from tests.components.settings_of import TODAY, pure_problems


def problems(name: str, text: str) -> list[Problem]:
    return pure_problems(settings.read({**CONNECTED, **configuration(text)}, TODAY), "azure-gpu", name)


def file(name: str) -> str:
    return (ROOT / f"Pulumi.{name}.yaml").read_text(encoding="utf-8")


@pytest.mark.parametrize("name", ["dev", "documents", "lite", "local", "prod"])
def test_a_shipped_stack_has_no_problem_but_that_of_its_page(name: str) -> None:
    # The document's sample was built for CUDA 8.0 and runs on a V100, which CUDA knows from 9.0 on.
    expected = ["container_groups.gpucontainergrouprm.image"] if name == "documents" else []
    assert [each.path for each in problems(name, file(name))] == expected


def test_the_stack_without_a_cluster_is_the_local_one_without_it() -> None:
    without, local = (configuration(file(name)) for name in ("lite", "local"))
    assert without | {"azure-gpu:team": "local"} == {key: value for key, value in local.items() if key != "azure-gpu:clusters"}


def test_what_is_off_in_the_dev_stack_can_be_switched_on() -> None:
    text = file("dev")
    assert "enabled: false" in text
    assert problems("dev", text.replace("enabled: false", "enabled: true")) == []
