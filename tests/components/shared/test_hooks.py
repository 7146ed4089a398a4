"""A program has one server for all of its hooks, however many it registers at once."""

import asyncio
import socket
from collections.abc import Iterator

import pytest
from pulumi.runtime import settings

from azure_gpu.shared import hooks


@pytest.fixture
def engine() -> Iterator[None]:
    """Settings of a program under an engine that nobody asks anything. Those of other tests are there again afterwards."""
    before = settings.SETTINGS
    settings.configure(settings.Settings("project", "stack", monitor="127.0.0.1:1"))
    yield
    settings.configure(before)


def listens(target: str) -> bool:
    host, _, port = target.rpartition(":")
    with socket.create_connection((host, int(port)), timeout=5):
        return True


@pytest.mark.slow
@pytest.mark.usefixtures("engine")
def test_hooks_that_are_registered_at_once_have_one_server() -> None:
    async def program() -> None:
        assert hooks.called()
        assert hooks.called()
        found = await asyncio.gather(*(settings._get_callbacks() for _ in range(20)))
        try:
            assert len({id(server) for server in found}) == 1
            assert found[0] is not None
            assert listens(found[0]._target)
        finally:
            await settings._shutdown_callbacks()

    asyncio.run(program())
