"""What Pulumi's SDK keeps of a deployment in a process is taken back after each test: workers run others' tests too."""

from collections.abc import Iterator

import pytest
from pulumi.runtime import settings


@pytest.fixture(autouse=True)
def settings_as_before() -> Iterator[None]:
    """The server of hooks above all: it speaks to an engine that has ended by then."""
    before = settings.SETTINGS.callbacks  # pyright: ignore[reportAttributeAccessIssue, reportUnknownMemberType] - no type
    yield
    settings.SETTINGS.callbacks = before  # pyright: ignore[reportAttributeAccessIssue] - the SDK's property has no type
