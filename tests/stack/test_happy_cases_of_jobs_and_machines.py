"""Every happy case of a job or a virtual machine comes up at the first try in rough weather, and then stays as it is."""

from pathlib import Path

import pytest

from tests.support import happy_cases
from tests.support.embedded import ServedAzure

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]


@pytest.mark.parametrize("name", happy_cases.cases("jobs_and_machines"))
def test_a_happy_case_comes_up_at_the_first_try(name: str, azure: ServedAzure, engine_bin: Path, tmp_path: Path) -> None:
    with happy_cases.up(name, azure, engine_bin, tmp_path) as stack:
        happy_cases.stays(stack, drift=happy_cases.has_most(name))
