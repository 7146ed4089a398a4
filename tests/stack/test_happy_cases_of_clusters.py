"""Every happy case of an AKS cluster comes up at the first try in rough weather, and then nothing is left to change."""

from pathlib import Path

import pytest

from tests.support import happy_cases
from tests.support.embedded import ServedAzure

pytestmark = pytest.mark.slow


@pytest.mark.parametrize("names", happy_cases.cases("clusters"))
@pytest.mark.usefixtures("kubernetes_bin")
def test_happy_cases_come_up_at_the_first_try(names: list[str], azure: ServedAzure, engine_bin: Path, tmp_path: Path) -> None:
    happy_cases.come_up_and_stay(names, azure, engine_bin, tmp_path)
