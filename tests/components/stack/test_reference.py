"""The pages about the components: there is one for each, and they say what the components say today."""

from pathlib import Path

import pytest

from azure_gpu.stack.component_reference import INDEX, found, pages

FOLDER = Path(__file__).parents[3] / "docs" / "components"
COMPONENTS = [
    "BatchAccount",
    "BatchPool",
    "Budget",
    "ContainerGroup",
    "EdgeSharing",
    "Foundation",
    "GalleryImage",
    "GpuCluster",
    "GpuVm",
    "JobEnvironment",
    "MlEndpoint",
    "MlWorkspace",
    "ServerlessGpuJob",
]


def test_every_component_has_a_page_and_every_page_a_component() -> None:
    assert [component.name for component in found()] == COMPONENTS
    assert sorted(file.name for file in FOLDER.glob("*.md")) == sorted([INDEX, *(component.page for component in found())])


@pytest.fixture(scope="module")
def today() -> dict[str, str]:
    return pages(found())


def test_a_page_is_what_its_component_says_today(today: dict[str, str]) -> None:
    written = {page: (FOLDER / page).read_text(encoding="utf-8") for page in today}
    assert [page for page in today if written[page] != today[page]] == [], "run: make renew"
