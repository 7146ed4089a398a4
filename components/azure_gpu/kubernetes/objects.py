"""Declares Kubernetes objects from manifests: mappings as kubectl takes them, whose values may be outputs.

Manifests come from pure functions, so that they can be tested against Kubernetes' schemas without an engine.
"""

from __future__ import annotations

from collections.abc import Mapping
from importlib import metadata
from typing import Any, cast

import pulumi
import pulumi_kubernetes as kubernetes

from azure_gpu.catalog.services.groups import Chart
from azure_gpu.kubernetes import worker_group

Manifest = Mapping[str, Any]


def _classes() -> dict[tuple[str, str], type[pulumi.CustomResource]]:
    """Classes of Kubernetes kinds. Named explicitly, because the SDK loads modules on access."""
    return cast(
        dict[tuple[str, str], type[pulumi.CustomResource]],
        {
            ("v1", "Namespace"): kubernetes.core.v1.Namespace,
            ("v1", "ResourceQuota"): kubernetes.core.v1.ResourceQuota,
            ("v1", "ConfigMap"): kubernetes.core.v1.ConfigMap,
            ("v1", "Secret"): kubernetes.core.v1.Secret,
            ("v1", "Service"): kubernetes.core.v1.Service,
            ("v1", "ServiceAccount"): kubernetes.core.v1.ServiceAccount,
            ("apps/v1", "DaemonSet"): kubernetes.apps.v1.DaemonSet,
            ("apps/v1", "Deployment"): kubernetes.apps.v1.Deployment,
            ("batch/v1", "Job"): kubernetes.batch.v1.Job,
            ("policy/v1", "PodDisruptionBudget"): kubernetes.policy.v1.PodDisruptionBudget,
            ("autoscaling/v2", "HorizontalPodAutoscaler"): kubernetes.autoscaling.v2.HorizontalPodAutoscaler,
            ("rbac.authorization.k8s.io/v1", "ClusterRole"): kubernetes.rbac.v1.ClusterRole,
            ("rbac.authorization.k8s.io/v1", "ClusterRoleBinding"): kubernetes.rbac.v1.ClusterRoleBinding,
            (
                "apiextensions.k8s.io/v1",
                "CustomResourceDefinition",
            ): kubernetes.apiextensions.v1.CustomResourceDefinition,
        },
    )


_ARGUMENTS = {"stringData": "string_data", "roleRef": "role_ref"}  # top-level keys that Python spells differently


def declare(name: str, manifest: Manifest, opts: pulumi.ResourceOptions) -> pulumi.CustomResource:
    """Declares the manifest's object as the resource `name`."""
    of = _classes().get((manifest["apiVersion"], manifest["kind"]))
    if of is None:
        return _custom(name, manifest, opts)
    arguments = {_ARGUMENTS.get(key, key): value for key, value in manifest.items() if key not in ("apiVersion", "kind")}
    return of(name, **arguments, opts=opts)


def _custom(name: str, manifest: Manifest, opts: pulumi.ResourceOptions) -> pulumi.CustomResource:
    """An object of a custom kind. The spec of a JobSet can't be changed, as with a Job."""
    if manifest["kind"] == worker_group.KIND:
        replaced = pulumi.ResourceOptions(replace_on_changes=["spec"], delete_before_replace=True)
        return _Group(name, manifest, pulumi.ResourceOptions.merge(opts, replaced))
    return kubernetes.apiextensions.CustomResource(
        name,
        api_version=manifest["apiVersion"],
        kind=manifest["kind"],
        metadata=manifest["metadata"],
        spec=manifest["spec"],
        opts=opts,
    )


class _Group(pulumi.CustomResource):
    """A JobSet with its status, which the SDK's own class for custom kinds leaves out."""

    status: pulumi.Output[dict[str, Any] | None]

    def __init__(self, name: str, manifest: Manifest, opts: pulumi.ResourceOptions) -> None:
        keys = ("apiVersion", "kind", "metadata", "spec")
        token = f"kubernetes:{manifest['apiVersion']}:{manifest['kind']}"
        version = pulumi.ResourceOptions(version=metadata.version("pulumi-kubernetes"))
        props = {**{key: manifest[key] for key in keys}, "status": None}
        super().__init__(token, name, props, pulumi.ResourceOptions.merge(opts, version))
        called: str = manifest["metadata"]["name"]
        annotations: Mapping[str, str] = manifest["metadata"].get("annotations") or {}

        def check(status: dict[str, Any] | None) -> None:
            if why := worker_group.why_failed(status):
                raise pulumi.RunError(f"job {called} failed: {why}; change or remove it, and run `pulumi up`")

        if worker_group.HAS_ENDED in annotations.values() and not pulumi.runtime.is_dry_run():
            self.status.apply(check)


def release(name: str, chart: Chart, values: Mapping[str, Any], opts: pulumi.ResourceOptions) -> pulumi.CustomResource:
    """Installs the chart as the resource `name`, in its usual namespace and under its usual name, which its controllers depend
    on."""
    return kubernetes.helm.v3.Release(
        name,
        name=chart.namespace.removesuffix("-system"),
        chart=chart.address,
        version=chart.version,
        namespace=chart.namespace,
        create_namespace=True,
        values=values,
        opts=opts,
    )


def toleration(taint: str) -> dict[str, str]:
    """The toleration of a taint, which is written as `key=value:Effect` or `key:Effect`."""
    key_value, _, effect = taint.rpartition(":")
    key, equals, value = key_value.partition("=")
    if not equals:
        return {"key": key, "operator": "Exists", "effect": effect}
    return {"key": key, "operator": "Equal", "value": value, "effect": effect}
