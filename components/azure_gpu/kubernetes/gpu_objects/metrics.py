"""Manifests of NVIDIA's DCGM exporter: metrics of each GPU and the pod that uses it, for Prometheus.

The counters are listed one by one, so that the settings decide exactly what is exported, within the exporter's default set.
"""

import hashlib
from collections.abc import Iterator
from typing import Any

from azure_gpu.catalog.services.aks import dcgm
from azure_gpu.kubernetes.gpu_objects.plugin import ADMINISTERS, NAMESPACE, UNPRIVILEGED, daemon_set, on_gpu_nodes
from azure_gpu.kubernetes.gpu_objects.spec import ClusterObjectsSpec
from azure_gpu.kubernetes.jobs import LOGICAL_NAME, MANAGED_BY
from azure_gpu.kubernetes.objects import Manifest

NAME = "dcgm-exporter"
_FOLDER = "/etc/dcgm-exporter/counters"
_FILE = "counters.csv"


def counters_csv(spec: ClusterObjectsSpec) -> str:
    """The counters in the exporter's format: field, kind, help."""
    return "".join(f"{counter}, gauge, in {dcgm.COUNTERS.get(counter, 'the unit of DCGM')}\n" for counter in spec.counters)


def manifests(spec: ClusterObjectsSpec) -> Iterator[Manifest]:
    """Counters, the exporter on each node with GPUs, and its Service."""
    labels = {LOGICAL_NAME: NAME, **MANAGED_BY}
    csv = counters_csv(spec)
    counters = (
        f"{NAME}-counters-{hashlib.sha256(csv.encode()).hexdigest()[:8]}"  # changed content creates a new object, and so new pods
    )
    yield {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": counters, "namespace": NAMESPACE, "labels": labels},
        "data": {_FILE: csv},
    }
    yield _exporter(spec, counters)
    yield {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {
            "name": NAME,
            "namespace": NAMESPACE,
            "labels": labels,
            # It has no endpoints without nodes, so an update must not wait for them.
            "annotations": {"pulumi.com/skipAwait": "true"},
        },
        "spec": {"selector": {LOGICAL_NAME: NAME}, "ports": [{"name": "metrics", "port": dcgm.PORT, "targetPort": "metrics"}]},
    }


def _exporter(spec: ClusterObjectsSpec, counters: str) -> Manifest:
    health: dict[str, Any] = {"httpGet": {"path": "/health", "port": dcgm.PORT}, "initialDelaySeconds": 45}
    container = {
        "name": NAME,
        "image": spec.exporter_image,
        "args": ["-f", f"{_FOLDER}/{_FILE}"],
        "env": [
            {"name": "DCGM_EXPORTER_LISTEN", "value": f":{dcgm.PORT}"},
            {"name": "DCGM_EXPORTER_KUBERNETES", "value": "true"},  # labels by the pod that uses a GPU,
            {"name": "KUBERNETES_VIRTUAL_GPUS", "value": "true"},  # and by all pods that share it
            {"name": "NODE_NAME", "valueFrom": {"fieldRef": {"fieldPath": "spec.nodeName"}}},
        ],
        "ports": [{"name": "metrics", "containerPort": dcgm.PORT}],
        "livenessProbe": {**health, "periodSeconds": 5},
        # Root, because the kubelet's socket belongs to root.
        "securityContext": {"runAsNonRoot": False, "runAsUser": 0, **(ADMINISTERS if spec.profiled else UNPRIVILEGED)},
        "volumeMounts": [
            {"name": "pod-resources", "mountPath": "/var/lib/kubelet/pod-resources", "readOnly": True},
            {"name": "counters", "mountPath": _FOLDER, "readOnly": True},
        ],
    }
    volumes = [
        {"name": "pod-resources", "hostPath": {"path": "/var/lib/kubelet/pod-resources"}},
        {"name": "counters", "configMap": {"name": counters}},
    ]
    return daemon_set(
        NAME,
        {"automountServiceAccountToken": False, "containers": [container], "volumes": volumes},
        selector=on_gpu_nodes(),
        taints=spec.taints_of(),
    )
