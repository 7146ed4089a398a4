"""Sends the logs of a service to the stack's log workspace, by the service's own right and without a key.

In: the resource whose logs they are, and the workspace. Out: the setting, or nothing where the stack has no workspace.
"""

from __future__ import annotations

from collections.abc import Sequence

import pulumi
from pulumi_azure_native import monitor

from azure_gpu.shared.context import LogsArgs


def declare(
    name: str, of: pulumi.Output[str], logs: LogsArgs | None, categories: Sequence[str], opts: pulumi.ResourceOptions
) -> monitor.DiagnosticSetting | None:
    """The setting of the resource with the ARM id `of`."""
    if logs is None:
        return None
    return monitor.DiagnosticSetting(
        f"{name}-logs",
        name="logs",
        resource_uri=of,
        workspace_id=logs["workspace_arm_id"],
        logs=[monitor.DiagnosticsLogSettingsArgs(category=category, enabled=True) for category in categories],
        opts=opts,
    )
