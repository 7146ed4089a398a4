"""GPU feature discovery, emulated: it labels its node by the node's GPUs.

The real one writes a NodeFeature, by which the master of node feature discovery labels the node.
Behaviour: NVIDIA/k8s-device-plugin, cmd/gpu-feature-discovery and internal/lm.
"""

import re
import time
import tomllib
from collections.abc import Sequence
from pathlib import Path

from azure_gpu.catalog.services.aks.device_plugin import GPU_RESOURCE, MIG_PREFIX, SHARED_PRODUCT_SUFFIX
from azure_gpu.catalog.services.aks.mig import SINGLE
from localazure.kubernetes.client import KubeError
from localazure.kubernetes.infrastructure.context import ActorContext, WrongUseError
from localazure.kubernetes.infrastructure.device_plugin import MPS, NONE, PluginConfig, read_config
from localazure.kubernetes.node_gpus import NodeGpu

_FAMILIES = {3: "kepler", 5: "maxwell", 6: "pascal", 9: "hopper", 10: "blackwell", 12: "blackwell"}


def labels_of(gpus: Sequence[NodeGpu], config: PluginConfig, driver: str, cuda: str, machine: str) -> dict[str, str]:
    """All labels but the timestamp; none without a GPU. WrongUseError where the discovery ends with an error."""
    if not gpus:
        return {}
    cut = [gpu for gpu in gpus if gpu.instances]
    if config.strategy == MPS and cut:
        raise WrongUseError(
            "error creating sharing labeler: failed to check MPS-capable: MPS sharing is not supported for mig devices"
        )
    labels = {
        "nvidia.com/gpu.machine": _clean(machine),
        **_versions(driver, cuda),
        "nvidia.com/mig.capable": _yes(any(gpu.mig_capable for gpu in gpus)),
        "nvidia.com/mps.capable": _yes(config.strategy == MPS),
        "nvidia.com/gpu.mode": "compute",
        **_whole(gpus[0], len(gpus), None if cut else config),
    }
    if config.mig_strategy == NONE:
        return labels
    labels["nvidia.com/mig.strategy"] = config.mig_strategy
    if cut:
        labels |= _instances(cut, config)
    return labels


def _whole(gpu: NodeGpu, count: int, config: PluginConfig | None) -> dict[str, str]:
    """`config`: None for GPUs that MIG has cut, which have no replicas."""
    major, _, minor = gpu.compute_capability.partition(".")
    labels = {**_base(GPU_RESOURCE, count, _clean(gpu.name), config), f"{GPU_RESOURCE}.memory": str(gpu.memory_mib)}
    if major.isdigit():
        labels |= {
            f"{GPU_RESOURCE}.family": _family(int(major), int(minor or 0)),
            f"{GPU_RESOURCE}.compute.major": major,
            f"{GPU_RESOURCE}.compute.minor": minor,
        }
    return labels


def _instances(cut: Sequence[NodeGpu], config: PluginConfig) -> dict[str, str]:
    instances = [one for gpu in cut for one in gpu.instances]
    first = instances[0]
    resource = GPU_RESOURCE if config.mig_strategy == SINGLE else f"{MIG_PREFIX}{first.profile}"
    product = f"{_clean(cut[0].name)}-MIG-{first.profile}"
    slices = first.profile.partition("g")[0]
    return {
        **_base(resource, len(instances), product, config),
        f"{resource}.memory": str(first.memory_mib),
        f"{resource}.slices.gi": slices,
        f"{resource}.slices.ci": slices,
    }


def _base(resource: str, count: int, product: str, config: PluginConfig | None) -> dict[str, str]:
    sharing = config.shared.get(resource) if config else None
    replicas = 0 if config is None else sharing.replicas if sharing else 1
    suffix = SHARED_PRODUCT_SUFFIX if sharing and not sharing.rename else ""
    return {
        f"{resource}.product": product + suffix,
        f"{resource}.count": str(count),
        f"{resource}.replicas": str(replicas),
        f"{resource}.sharing-strategy": config.strategy if config and sharing else NONE,
    }


def _versions(driver: str, cuda: str) -> dict[str, str]:
    words = {"driver": (*driver.split("."), "", "")[:3], "cuda": cuda.partition(".")[::2], "whole": (driver, cuda)}
    said = tomllib.loads(Path(__file__).with_name("node_labels.toml").read_text(encoding="utf-8"))
    return {name: text.format(**words) for name, text in said.items()}


def _family(major: int, minor: int) -> str:
    if major == 7:
        return "volta" if minor < 5 else "turing"
    if major == 8:
        return "ampere" if minor < 9 else "ada-lovelace"
    return _FAMILIES.get(major, "undefined")


def _clean(text: str) -> str:
    return "-".join(re.sub(r"[^A-Za-z0-9-_. ]", "", text).split())


def _yes(value: bool) -> str:
    return "true" if value else "false"


MACHINE = "Virtual Machine"  # what the firmware of Azure's machines says of itself
SLEEP_SECONDS = 60.0


async def feature_discovery(context: ActorContext) -> int:
    """One run of the program."""
    before: dict[str, str] = {}
    try:
        while True:
            config = read_config(context)
            context.klog("Start running", where="main.go:248")
            state = context.devices.programs_of.state()
            found = labels_of(context.devices.gpus, config, state["driver_version"], state["cuda_version"], MACHINE)
            if not found:
                context.klog("No labels generated from any source", level="W", where="main.go:300")
            if not config.switch("no-timestamp"):
                found = {"nvidia.com/gfd.timestamp": str(int(time.time())), **found}
            labels = {**dict.fromkeys(before), **found}  # without what there was before
            await context.api.patch(f"/api/v1/nodes/{context.node_name}", {"metadata": {"labels": labels}})
            before = found
            if config.switch("oneshot") or await context.pause(SLEEP_SECONDS):
                return 0
    except (WrongUseError, KubeError) as error:
        context.klog(str(error), level="E", where="main.go:154")
        return 1
