"""Whether anybody calls the hooks of resources."""

from typing import cast

from pulumi.runtime import settings
from pulumi.runtime.mocks import MockMonitor


def called() -> bool:
    """Not in a unit test with Pulumi's mocks, where the SDK has no place to register a hook and fails."""
    server = cast(object, settings.SETTINGS.callbacks)  # pyright: ignore[reportAttributeAccessIssue, reportUnknownMemberType] - no type
    return server is not None or not isinstance(settings.get_monitor(), MockMonitor)
