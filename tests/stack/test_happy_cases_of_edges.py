"""Every happy case of an edge comes up at the first try in rough weather on one device, and then nothing is left to change."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support import edge_device, happy_cases
from tests.support.embedded import ServedAzure

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]


@pytest.fixture(scope="module")
def device(azure: ServedAzure, kubernetes_bin: Path) -> Iterator[str]:
    assert kubernetes_bin.is_dir()
    with edge_device.device(azure, "rg-edges") as kubeconfig:
        yield kubeconfig


@pytest.mark.parametrize("name", happy_cases.cases("edges"))
def test_a_happy_case_comes_up_at_the_first_try(
    name: str, azure: ServedAzure, engine_bin: Path, device: str, tmp_path: Path
) -> None:
    with happy_cases.up(name, azure, engine_bin, tmp_path, device=device) as stack:
        happy_cases.stays(stack, drift=happy_cases.has_most(name))
