"""Declares Kubernetes objects from manifests: mappings as kubectl takes them, whose values may be outputs.

Manifests come from pure functions, so that they can be tested against Kubernetes' schemas without an engine.
"""

from __future__ import annotations

from collections.abc import Mapping
from importlib import metadata
from typing import Any

import pulumi
import pulumi_kubernetes as kubernetes

from azure_gpu.catalog.services.groups import Chart
from azure_gpu.kubernetes import worker_group
from azure_gpu.kubernetes.manifests import filled

Manifest = Mapping[str, Any]


def declare(name: str, manifest: Manifest, opts: pulumi.ResourceOptions) -> pulumi.CustomResource:
    """Declares the manifest's object as the resource `name`. The spec of a JobSet can't be changed, as with a Job."""
    if manifest["kind"] == worker_group.KIND:
        replaced = pulumi.ResourceOptions(replace_on_changes=["spec"], delete_before_replace=True)
        return _Group(name, {**manifest, "status": None}, pulumi.ResourceOptions.merge(opts, replaced))
    return _Object(name, manifest, opts)


class _Object(pulumi.CustomResource):
    """An object of any kind, as the SDK's own classes register it: importing those takes nearly half a second."""

    def __init__(self, name: str, manifest: Manifest, opts: pulumi.ResourceOptions) -> None:
        version, kind = manifest["apiVersion"], manifest["kind"]
        of_sdk = pulumi.ResourceOptions(version=metadata.version("pulumi-kubernetes"))
        inputs = dict(manifest)
        if (version, kind) == ("v1", "Secret"):
            of_sdk.additional_secret_outputs = ["data", "stringData"]
            inputs |= {key: pulumi.Output.secret(manifest[key]) for key in of_sdk.additional_secret_outputs if key in manifest}
        token = f"kubernetes:{version if '/' in version else f'core/{version}'}:{kind}"
        super().__init__(token, name, inputs, pulumi.ResourceOptions.merge(opts, of_sdk))


class _Group(_Object):
    """A JobSet, whose status says whether it has failed."""

    status: pulumi.Output[dict[str, Any] | None]

    def __init__(self, name: str, manifest: Manifest, opts: pulumi.ResourceOptions) -> None:
        super().__init__(name, manifest, opts)
        called: str = manifest["metadata"]["name"]
        annotations: Mapping[str, str] = manifest["metadata"].get("annotations") or {}

        def check(status: dict[str, Any] | None) -> None:
            if why := worker_group.why_failed(status):
                raise pulumi.RunError(f"job {called} failed: {why}; change or remove it, and run `pulumi up`")

        if worker_group.HAS_ENDED in annotations.values() and not pulumi.runtime.is_dry_run():
            self.status.apply(check)


def controller(name: str, chart: Chart, opts: pulumi.ResourceOptions) -> pulumi.CustomResource:
    """Installs the chart as the resource `name`, in its usual namespace and under its usual name, which its controllers depend
    on."""
    return kubernetes.helm.v3.Release(
        name,
        name=chart.name,
        chart=chart.address,
        version=chart.version,
        namespace=chart.namespace,
        create_namespace=True,
        values=filled(chart.name, image=chart.image, version=chart.version),
        opts=opts,
    )


def toleration(taint: str) -> dict[str, str]:
    """The toleration of a taint, which is written as `key=value:Effect` or `key:Effect`."""
    key_value, _, effect = taint.rpartition(":")
    key, equals, value = key_value.partition("=")
    if not equals:
        return {"key": key, "operator": "Exists", "effect": effect}
    return {"key": key, "operator": "Equal", "value": value, "effect": effect}
