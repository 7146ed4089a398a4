"""Hooks of resources: whether anybody calls them, and what is unique in their names."""

from typing import cast

import pulumi
from pulumi.runtime import settings
from pulumi.runtime.mocks import MockMonitor


def called() -> bool:
    """Not in a unit test with Pulumi's mocks, where the SDK has no place to register a hook and fails."""
    server = cast(object, settings.SETTINGS.callbacks)  # pyright: ignore[reportAttributeAccessIssue, reportUnknownMemberType] - no type
    return server is not None or not isinstance(settings.get_monitor(), MockMonitor)


def kind(component: pulumi.Resource) -> str:
    """Its class, which tells the hooks of two components of one name apart."""
    return component.pulumi_resource_type.rsplit(":", 1)[-1]
