"""What Pulumi's SDK keeps of a deployment in a process is taken back after each test: workers run others' tests too."""

from collections.abc import Iterator

import pytest
from pulumi.runtime import settings

from azure_gpu.shared import prerequisites


@pytest.fixture(autouse=True)
def settings_as_before() -> Iterator[None]:
    """The server of hooks above all: it speaks to an engine that has ended by then."""
    before = settings.SETTINGS.callbacks
    yield
    # The SDK keeps what is set in place of None as the value of threads and forks that have set none (pulumi 3.259.0,
    # `_utils.ContextProperty.fset`); only None in place of None takes that back.
    for value in (None, None, before):
        settings.SETTINGS.callbacks = value


@pytest.fixture(autouse=True)
def with_kubelogin(monkeypatch: pytest.MonkeyPatch) -> None:
    """The engine of these tests isn't the SDK's mock, under which nothing is asked of the machine."""
    monkeypatch.setattr(prerequisites, "on_path", lambda *_: [])
