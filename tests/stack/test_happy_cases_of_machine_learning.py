"""Every happy case of Azure Machine Learning comes up at the first try in rough weather, and then nothing is left to change."""

from pathlib import Path

import pytest

from tests.support import happy_cases
from tests.support.embedded import ServedAzure
from tests.workloads.conftest import scoring_models, scoring_python

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]
__all__ = ["scoring_models", "scoring_python"]


@pytest.mark.parametrize("name", happy_cases.cases("machine_learning"))
@pytest.mark.usefixtures("kubernetes_bin")
def test_a_happy_case_comes_up_at_the_first_try(
    name: str, azure: ServedAzure, engine_bin: Path, scoring_models: Path, tmp_path: Path
) -> None:
    with happy_cases.up(name, azure, engine_bin, tmp_path, saved_model=scoring_models / "colours") as stack:
        happy_cases.stays(stack, drift=happy_cases.has_most(name))
