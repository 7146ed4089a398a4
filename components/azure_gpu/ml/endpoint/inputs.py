"""Inputs of an endpoint's deployments and of their autoscale rules.

The body of the endpoint itself is in `endpoint.py`; `traffic.py` sends it again with each change.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pulumi
from pulumi_azure_native import machinelearningservices as ml, monitor

from azure_gpu.catalog.services.machine_learning import deployments
from azure_gpu.catalog.services.machine_learning.deployments import AutoscaleRequest, Probe
from azure_gpu.ml.dependencies import WorkspaceOfEndpoint
from azure_gpu.ml.endpoint.deployments import DeploymentSpec
from azure_gpu.ml.endpoint.rules import is_existing

SKU = "Default"  # of every deployment; its capacity is the number of instances


def seconds(number: float) -> str:
    """A duration in ISO 8601: PT5S, PT0.5S."""
    return f"PT{number:.3f}".rstrip("0").rstrip(".") + "S"


def minutes(number: int) -> str:
    return f"PT{number}M"


def asset(reference: str, known: Mapping[str, Any]) -> pulumi.Input[str] | None:
    """The id of a referenced asset; None without a reference."""
    if not reference:
        return None
    return reference if is_existing(reference) else known[reference]["id"]


def deployment(
    spec: DeploymentSpec, workspace: WorkspaceOfEndpoint
) -> ml.ManagedOnlineDeploymentArgs | ml.KubernetesOnlineDeploymentArgs:
    """The properties of an OnlineDeployment."""
    shared: dict[str, Any] = {
        "model": asset(spec.model, workspace["models"]),
        "environment_id": asset(spec.environment, workspace["environments"]),
        "code_configuration": _code(spec, workspace),
        "model_mount_path": spec.settings.get("model_mount_path") or None,
        "description": spec.settings.get("description") or None,
        "environment_variables": dict(spec.settings.get("environment_variables", {})) or None,
        "app_insights_enabled": spec.settings.get("app_insights", False),
        **{f"{kind}_probe": _probe(probe) for kind, probe in spec.probes.items()},
        "request_settings": ml.OnlineRequestSettingsArgs(
            request_timeout=seconds(spec.timeout_seconds),
            max_concurrent_requests_per_instance=spec.limits.concurrent,
            max_queue_wait=seconds(spec.limits.queue_s),
        ),
    }
    if spec.managed:
        return ml.ManagedOnlineDeploymentArgs(
            endpoint_compute_type="Managed",
            instance_type=spec.instance_type,
            egress_public_network_access=ml.EgressPublicNetworkAccessType.DISABLED
            if spec.settings.get("egress") == "private"
            else ml.EgressPublicNetworkAccessType.ENABLED,
            scale_settings=ml.DefaultScaleSettingsArgs(scale_type="Default"),
            **shared,
        )
    return ml.KubernetesOnlineDeploymentArgs(
        endpoint_compute_type="Kubernetes",
        instance_type=spec.instance_type,  # always set: the SDK's own default is a machine size
        scale_settings=_by_utilization(spec.autoscale, spec.utilization)
        if spec.autoscale
        else ml.DefaultScaleSettingsArgs(scale_type="Default"),
        **shared,
    )


def autoscale_profile(
    scale: AutoscaleRequest, deployment_name: str, deployment_id: pulumi.Input[str]
) -> monitor.AutoscaleProfileArgs:
    """The one profile of a managed deployment: each metric adds an instance above its value, and removes one far below it."""
    above, below = monitor.ComparisonOperationType.GREATER_THAN, monitor.ComparisonOperationType.LESS_THAN
    rules = [
        monitor.ScaleRuleArgs(
            metric_trigger=monitor.MetricTriggerArgs(
                metric_name=deployments.METRICS[key],
                metric_resource_uri=deployment_id,
                time_grain=minutes(1),
                statistic=monitor.MetricStatisticType.AVERAGE,
                time_window=minutes(scale.window_minutes),
                time_aggregation=monitor.TimeAggregationType.AVERAGE,
                operator=operator,
                threshold=threshold,
            ),
            scale_action=monitor.ScaleActionArgs(
                direction=direction, type=monitor.ScaleType.CHANGE_COUNT, value="1", cooldown=minutes(scale.cooldown_minutes)
            ),
        )
        for key, most in scale.thresholds.items()
        for operator, threshold, direction in (
            (above, most, monitor.ScaleDirection.INCREASE),
            (below, deployments.shrink_below(most), monitor.ScaleDirection.DECREASE),
        )
    ]
    capacity = monitor.ScaleCapacityArgs(minimum=str(scale.least), maximum=str(scale.most), default=str(scale.least))
    return monitor.AutoscaleProfileArgs(name=deployment_name, capacity=capacity, rules=rules)


def _by_utilization(scale: AutoscaleRequest, utilization: int) -> ml.TargetUtilizationScaleSettingsArgs:
    return ml.TargetUtilizationScaleSettingsArgs(
        scale_type="TargetUtilization",
        min_instances=scale.least,
        max_instances=scale.most,
        target_utilization_percentage=utilization,
        polling_interval=seconds(deployments.DEFAULT_POLLING_S),
    )


def _code(spec: DeploymentSpec, workspace: WorkspaceOfEndpoint) -> ml.CodeConfigurationArgs | None:
    code = spec.settings.get("code")
    if code is None:
        return None
    return ml.CodeConfigurationArgs(code_id=asset(code["code"], workspace["code"]), scoring_script=code["script"])


def _probe(probe: Probe) -> ml.ProbeSettingsArgs:
    return ml.ProbeSettingsArgs(
        initial_delay=seconds(probe.initial_delay),
        period=seconds(probe.period),
        timeout=seconds(probe.timeout),
        success_threshold=probe.success_threshold,
        failure_threshold=probe.failure_threshold,
    )
