"""Manifests of what makes the GPUs of a cluster usable: NVIDIA's device plugin, with the control daemon that MPS requires, node
labels by GPU feature discovery, and metrics by the DCGM exporter.

Each sharing configuration has a separate DaemonSet, on the nodes whose label `nvidia.com/device-plugin.config` names it, with
that configuration as its file. NVIDIA's chart has one DaemonSet and a helper in every pod that watches the node's label, which
needs permissions on nodes; this needs none. The exporter's counters are listed one by one, so that the settings decide exactly
what is exported, within its default set.
"""

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from azure_gpu.catalog.services.aks import dcgm, device_plugin
from azure_gpu.catalog.services.groups import mirrored
from azure_gpu.kubernetes.gpu_objects.spec import ClusterObjectsSpec, SharingConfig
from azure_gpu.kubernetes.manifests import filled
from azure_gpu.kubernetes.objects import Manifest, toleration

NAMESPACE = "gpu-resources"  # as in AKS's documentation
LEVEL = "privileged"  # required for the host folders that device plugins mount
DISCOVERY, EXPORTER = "gpu-feature-discovery", "dcgm-exporter"


def manifests(spec: ClusterObjectsSpec) -> Iterator[Manifest]:
    """All of them, in the order in which they are required. None without pools of the stack."""
    if not spec.pools or not (spec.device_plugin or spec.feature_labels or spec.metrics):
        return
    yield filled("namespace", name=NAMESPACE, level=LEVEL)
    configs = [_words(spec, config) for config in spec.configs.values()]
    if spec.device_plugin or spec.feature_labels:
        # Separate ones: Pulumi replaces a changed one, and that must not affect other pools.
        yield from (filled("plugin-config", **words) for words in configs)
    for words in configs if spec.device_plugin else []:
        if words["mps_mounts"]:
            yield _daemon_set("nvidia-mps-control-daemon", words)
        yield _daemon_set("nvidia-device-plugin", words)
    if spec.feature_labels:
        yield from _features(spec, configs)
    if spec.metrics:
        yield from _metrics(spec)


def _words(spec: ClusterObjectsSpec, config: SharingConfig) -> dict[str, Any]:
    """What the manifests of a sharing configuration need of it."""
    document = json.dumps(config.document, sort_keys=True)
    return {
        "config": config.name,
        "key": config.key,
        "document": f"{json.dumps(config.document, indent=2)}\n",  # JSON is YAML too
        # Replaces the pods when their configuration changes, which they read only at their start.
        "annotations": {"azure-gpu/config": hashlib.sha256(document.encode()).hexdigest()},
        "tolerations": _tolerations(spec, config.key),
        "plugin_image": spec.plugin_image,
        "mps_root": device_plugin.MPS_ROOT,
        "mps_mounts": filled("mps-mounts") if config.by_mps else None,
        "mps_volumes": filled("mps-volumes", mps_root=device_plugin.MPS_ROOT) if config.by_mps else None,
        "mig_variable": filled("mig-variable") if config.by_mig else None,
        "rights": filled("administers" if config.by_mig else "unprivileged"),
    }


def _tolerations(spec: ClusterObjectsSpec, key: str | None = None) -> list[dict[str, str]]:
    return [toleration(taint) for taint in spec.taints_of(key)]


def _daemon_set(pod: str, words: Mapping[str, Any]) -> Manifest:
    """A DaemonSet that runs only on nodes with GPUs, by labels and tolerations."""
    return filled("daemon-set", **words, name=f"{pod}-{words['config']}", pod=filled(pod, **words))


def _features(spec: ClusterObjectsSpec, configs: Sequence[Mapping[str, Any]]) -> Iterator[Manifest]:
    """The types, master and garbage collector with their permissions, and a discovery for each configuration."""
    yield from filled("discovery-types")
    image = mirrored(device_plugin.FEATURES_IMAGE, spec.mirror)
    for name in ("nfd-master", "nfd-gc"):
        yield from filled("account", name=name, rules=filled(f"{name}-rules"))
        yield filled("discovery-deployment", name=name, container=filled(name, features_image=image))
    yield from filled("account", name=DISCOVERY, rules=filled(f"{DISCOVERY}-rules"))
    yield from (_daemon_set(DISCOVERY, words) for words in configs)


def _metrics(spec: ClusterObjectsSpec) -> Iterator[Manifest]:
    """Counters, the exporter on each node with GPUs, and its Service."""
    # The exporter's format: field, kind, help.
    csv = "".join(f"{counter}, gauge, in {dcgm.COUNTERS.get(counter, 'the unit of DCGM')}\n" for counter in spec.counters)
    words: dict[str, Any] = {
        "name": EXPORTER,
        "port": dcgm.PORT,
        "csv": csv,
        # Changed content creates a new object, and so new pods.
        "counters": f"{EXPORTER}-counters-{hashlib.sha256(csv.encode()).hexdigest()[:8]}",
        "exporter_image": spec.exporter_image,
        "rights": filled("administers" if spec.profiled else "unprivileged"),
    }
    yield filled("exporter-counters", **words)
    pod = filled(EXPORTER, **words)
    yield filled("daemon-set", name=EXPORTER, annotations=None, tolerations=_tolerations(spec), pod=pod)
    yield filled("exporter-service", **words)
