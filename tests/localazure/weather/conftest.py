"""A server inside of the tests' own process, whose weather and time the tests choose."""

from collections.abc import Iterator

import pytest

from localazure.weather.state import CALM, ROUGH
from tests.support.embedded import ServedAzure
from tests.support.sky import Sky, sky


@pytest.fixture(scope="session")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Sky]:
    with sky(tmp_path_factory.mktemp("weather")) as made:
        yield made


@pytest.fixture
def rough(server: Sky) -> Sky:
    server.turn(ROUGH)
    return server


@pytest.fixture
def calm(server: Sky) -> Sky:
    server.turn(CALM)
    return server


@pytest.fixture(scope="session")
def azure(served_azure: ServedAzure) -> ServedAzure:
    return served_azure


@pytest.fixture
def own_azure(own_served_azure: ServedAzure) -> ServedAzure:
    return own_served_azure
