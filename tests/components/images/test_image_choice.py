"""What an image of one's own can't be beside the rest of a pool."""

from types import SimpleNamespace
from typing import Any

import pytest

from azure_gpu.batch.pool.args import BatchPoolSettings
from azure_gpu.batch.pool.rules import fit_problems
from azure_gpu.catalog.sizes import SIZES
from azure_gpu.catalog.sizes.model import VmGeneration
from tests.components.settings_of import args_of

SIZE = SIZES.find("Standard_NC6")
assert SIZE is not None
[BOOTS] = SIZE.series.generations
OTHER = "Gen2" if BOOTS == "Gen1" else "Gen1"


def found(generation: VmGeneration, *, node_agent: str = "batch.node.ubuntu 24.04", **said: Any) -> list[tuple[str, Any, str]]:
    choice: Any = SimpleNamespace(
        key="gallery_image",
        image_id="",
        gallery_image="mine",
        node_agent=node_agent,
        operating_system="Linux",
        of_gallery={"os_type": "Linux", "generation": generation, "regions": ()},
    )
    problems = list(fit_problems(args_of(BatchPoolSettings, {"size": "Standard_NC6"}, said), choice, SIZE, "pools.training"))
    return [(problem.path, problem.value, problem.allowed) for problem in problems]


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ({"generation": BOOTS}, None),
        ({"generation": OTHER}, ("pools.training.gallery_image", "mine", f"an image of {BOOTS}")),
        ({"generation": BOOTS, "os_type": "Linux"}, None),
        ({"generation": BOOTS, "os_type": "Windows"}, ("pools.training.os_type", "Windows", "Linux")),
        (
            {"generation": BOOTS, "node_agent": ""},
            ("pools.training.node_agent", None, "the agent for the operating system in it, such as batch.node.ubuntu 24.04"),
        ),
    ],
    ids=["fits", "another-generation", "its-system", "another-system", "no-agent"],
)
def test_a_gallery_image_has_to_fit_size_system_and_agent(given: Any, expected: tuple[str, Any, str] | None) -> None:
    assert found(**given) == ([] if expected is None else [expected])
