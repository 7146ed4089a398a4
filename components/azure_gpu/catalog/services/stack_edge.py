"""Azure Stack Edge: its GPUs and virtual machines, what its Kubernetes takes as jobs, and the commands of its PowerShell."""

from collections.abc import Iterator, Mapping, Sequence
from datetime import date
from types import MappingProxyType
from typing import NamedTuple

from azure_gpu.catalog import lifecycle
from azure_gpu.catalog.lifecycle import Lifecycle
from azure_gpu.catalog.problems import Problem
from azure_gpu.catalog.refusals import refused
from azure_gpu.catalog.services import gpu_sharing
from azure_gpu.catalog.services.gpu_sharing import SHARING_2021, Share, SharingRequest
from azure_gpu.catalog.size_use import SizeUse
from azure_gpu.catalog.sizes.model import Size
from azure_gpu.catalog.sources import observed, valid_from

_ARTICLES = "Microsoft Learn, articles/databox-online"
VM_PAGE_2022 = observed(f"{_ARTICLES}/azure-stack-edge-gpu-deploy-gpu-virtual-machine.md", 2022, 6, 24)
VM_PAGE = observed(f"{_ARTICLES}/azure-stack-edge-gpu-overview-gpu-virtual-machines.md", 2024, 8, 16)
_FPGA_PAGE = f"{_ARTICLES}, troubleshooting of Azure Stack Edge Pro FPGA"

_COMPARE = "compare it with what the device's own pages show"
GPU_COUNTS = (1, 2)


class Device(NamedTuple):
    """One model of device."""

    gpu: str  # that it ships with; empty: none
    lifecycle: Lifecycle
    note: str = ""


DEVICES: dict[str, Device] = {
    "Pro GPU": Device(gpu="T4", lifecycle=Lifecycle(seen=SHARING_2021), note="no notice of retirement was found"),
    "Pro 2": Device(gpu="A2", lifecycle=Lifecycle(seen=VM_PAGE), note="no notice of retirement was found"),
    "Pro FPGA": Device(
        gpu="",
        lifecycle=Lifecycle(
            seen=observed(_FPGA_PAGE, 2024, 2, 1),
            end=valid_from(f"{_FPGA_PAGE}: end of life in February 2024, last day taken", 2024, 2, 29),
        ),
    ),
}
GPUS = {"T4": Lifecycle(seen=SHARING_2021), "A2": Lifecycle(seen=VM_PAGE_2022)}
GPU_SIZES = {"Standard_NC4as_T4_v3": Lifecycle(seen=VM_PAGE_2022)}  # those of devices with A2 were found nowhere


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
        yield refused("edge.spot", use.path, use.size)
    if size.gpu is None:
        return
    listed = GPU_SIZES.get(size.name)
    if listed is None:
        problem = refused(
            "edge.unknown_size", use.path, use.size, allowed=", ".join(GPU_SIZES), instead=tuple(GPU_SIZES), size=size
        )
        yield from lifecycle.on_list(VM_PAGE, as_of, f"{size.name} on Azure Stack Edge", problem, _COMPARE)
        return
    yield from lifecycle.check(listed, f"{size.name} on Azure Stack Edge", as_of, path=use.path, value=use.size)
    if use.nodes > max(GPU_COUNTS):
        yield refused("edge.too_many_machines", use.path, use.nodes)


def device_problems(device: DeviceRequest, as_of: date) -> Iterator[Problem]:
    """All problems of the device and the division of its GPUs on that day."""
    yield from _model(device, as_of)
    path = device.at("gpu")
    if device.gpu in GPUS:
        yield from lifecycle.check(GPUS[device.gpu], f"{device.gpu} in Azure Stack Edge", as_of, path=path, value=device.gpu)
    else:
        problem = refused("edge.unknown_gpu", path, device.gpu, allowed=", ".join(GPUS))
        yield from lifecycle.on_list(VM_PAGE, as_of, f"the GPU {device.gpu} in Azure Stack Edge", problem, _COMPARE)
    if device.managed_iot_edge:
        yield from lifecycle.of_part("edge.managed_iot_edge", as_of, device.at("managed_iot_edge"), True)
    if device.gpu_count in GPU_COUNTS:
        yield from _division(device)
    else:
        path = device.at("gpu_count")
        yield refused("edge.gpu_count", path, device.gpu_count)


def _model(device: DeviceRequest, as_of: date) -> Iterator[Problem]:
    path = device.at("model")
    model = DEVICES.get(device.model)
    if model is None:
        yield refused("edge.unknown_model", path, device.model, allowed=", ".join(DEVICES))
        return
    what, fix = f"Azure Stack Edge {device.model}", "use a device with a GPU: Pro GPU or Pro 2"
    yield from lifecycle.check(model.lifecycle, what, as_of, path=path, value=device.model, fix=fix, instead=("Pro GPU", "Pro 2"))
    if device.gpu in GPUS and device.gpu != model.gpu:
        yield refused("edge.gpu_of_other_model", device.at("gpu"), device.gpu, allowed=model.gpu or "none", what=what)


def _division(device: DeviceRequest) -> Iterator[Problem]:
    path = device.at("gpu_vms")
    if not 0 <= device.gpu_vms <= device.gpu_count:
        yield refused("edge.more_machines_than_gpus", path, device.gpu_vms, device=device)
    if not device.kubernetes or device.gpu_vms <= 0:
        return
    if device.kubernetes_first:
        path = device.at("kubernetes_first")
        yield refused("edge.kubernetes_first", path, True)
    elif claims(device.gpu_count, device.gpu_vms, kubernetes_first=False).kubernetes == 0:
        yield refused("edge.no_gpu_left", path, device.gpu_vms, most=device.gpu_count - 1)


NO_GPU = "none"  # of a job without a GPU; leaving NVIDIA_VISIBLE_DEVICES out must not mean all


class EdgeJob(NamedTuple):
    """One job on the device's Kubernetes."""

    path: str  # where the job is written
    visible_devices: str | None = NO_GPU  # NVIDIA_VISIBLE_DEVICES: the index of one GPU, or none; None: left out
    active_thread_percentage: float | None = None  # CUDA_MPS_ACTIVE_THREAD_PERCENTAGE
    host_ipc: bool = False
    host_pid: bool = False


def job_problems(jobs: Sequence[EdgeJob], sharing: SharingRequest, gpus: int | None) -> Iterator[Problem]:
    """All problems of these jobs on one device. `gpus`: those that its Kubernetes has; None: unknown."""
    if sharing.strategy not in ("none", "mps"):
        yield refused("edge.other_sharing", sharing.at("strategy"), sharing.strategy)
    elif sharing.replicas is not None:
        yield refused("edge.replicas", sharing.at("replicas"), sharing.replicas)
    for job in jobs:
        yield from _visible_devices(job, gpus)
        yield from _mps(job, sharing.strategy == "mps")
    yield from gpu_sharing.totals(
        Share(gpu=job.visible_devices, percentage=job.active_thread_percentage, path=f"{job.path}.active_thread_percentage")
        for job in jobs
        if job.active_thread_percentage is not None and job.visible_devices not in (None, NO_GPU)
    )


def _visible_devices(job: EdgeJob, gpus: int | None) -> Iterator[Problem]:
    if job.visible_devices == NO_GPU:
        return
    # A device has two GPUs at most, which its own rule checks.
    indexes = [str(index) for index in range(gpus)] if gpus is not None and gpus <= max(GPU_COUNTS) else None
    allowed = ", ".join((*(indexes if indexes is not None else ["the index of a GPU"]), NO_GPU))
    path, given = f"{job.path}.visible_devices", job.visible_devices
    if given is None:
        yield refused("edge.devices_not_set", path, allowed=allowed)
    elif "," in given or given == "all":
        yield refused("edge.several_gpus", path, given, allowed=allowed)
    elif "." in given:
        yield refused("edge.part_of_a_gpu", path, given, allowed=allowed)
    elif indexes is None and not given.isdecimal():
        yield refused("edge.bad_index", path, given, allowed=allowed)
    elif indexes is not None and given not in indexes:
        yield refused("edge.index_too_high", path, given, allowed=allowed, gpus="1 GPU" if gpus == 1 else f"{gpus} GPUs")


def _mps(job: EdgeJob, mps: bool) -> Iterator[Problem]:
    percentage = job.active_thread_percentage
    path = f"{job.path}.active_thread_percentage"
    if percentage is not None:
        share = SharingRequest(path=job.path, strategy="mps" if mps else "none", active_thread_percentage=percentage)
        yield from gpu_sharing.check(share, None)
        if job.visible_devices == NO_GPU:
            yield refused("edge.share_of_nothing", path, percentage)
    if mps and job.visible_devices != NO_GPU and not job.host_ipc:
        yield refused("edge.no_host_ipc", f"{job.path}.host_ipc", False)
