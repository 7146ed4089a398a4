"""Manifests of GPU feature discovery: node labels for the GPUs' model, number and sharing.

NVIDIA's discovery writes what a node has into a NodeFeature, an object of Node Feature Discovery (NFD). NFD's master turns these
objects into labels, and its garbage collector removes those of deleted nodes; so both and the two types are included, as in its
deployment/base of v0.17.3. NFD's own workers are left out.
"""

from collections.abc import Iterator
from typing import Any

from azure_gpu.catalog.services.aks import device_plugin
from azure_gpu.catalog.services.groups import mirrored
from azure_gpu.kubernetes.gpu_objects.plugin import (
    CONFIG_MOUNT,
    NAMESPACE,
    UNPRIVILEGED,
    checksum,
    config_volume,
    daemon_set,
    host_folder,
    mig_environment,
    on_nodes_of,
    security_context,
)
from azure_gpu.kubernetes.gpu_objects.spec import ClusterObjectsSpec, SharingConfig
from azure_gpu.kubernetes.jobs import LOGICAL_NAME, MANAGED_BY
from azure_gpu.kubernetes.objects import Manifest

MASTER = "nfd-master"
COLLECTOR = "nfd-gc"
DISCOVERY = "gpu-feature-discovery"
_GROUP = "nfd.k8s-sigs.io"
_HEALTH_PORT = 8082
_METRICS_PORT = 8081
_PRESERVED: dict[str, Any] = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}


def manifests(spec: ClusterObjectsSpec) -> Iterator[Manifest]:
    """The types, master and garbage collector with their permissions, and a discovery for each configuration."""
    yield from types()
    yield _account(MASTER)
    yield _role(
        MASTER,
        [
            {"apiGroups": [""], "resources": ["namespaces"], "verbs": ["list", "watch"]},
            {"apiGroups": [""], "resources": ["nodes", "nodes/status"], "verbs": ["get", "list", "patch", "update"]},
            {"apiGroups": [_GROUP], "resources": ["nodefeatures", "nodefeaturerules"], "verbs": ["get", "list", "watch"]},
        ],
    )
    yield _binding(MASTER)
    yield _master(spec)
    yield _account(COLLECTOR)
    yield _role(
        COLLECTOR,
        [
            {"apiGroups": [""], "resources": ["nodes"], "verbs": ["list", "watch"]},
            {"apiGroups": [_GROUP], "resources": ["nodefeatures"], "verbs": ["delete", "list"]},
            # The collector lists them even without NFD's topology updater.
            {"apiGroups": ["topology.node.k8s.io"], "resources": ["noderesourcetopologies"], "verbs": ["delete", "list"]},
        ],
    )
    yield _binding(COLLECTOR)
    yield _collector(spec)
    yield _account(DISCOVERY)
    verbs = ["get", "list", "watch", "create", "update"]
    yield _role(DISCOVERY, [{"apiGroups": [_GROUP], "resources": ["nodefeatures"], "verbs": verbs}])
    yield _binding(DISCOVERY)
    for config in spec.configs.values():
        yield _discovery(spec, config)


def types() -> Iterator[Manifest]:
    """The two types of NFD that its master reads; their content is left open."""
    yield _type("NodeFeature", "nodefeatures", "Namespaced")
    yield _type("NodeFeatureRule", "nodefeaturerules", "Cluster")


def _type(kind: str, plural: str, scope: str) -> Manifest:
    schema = {"type": "object", "properties": {"spec": _PRESERVED}, "required": ["spec"]}
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{plural}.{_GROUP}", "labels": MANAGED_BY},
        "spec": {
            "group": _GROUP,
            "names": {"kind": kind, "listKind": f"{kind}List", "plural": plural, "singular": kind.lower()},
            "scope": scope,
            "versions": [{"name": "v1alpha1", "served": True, "storage": True, "schema": {"openAPIV3Schema": schema}}],
        },
    }


def _account(name: str) -> Manifest:
    return {
        "apiVersion": "v1",
        "kind": "ServiceAccount",
        "metadata": {"name": name, "namespace": NAMESPACE, "labels": MANAGED_BY},
    }


def _role(name: str, rules: list[dict[str, Any]]) -> Manifest:
    return {
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": "ClusterRole",
        "metadata": {"name": f"azure-gpu-{name}", "labels": MANAGED_BY},
        "rules": rules,
    }


def _binding(name: str) -> Manifest:
    return {
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": "ClusterRoleBinding",
        "metadata": {"name": f"azure-gpu-{name}", "labels": MANAGED_BY},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": f"azure-gpu-{name}"},
        "subjects": [{"kind": "ServiceAccount", "name": name, "namespace": NAMESPACE}],
    }


def _master(spec: ClusterObjectsSpec) -> Manifest:
    probe: dict[str, Any] = {"grpc": {"port": _HEALTH_PORT}}
    container = {
        "name": MASTER,
        "image": mirrored(device_plugin.FEATURES_IMAGE, spec.mirror),
        "command": ["nfd-master"],
        "args": ["-extra-label-ns=nvidia.com", f"-grpc-health={_HEALTH_PORT}"],
        "env": [{"name": "NODE_NAME", "valueFrom": {"fieldRef": {"fieldPath": "spec.nodeName"}}}],
        "ports": [{"name": "health", "containerPort": _HEALTH_PORT}],
        "livenessProbe": probe,
        "readinessProbe": {**probe, "failureThreshold": 10},
        "resources": {"requests": {"cpu": "100m", "memory": "128Mi"}, "limits": {"memory": "512Mi"}},
        "securityContext": {**UNPRIVILEGED, "readOnlyRootFilesystem": True, "runAsNonRoot": True},
    }
    return _deployment(container)


def _collector(spec: ClusterObjectsSpec) -> Manifest:
    return _deployment(
        {
            "name": COLLECTOR,
            "image": mirrored(device_plugin.FEATURES_IMAGE, spec.mirror),
            "command": ["nfd-gc"],
            "ports": [{"name": "metrics", "containerPort": _METRICS_PORT}],
            "resources": {"requests": {"cpu": "10m", "memory": "128Mi"}, "limits": {"memory": "1Gi"}},
            "securityContext": {**UNPRIVILEGED, "readOnlyRootFilesystem": True, "runAsNonRoot": True},
        }
    )


def _deployment(container: dict[str, Any]) -> Manifest:
    """A Deployment of one container, which runs as the service account of the same name."""
    name = container["name"]
    labels = {LOGICAL_NAME: name, **MANAGED_BY}
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": name, "namespace": NAMESPACE, "labels": labels},
        "spec": {
            "replicas": 1,
            "selector": {"matchLabels": {LOGICAL_NAME: name}},
            "template": {
                "metadata": {"labels": labels},
                "spec": {
                    "serviceAccountName": name,
                    "enableServiceLinks": False,
                    "tolerations": [{"key": "CriticalAddonsOnly", "operator": "Exists"}],  # on pools for AKS's own pods
                    "containers": [container],
                },
            },
        },
    }


def _discovery(spec: ClusterObjectsSpec, config: SharingConfig) -> Manifest:
    container = {
        "name": DISCOVERY,
        "image": spec.plugin_image,
        "command": ["gpu-feature-discovery"],
        "env": [
            {"name": "NODE_NAME", "valueFrom": {"fieldRef": {"fieldPath": "spec.nodeName"}}},
            {"name": "NAMESPACE", "valueFrom": {"fieldRef": {"fieldPath": "metadata.namespace"}}},
            {"name": "GFD_USE_NODE_FEATURE_API", "value": "true"},
            {"name": "CONFIG_FILE", "value": "/config/config.yaml"},
            *mig_environment(config),
        ],
        "securityContext": security_context(config),
        "volumeMounts": [{"name": "host-sys", "mountPath": "/sys"}, CONFIG_MOUNT],
    }
    return daemon_set(
        f"{DISCOVERY}-{config.name}",
        {
            "serviceAccountName": DISCOVERY,
            "containers": [container],
            "volumes": [host_folder("host-sys", "/sys", "Directory"), config_volume(config)],
        },
        selector=on_nodes_of(config),
        taints=spec.taints_of(config.key),
        annotations=checksum(config),
    )
