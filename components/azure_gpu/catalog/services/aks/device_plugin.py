"""The NVIDIA device plugin for Kubernetes: versions, configuration keys and their rules, labels.

By v0.20.0, README and api/config/v1.
"""

from collections.abc import Iterator, Mapping
from typing import cast

from azure_gpu.catalog.problems import Problem
from azure_gpu.catalog.refusals import refused
from azure_gpu.catalog.sources import observed

SOURCE = observed("NVIDIA/k8s-device-plugin v0.20.0, README and api/config/v1", 2026, 8, 19)


IMAGE = "nvcr.io/nvidia/k8s-device-plugin:v0.18.0"  # what AKS's page deploys; source: use-nvidia-gpu@2026-07-02
# The image of pools, pinned by digest because it may be privileged. Source of the digest: NVIDIA/gpu-operator 71db5e97,
# bundle/manifests (2025-11-24).
PINNED_IMAGE = f"{IMAGE}@sha256:2d16df5f3f12081b4bd6b317cf697e5c7a195c53cec7e0bab756db02a06b985c"

# The chart: NVIDIA/k8s-device-plugin v0.18.0, deployments/helm and deployments/static (2025-10-21).
MPS_ROOT = "/run/nvidia/mps"  # on the node; the chart's own value
# Of the chart that NVIDIA's depends on. Source of the digest: what the registry is filled from, kubernetes/k8s.io,
# registry.k8s.io/images/k8s-staging-nfd/images.yaml, as soltysh/k8s.io a12d13ee has it (read on 2026-11-25).
FEATURES_IMAGE = (
    "registry.k8s.io/nfd/node-feature-discovery:v0.17.3@sha256:5ad4e3ac1afcbeb9d096241b0352614e5e77ee1bfe0f37c45a8d7b4329599d11"
)

VERSION = "v1"
MIG_STRATEGIES = ("none", "single", "mixed")
DEVICE_LIST_STRATEGIES = ("envvar", "volume-mounts", "cdi-annotations", "cdi-cri")
DEVICE_ID_STRATEGIES = ("uuid", "index")
OTHER_FLAGS = ("failOnInitError", "nvidiaDriverRoot")  # beside migStrategy, directly under `flags`
PLUGIN_FLAGS = ("passDeviceSpecs", "deviceListStrategy", "deviceIDStrategy")  # under `flags.plugin`
TIME_SLICING_KEYS = ("renameByDefault", "failRequestsGreaterThanOne", "resources")
MPS_KEYS = ("renameByDefault", "resources")
IGNORED_RESOURCE_KEYS = ("rename", "devices")  # of a shared resource; the plugin warns and goes on
GPU_RESOURCE = "nvidia.com/gpu"
MIG_PREFIX = "nvidia.com/mig-"
SHARED_SUFFIX = ".shared"  # of a renamed resource

CONFIG_LABEL = "nvidia.com/device-plugin.config"  # on a node: which key of the ConfigMap is its configuration
STRATEGY_LABEL = "nvidia.com/gpu.sharing-strategy"  # none, mps or time-slicing
SHARED_PRODUCT_SUFFIX = "-SHARED"  # of the product label, where the resource isn't renamed
MPS_EXPERIMENTAL_SINCE = "v0.15.0"


def replicas_label(resource: str) -> str:
    """The label with the number of replicas: `nvidia.com/gpu.replicas`."""
    return f"{resource}.replicas"


def check(config: Mapping[str, object], path: str) -> Iterator[Problem]:
    """The problems that keep the plugin from starting with this configuration, and a warning for what it ignores."""
    if config.get("version") != VERSION:
        yield refused("plugin.unknown_version", f"{path}.version", config.get("version"), version=VERSION)
    yield from _flags(_mapping(config.get("flags")), f"{path}.flags")
    yield from _sharing(_mapping(config.get("sharing")), f"{path}.sharing")


def _flags(flags: Mapping[str, object], path: str) -> Iterator[Problem]:
    plugin = _mapping(flags.get("plugin"))
    for where, given, name, values in (
        (path, flags, "migStrategy", MIG_STRATEGIES),
        (f"{path}.plugin", plugin, "deviceListStrategy", DEVICE_LIST_STRATEGIES),
        (f"{path}.plugin", plugin, "deviceIDStrategy", DEVICE_ID_STRATEGIES),
    ):
        value = given.get(name)
        given_values = cast(list[object], value) if isinstance(value, list) else [value]
        if name in given and any(one not in values for one in given_values):
            words = {"allowed": ", ".join(values), "key": name, "first": values[0]}
            yield refused("plugin.unknown_value", f"{where}.{name}", given_values, **words)
    for where, given, known in (
        (path, flags, ("migStrategy", "plugin", *OTHER_FLAGS)),
        (f"{path}.plugin", plugin, PLUGIN_FLAGS),
    ):
        yield from _unknown_keys(given, where, known)


def _sharing(sharing: Mapping[str, object], path: str) -> Iterator[Problem]:
    if "timeSlicing" in sharing and "mps" in sharing:
        yield refused("plugin.two_kinds_of_sharing", path)
    for kind, keys in (("timeSlicing", TIME_SLICING_KEYS), ("mps", MPS_KEYS)):
        shared = _mapping(sharing.get(kind))
        yield from _unknown_keys(shared, f"{path}.{kind}", keys)
        resources = shared.get("resources")
        for index, resource in enumerate(cast(list[object], resources) if isinstance(resources, list) else []):
            yield from _resource(_mapping(resource), f"{path}.{kind}.resources[{index}]", kind)


def _resource(resource: Mapping[str, object], path: str, kind: str) -> Iterator[Problem]:
    name, replicas = resource.get("name"), resource.get("replicas")
    if name != GPU_RESOURCE and (kind == "mps" or not str(name).startswith(MIG_PREFIX)):
        allowed = GPU_RESOURCE if kind == "mps" else f"{GPU_RESOURCE}, or {MIG_PREFIX}… of the mixed strategy"
        yield refused("plugin.other_resource", f"{path}.name", name, allowed=allowed, kind=kind, gpu_resource=GPU_RESOURCE)
    if not isinstance(replicas, int) or isinstance(replicas, bool) or replicas < 2:
        yield refused("plugin.one_replica", f"{path}.replicas", replicas)
    for key in IGNORED_RESOURCE_KEYS:
        if key in resource:
            yield refused("plugin.ignored_key", f"{path}.{key}", resource[key], key=key)


def _unknown_keys(given: Mapping[str, object], path: str, known: tuple[str, ...]) -> Iterator[Problem]:
    for key in given:
        if key not in known:
            yield refused("plugin.unknown_key", f"{path}.{key}", key, allowed=", ".join(known))


def _mapping(value: object) -> Mapping[str, object]:
    """A mapping as it is, and an empty one for anything else."""
    return cast(Mapping[str, object], value) if isinstance(value, Mapping) else {}
