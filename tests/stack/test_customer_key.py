"""A stack that encrypts by a key of the customer's: up at the first try in rough weather, where the new role on the key takes its
time, and then nothing is left to change."""

from pathlib import Path

import pytest

from tests.support import happy_cases
from tests.support.embedded import ServedAzure

pytestmark = pytest.mark.slow


def test_a_stack_with_a_key_comes_up_at_the_first_try(azure: ServedAzure, engine_bin: Path, tmp_path: Path) -> None:
    happy_cases.come_up_and_stay(["foundation.happy.customer_key"], azure, engine_bin, tmp_path)
