"""A part of a stack that has a name of its own."""

from typing import Any

import pytest

from azure_gpu.catalog.problems import Problem
from azure_gpu.formats import azure_types
from azure_gpu.shared.context import resolve_stack
from azure_gpu.shared.part import Named, Part, resolve_part
from tests.components.recording import PROJECT, STACK
from tests.components.settings_of import STACK_ARGS

PATH = "foundation.registry"
EXISTING = (
    "/subscriptions/11111111-2222-3333-4444-555555555555/resourceGroups/r/providers/Microsoft.ContainerRegistry/registries/a"
)


def resolved(said: Any, name: str | None) -> tuple[Part, list[Problem]]:
    named = Named(name, f"{PATH}.name") if name is not None else None
    context, _ = resolve_stack(STACK_ARGS, PROJECT, STACK)
    return resolve_part(said, azure_types.REGISTRY, "", context, PATH, named)


@pytest.mark.parametrize("said", [{}, {"create": True}])
def test_a_name_takes_the_place_of_the_stack_s_own(said: Any) -> None:
    assert resolved(said, "visionimages") == (Part(name="visionimages", existing=None), [])


def test_a_name_that_azure_doesn_t_take_is_refused() -> None:
    _, [problem] = resolved({}, "vision_images")
    assert (problem.path, problem.value, problem.fix) == (f"{PATH}.name", "vision_images", "write 'visionimages'")


def test_an_existing_part_has_its_name() -> None:
    _, [problem] = resolved({"existing": EXISTING}, "visionimages")
    assert problem.path == f"{PATH}.name"
    assert EXISTING in problem.fix


def test_a_part_that_is_not_created_has_no_name_either() -> None:
    _, [problem] = resolved({"create": False}, "visionimages")
    assert problem.path == PATH
