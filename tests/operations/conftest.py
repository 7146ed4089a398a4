"""A server in the form of the Retail Prices API for each test that asks for one."""

from collections.abc import Iterator

import pytest

from tests.support.retail_prices import RetailPricesServer


@pytest.fixture
def server() -> Iterator[RetailPricesServer]:
    running = RetailPricesServer()
    yield running
    running.stop()
