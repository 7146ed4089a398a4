"""How Azure's own SDKs reach an embedded Azure inside the test's own process: their own pipeline, on another transport."""

from collections.abc import Callable

import httpx
from azure.core.pipeline.transport import RequestsTransport

from tests.support.requests_in_process import session


class InProcessTransport(RequestsTransport):
    """azure-core's transport; the server's time passes where a client waits."""

    def __init__(self, client: httpx.Client, sleep: Callable[[float], None]) -> None:
        super().__init__(session=session(client.send), session_owner=False)
        self._wait = sleep

    def sleep(self, duration: float) -> None:
        self._wait(duration)
