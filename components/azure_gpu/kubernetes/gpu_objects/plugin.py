"""Manifests of NVIDIA's device plugin, which makes GPUs visible to Kubernetes, and of the control daemon that MPS requires.

Each sharing configuration has a separate DaemonSet, on the nodes whose label `nvidia.com/device-plugin.config` names it, with
that configuration as its file. NVIDIA's chart has one DaemonSet and a helper in every pod that watches the node's label, which
needs permissions on nodes; this needs none. No pod has more privileges than the same pod of NVIDIA's chart; only the control
daemon of MPS is privileged.
"""

import hashlib
import json
from collections.abc import Iterator, Sequence
from typing import Any

from azure_gpu.catalog.services.aks import device_plugin
from azure_gpu.kubernetes.gpu_objects.spec import ClusterObjectsSpec, SharingConfig
from azure_gpu.kubernetes.jobs import LOGICAL_NAME, MANAGED_BY
from azure_gpu.kubernetes.objects import Manifest, toleration

NAMESPACE = "gpu-resources"  # as in AKS's documentation
PRIVILEGED = {"privileged": True}
UNPRIVILEGED: dict[str, Any] = {"allowPrivilegeEscalation": False, "capabilities": {"drop": ["ALL"]}}
# Required for MIG's devices and profiling counters. The form is that of dcgm-exporter 4.5.3-4.8.2, deployment/values.yaml, and
# passes policies against privileged pods and privilege escalation.
ADMINISTERS: dict[str, Any] = {"allowPrivilegeEscalation": False, "capabilities": {"add": ["SYS_ADMIN"], "drop": ["ALL"]}}
CONFIG_MOUNT = {"name": "config", "mountPath": "/config", "readOnly": True}


def manifests(spec: ClusterObjectsSpec) -> Iterator[Manifest]:
    """For each configuration its file, a device plugin, and a control daemon if it shares by MPS."""
    yield from configs(spec)
    for config in spec.configs.values():
        if config.by_mps:
            yield _mps_control_daemon(spec, config)
        yield _device_plugin(spec, config)


def configs(spec: ClusterObjectsSpec) -> Iterator[Manifest]:
    """A ConfigMap for each sharing configuration: Pulumi replaces a changed one, and that must not affect other pools."""
    for config in spec.configs.values():
        yield {
            "apiVersion": "v1",
            "kind": "ConfigMap",
            "metadata": {"name": _config_name(config), "namespace": NAMESPACE, "labels": MANAGED_BY},
            "data": {"config.yaml": f"{json.dumps(config.document, indent=2)}\n"},  # JSON is YAML too
        }


def _config_name(config: SharingConfig) -> str:
    return f"nvidia-device-plugin-{config.name}"


def daemon_set(
    name: str,
    pod: dict[str, Any],
    *,
    selector: dict[str, Any],
    taints: Sequence[str],
    annotations: dict[str, str] | None = None,
) -> Manifest:
    """A DaemonSet that runs only on nodes with GPUs, by labels and tolerations."""
    labels = {LOGICAL_NAME: name, **MANAGED_BY}
    return {
        "apiVersion": "apps/v1",
        "kind": "DaemonSet",
        "metadata": {"name": name, "namespace": NAMESPACE, "labels": labels},
        "spec": {
            "selector": {"matchLabels": {LOGICAL_NAME: name}},
            "updateStrategy": {"type": "RollingUpdate"},
            "template": {
                "metadata": {"labels": labels, **({"annotations": annotations} if annotations else {})},
                "spec": {
                    "priorityClassName": "system-node-critical",
                    "tolerations": [toleration(taint) for taint in taints],
                    **selector,
                    **pod,
                },
            },
        },
    }


def on_nodes_of(config: SharingConfig) -> dict[str, Any]:
    return {"nodeSelector": {device_plugin.CONFIG_LABEL: config.key}}


def on_gpu_nodes() -> dict[str, Any]:
    """Selects nodes with any configuration."""
    term = {"matchExpressions": [{"key": device_plugin.CONFIG_LABEL, "operator": "Exists"}]}
    return {"affinity": {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [term]}}}}


def config_volume(config: SharingConfig) -> dict[str, Any]:
    return {"name": "config", "configMap": {"name": _config_name(config)}}


def checksum(config: SharingConfig) -> dict[str, str]:
    """An annotation that replaces the pods when their configuration changes, which they read only at their start."""
    return {"azure-gpu/config": hashlib.sha256(json.dumps(config.document, sort_keys=True).encode()).hexdigest()}


def mig_environment(config: SharingConfig) -> list[dict[str, Any]]:
    return [{"name": "NVIDIA_MIG_MONITOR_DEVICES", "value": "all"}] if config.by_mig else []


def security_context(config: SharingConfig) -> dict[str, Any]:
    """What a container needs that reads the GPUs of a node: as in NVIDIA's chart v0.18.0, templates/_helpers.tpl."""
    return ADMINISTERS if config.by_mig else UNPRIVILEGED


def host_folder(name: str, path: str, kind: str) -> dict[str, Any]:
    return {"name": name, "hostPath": {"path": path, "type": kind}}


def _environment(config: SharingConfig) -> list[dict[str, Any]]:
    return [
        {"name": "CONFIG_FILE", "value": "/config/config.yaml"},
        {"name": "MPS_ROOT", "value": device_plugin.MPS_ROOT},
        {"name": "NVIDIA_VISIBLE_DEVICES", "value": "all"},
        {"name": "NVIDIA_DRIVER_CAPABILITIES", "value": "compute,utility"},
        *mig_environment(config),
    ]


def _device_plugin(spec: ClusterObjectsSpec, config: SharingConfig) -> Manifest:
    mounts = [{"name": "device-plugins", "mountPath": "/var/lib/kubelet/device-plugins"}, CONFIG_MOUNT]
    volumes = [host_folder("device-plugins", "/var/lib/kubelet/device-plugins", "Directory"), config_volume(config)]
    if config.by_mps:  # for the health of the control daemon
        mounts += [{"name": "mps-shm", "mountPath": "/dev/shm"}, {"name": "mps-root", "mountPath": "/mps"}]  # noqa: S108
        volumes += _mps_volumes()
    container = {
        "name": "nvidia-device-plugin",
        "image": spec.plugin_image,
        "command": ["nvidia-device-plugin"],
        "env": _environment(config),
        "securityContext": security_context(config),
        "volumeMounts": mounts,
    }
    return daemon_set(
        f"nvidia-device-plugin-{config.name}",
        {"automountServiceAccountToken": False, "containers": [container], "volumes": volumes},
        selector=on_nodes_of(config),
        taints=spec.taints_of(config.key),
        annotations=checksum(config),
    )


def _mps_control_daemon(spec: ClusterObjectsSpec, config: SharingConfig) -> Manifest:
    mounts = {
        "name": "mps-control-daemon-mounts",
        "image": spec.plugin_image,
        "command": ["mps-control-daemon", "mount-shm"],
        "securityContext": PRIVILEGED,
        "volumeMounts": [{"name": "mps-root", "mountPath": "/mps", "mountPropagation": "Bidirectional"}],
    }
    container = {
        "name": "mps-control-daemon",
        "image": spec.plugin_image,
        "command": ["mps-control-daemon"],
        "env": [{"name": "NODE_NAME", "valueFrom": {"fieldRef": {"fieldPath": "spec.nodeName"}}}, *_environment(config)],
        "securityContext": PRIVILEGED,
        "volumeMounts": [
            {"name": "mps-shm", "mountPath": "/dev/shm"},  # noqa: S108
            {"name": "mps-root", "mountPath": "/mps"},
            CONFIG_MOUNT,
        ],
    }
    return daemon_set(
        f"nvidia-mps-control-daemon-{config.name}",
        {
            "hostPID": True,  # the chart's default: the daemon has to find itself in the driver's list of processes
            "automountServiceAccountToken": False,
            "initContainers": [mounts],
            "containers": [container],
            "volumes": [*_mps_volumes(), config_volume(config)],
        },
        selector=on_nodes_of(config),
        taints=spec.taints_of(config.key),
        annotations=checksum(config),
    )


def _mps_volumes() -> list[dict[str, Any]]:
    root = device_plugin.MPS_ROOT
    return [host_folder("mps-root", root, "DirectoryOrCreate"), {"name": "mps-shm", "hostPath": {"path": f"{root}/shm"}}]
