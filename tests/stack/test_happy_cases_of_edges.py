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


@pytest.mark.parametrize("names", happy_cases.cases("edges"))
def test_happy_cases_come_up_at_the_first_try(
    names: list[str], azure: ServedAzure, engine_bin: Path, device: str, tmp_path: Path
) -> None:
    happy_cases.come_up_and_stay(names, azure, engine_bin, tmp_path, device=device)
