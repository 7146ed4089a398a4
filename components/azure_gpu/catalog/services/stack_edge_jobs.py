"""Rules for jobs that share the GPUs of an Azure Stack Edge device, by NVIDIA_VISIBLE_DEVICES, with or without MPS."""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from azure_gpu.catalog.problems import Code, Problem, Severity, impossible
from azure_gpu.catalog.services import gpu_sharing
from azure_gpu.catalog.services.gpu_sharing import Share, SharingRequest, Strategy
from azure_gpu.catalog.services.stack_edge_facts import COMPANION, GPU_COUNTS, SHARING_2021
from azure_gpu.catalog.sources import Source

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
    if sharing.strategy not in (Strategy.NONE, Strategy.MPS):
        message = "a device shares its GPUs only by NVIDIA_VISIBLE_DEVICES, with or without MPS"
        yield impossible(sharing.at("strategy"), message, sharing.strategy, "none, mps", "write none or mps", SHARING_2021)
    elif sharing.replicas is not None:
        message = "a device has no replicas; each job sets its share"
        fix = "leave it out, and set active_thread_percentage of each job"
        yield impossible(sharing.at("replicas"), message, sharing.replicas, "nothing", fix, SHARING_2021)
    for job in jobs:
        yield from _visible_devices(job, gpus)
        yield from _mps(job, sharing.strategy == Strategy.MPS)
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
        yield _warning(path, "visible_devices isn't set; leaving it out must not mean all GPUs", None, allowed, SHARING_2021)
        return
    if "," in given or given == "all":
        message, fix = "a job can have one GPU at most, though several jobs can share one", "create a job for each GPU"
    elif "." in given:
        message, fix = "a job sees whole GPUs; fractions need MPS and active_thread_percentage", "write the index of a GPU"
    elif indexes is None and given.isdecimal():
        return
    elif indexes is None:
        message, fix = "not a valid GPU index", "write 0 for the first"
    elif given not in indexes:
        message, fix = (
            f"GPU index out of range; the device's Kubernetes has {gpus} GPU{'' if gpus == 1 else 's'}",
            "write an allowed index",
        )
    else:
        return
    yield impossible(path, message, given, allowed, fix, SHARING_2021)


def _mps(job: EdgeJob, mps: bool) -> Iterator[Problem]:
    percentage = job.active_thread_percentage
    path = f"{job.path}.active_thread_percentage"
    if percentage is not None:
        share = SharingRequest(
            path=job.path, strategy=Strategy.MPS if mps else Strategy.NONE, active_thread_percentage=percentage
        )
        yield from gpu_sharing.check(share, None)
        if job.visible_devices == NO_GPU:
            yield impossible(
                path, "a job without a GPU can't have a share of one", percentage, "nothing", "leave it out", SHARING_2021
            )
    if mps and job.visible_devices != NO_GPU and not job.host_ipc:
        message = "in Microsoft's examples, jobs need the host's interprocess communication to reach MPS"
        yield _warning(f"{job.path}.host_ipc", message, False, "true", COMPANION)


def _warning(path: str, message: str, value: object, allowed: str, source: Source) -> Problem:
    return Problem(
        path=path,
        message=message,
        value=value,
        allowed=allowed,
        fix="write an allowed value",
        source=str(source),
        code=Code.UNKNOWN,
        severity=Severity.WARNING,
    )
