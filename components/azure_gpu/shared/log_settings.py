"""Declares diagnostic settings, which send the logs of a resource to the log workspace without a key."""

from __future__ import annotations

from collections.abc import Sequence

import pulumi
from pulumi_azure_native import monitor

from azure_gpu.catalog.providers import INSIGHTS
from azure_gpu.shared.context import LogsArgs
from azure_gpu.shared.hooks import called, kind

# What the provider shows where the subscription isn't registered: pulumi-azure-native issue 3479 (2024-08-01),
# the body of Azure/azure-sdk-for-net issue 17836 (2021-01-07) through pulumi-azure-native 3.29.
_UNREGISTERED = 'status=409 code="serviceerror" message="conflict"'


def declare(
    name: str, of: pulumi.Output[str], logs: LogsArgs | None, categories: Sequence[str], opts: pulumi.ResourceOptions
) -> monitor.DiagnosticSetting | None:
    """Declares the setting of the resource with the ARM id `of`; None without a log workspace, or if a policy creates it."""
    if logs is None or logs.get("settings_by_policy", False):
        return None
    return monitor.DiagnosticSetting(
        f"{name}-logs",
        name="logs",
        resource_uri=of,
        workspace_id=logs["workspace_arm_id"],
        logs=[monitor.DiagnosticsLogSettingsArgs(category=category, enabled=True) for category in categories],
        opts=pulumi.ResourceOptions.merge(opts, pulumi.ResourceOptions(hooks=_hooks(name, opts.parent))),
    )


def _hooks(name: str, parent: pulumi.Resource | None) -> pulumi.ResourceHookBinding | None:
    """Explains an error without a reason. A hook's name is unique in a program, `name` among those of `parent`."""
    if parent is None or not called():
        return None

    def explain(args: pulumi.ErrorHookArgs) -> bool:
        if args.errors and (_UNREGISTERED in args.errors[0].lower() or "not registered to use" in args.errors[0]):
            pulumi.log.warn(
                f"{args.name}: if the subscription isn't registered for {INSIGHTS}, run "
                f"`az provider register --namespace {INSIGHTS} --wait`, then `pulumi up` again"
            )
        return False

    return pulumi.ResourceHookBinding(on_error=[pulumi.ErrorHook(f"{kind(parent)}-{name}-logs-registered", explain)])
