"""Rules for Azure Stack Edge devices with GPUs: model, GPUs, and their division between virtual machines and Kubernetes.

`stack_edge_facts` has the tables, `stack_edge_jobs` the rules for jobs that share the GPUs.
"""

from collections.abc import Iterator, Mapping
from datetime import date
from types import MappingProxyType
from typing import NamedTuple

from azure_gpu.catalog import lifecycle
from azure_gpu.catalog.problems import Code, Problem, Severity, impossible
from azure_gpu.catalog.services.stack_edge_facts import (
    DEVICES,
    EXTENSION_DEPRECATED,
    EXTENSION_SYSTEMS,
    GPU_COUNTS,
    GPU_SIZES,
    GPUS,
    MANAGED_IOT_EDGE,
    SHARING_2021,
    VM_PAGE,
)
from azure_gpu.catalog.size_use import SizeUse
from azure_gpu.catalog.sizes.model import Size, VmGeneration


class Claims(NamedTuple):
    """How the GPUs of a device are divided between virtual machines and Kubernetes."""

    virtual_machines: int
    kubernetes: int


def claims(gpus: int, virtual_machines: int, kubernetes_first: bool) -> Claims:
    """The GPUs of each side. Kubernetes takes every free GPU when it is configured; a virtual machine takes one."""
    given = 0 if kubernetes_first else min(virtual_machines, gpus)
    return Claims(given, gpus - given)


class DeviceRequest(NamedTuple):
    """One device, and what is to run on it."""

    path: str  # where the device is written
    paths: Mapping[str, str] = MappingProxyType({})  # by field, where it isn't `path` and the field's name
    model: str = "Pro GPU"
    gpu: str = "T4"
    gpu_count: int = 1
    gpu_vms: int = 0  # virtual machines with a GPU
    kubernetes: bool = True
    kubernetes_first: bool = False  # configured before the virtual machines are made
    managed_iot_edge: bool = False  # it runs modules by the managed IoT Edge

    def at(self, name: str) -> str:
        """Where the field of this name is written."""
        return self.paths.get(name, f"{self.path}.{name}")


def size_problems(size: Size, use: SizeUse, as_of: date) -> Iterator[Problem]:
    """The problems of this size on a device. A size without a GPU has none."""
    if use.spot:
        yield impossible(use.path, "Azure Stack Edge has no Spot machines", use.size, "no Spot", "leave Spot out", VM_PAGE)
    if size.gpu is None:
        return
    listed = GPU_SIZES.get(size.name)
    if listed is None:
        yield Problem(
            path=use.path,
            message=f"{size.name} isn't a known GPU size of Azure Stack Edge, which must match the device's GPU",
            value=use.size,
            allowed=", ".join(GPU_SIZES),
            fix="use an allowed size, on a device with a T4",
            instead=tuple(GPU_SIZES),
            source=str(VM_PAGE),
            code=Code.NOT_OFFERED,
        )
        return
    yield from lifecycle.check(listed, f"{size.name} on Azure Stack Edge", as_of, path=use.path, value=use.size)
    if use.nodes > max(GPU_COUNTS):
        message = "a device has at most two GPUs, and each serves one virtual machine"
        yield impossible(use.path, message, use.nodes, "1 or 2 virtual machines", "use fewer, or another device", VM_PAGE)


def device_problems(device: DeviceRequest, as_of: date) -> Iterator[Problem]:
    """All problems of the device and the division of its GPUs on that day."""
    yield from _model(device, as_of)
    path = device.at("gpu")
    if device.gpu in GPUS:
        yield from lifecycle.check(GPUS[device.gpu], f"{device.gpu} in Azure Stack Edge", as_of, path=path, value=device.gpu)
    else:
        yield impossible(path, "not a GPU of Azure Stack Edge", device.gpu, ", ".join(GPUS), "write the device's GPU", VM_PAGE)
    if device.managed_iot_edge:
        what, path = "managed IoT Edge on Azure Stack Edge", device.at("managed_iot_edge")
        fix = "deploy to the device's Kubernetes"
        yield from lifecycle.check(MANAGED_IOT_EDGE, what, as_of, path=path, value=True, fix=fix)
    if device.gpu_count in GPU_COUNTS:
        yield from _division(device)
    else:
        path = device.at("gpu_count")
        yield impossible(path, "a device has 1 or 2 GPUs", device.gpu_count, "1, 2", "write 1 or 2", SHARING_2021)


def _model(device: DeviceRequest, as_of: date) -> Iterator[Problem]:
    path = device.at("model")
    model = DEVICES.get(device.model)
    if model is None:
        yield Problem(
            path=path,
            message="unknown model of Azure Stack Edge, so it wasn't checked",
            value=device.model,
            allowed=", ".join(DEVICES),
            source=str(VM_PAGE),
            code=Code.UNKNOWN,
            severity=Severity.WARNING,
        )
        return
    what, fix = f"Azure Stack Edge {device.model}", "use a device with a GPU: Pro GPU or Pro 2"
    yield from lifecycle.check(model.lifecycle, what, as_of, path=path, value=device.model, fix=fix, instead=("Pro GPU", "Pro 2"))
    if device.gpu in GPUS and device.gpu != model.gpu:
        yield Problem(
            path=device.at("gpu"),
            message=f"{what} isn't known to have this GPU",
            value=device.gpu,
            allowed=model.gpu or "none",
            fix="write the device's actual model and GPU",
            source=str(VM_PAGE),
            code=Code.UNKNOWN,
            severity=Severity.WARNING,
        )


def _division(device: DeviceRequest) -> Iterator[Problem]:
    path = device.at("gpu_vms")
    if not 0 <= device.gpu_vms <= device.gpu_count:
        message = "more virtual machines with a GPU than GPUs; each needs one"
        yield impossible(path, message, device.gpu_vms, f"0 to {device.gpu_count}", "use fewer with a GPU", SHARING_2021)
    if not device.kubernetes or device.gpu_vms <= 0:
        return
    if device.kubernetes_first:
        message = "Kubernetes, if configured first, claims every GPU; creating a virtual machine with a GPU then fails"
        path = device.at("kubernetes_first")
        yield impossible(path, message, True, "virtual machines first", "create the virtual machines first", VM_PAGE)
    elif claims(device.gpu_count, device.gpu_vms, kubernetes_first=False).kubernetes == 0:
        yield Problem(
            path=path,
            message="the virtual machines use every GPU, and Kubernetes gets none",
            value=device.gpu_vms,
            allowed=f"at most {device.gpu_count - 1}, if jobs on Kubernetes need a GPU",
            fix="use fewer virtual machines with a GPU",
            source=str(VM_PAGE),
            code=Code.IMPOSSIBLE,
            severity=Severity.WARNING,
        )


def vm_problems(generation: VmGeneration, system: str, generation_path: str, system_path: str) -> Iterator[Problem]:
    """The problems of a virtual machine with a GPU: its generation, and whether the GPU extension runs on its `system`."""
    if generation is VmGeneration.GEN2:
        message = "a virtual machine with a GPU can't be Gen2 on a device"
        yield impossible(generation_path, message, str(generation), VmGeneration.GEN1, "use an image of Gen1", VM_PAGE)
    if system in EXTENSION_SYSTEMS:
        return
    deprecated = system == EXTENSION_DEPRECATED
    yield Problem(
        path=system_path,
        message="the GPU extension for this system is deprecated"
        if deprecated
        else "the GPU extension isn't known to support this system",
        value=system,
        allowed=", ".join(EXTENSION_SYSTEMS),
        fix="use another system, or install the driver by hand",
        source=str(VM_PAGE),
        code=Code.RETIRING if deprecated else Code.UNKNOWN,
        severity=Severity.WARNING,
    )
