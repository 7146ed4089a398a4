"""What tests of a review's page share: a Chromium, and pages as files."""

from collections.abc import Iterator
from typing import Any

import pytest

from tests.browser import driving


@pytest.fixture(scope="module")
def chromium() -> Iterator[Any]:
    with driving.browser() as driven:
        yield driven
