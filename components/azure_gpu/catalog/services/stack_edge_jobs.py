"""Jobs that share the GPUs of an Azure Stack Edge device, by NVIDIA_VISIBLE_DEVICES alone or by the Multi-Process Service (MPS).

In: the jobs, the sharing in the words of `gpu_sharing`, and the number of GPUs that the device's Kubernetes has, if it is known.
Out: problems.
"""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from azure_gpu.catalog.problems import Code, Problem, Severity, impossible
from azure_gpu.catalog.services import gpu_sharing
from azure_gpu.catalog.services.gpu_sharing import Share, SharingRequest, Strategy
from azure_gpu.catalog.services.stack_edge_facts import COMPANION, GPU_COUNTS, SHARING_2021
from azure_gpu.catalog.sources import Source

NO_GPU = "none"  # what a job writes that gets no GPU; leaving NVIDIA_VISIBLE_DEVICES out never means all


class EdgeJob(NamedTuple):
    """One job on the device's Kubernetes."""

    path: str  # where the job is written
    visible_devices: str | None = NO_GPU  # NVIDIA_VISIBLE_DEVICES: the index of one GPU, or none; None: left out
    active_thread_percentage: float | None = None  # CUDA_MPS_ACTIVE_THREAD_PERCENTAGE
    host_ipc: bool = False
    host_pid: bool = False


def job_problems(jobs: Sequence[EdgeJob], sharing: SharingRequest, gpus: int | None) -> Iterator[Problem]:
    """Everything that speaks against these jobs on one device. `gpus`: those that its Kubernetes has; None: nobody says."""
    if sharing.strategy not in (Strategy.NONE, Strategy.MPS):
        message = "a device shares its GPUs by NVIDIA_VISIBLE_DEVICES alone, or by MPS with it"
        yield impossible(sharing.at("strategy"), message, sharing.strategy, "none, mps", "write none or mps", SHARING_2021)
    elif sharing.replicas is not None:
        message = "replicas are the device plugin's; on a device each job says its own share"
        fix = "leave it out, and give jobs an active_thread_percentage"
        yield impossible(sharing.at("replicas"), message, sharing.replicas, "nothing", fix, SHARING_2021)
    for job in jobs:
        yield from _visible_devices(job, gpus)
        yield from _mps(job, sharing.strategy == Strategy.MPS)
    yield from gpu_sharing.sums(
        Share(gpu=job.visible_devices, percentage=job.active_thread_percentage, path=f"{job.path}.active_thread_percentage")
        for job in jobs
        if job.active_thread_percentage is not None and job.visible_devices not in (None, NO_GPU)
    )


def _visible_devices(job: EdgeJob, gpus: int | None) -> Iterator[Problem]:
    if job.visible_devices == NO_GPU:
        return
    # A device has two GPUs at most, which is said of the device itself; a number beyond that isn't counted up to here.
    indexes = [str(index) for index in range(gpus)] if gpus is not None and gpus <= max(GPU_COUNTS) else None
    allowed = ", ".join((*(indexes if indexes is not None else ["the index of a GPU"]), NO_GPU))
    path, given = f"{job.path}.visible_devices", job.visible_devices
    if given is None:
        yield _warning(path, "a job that doesn't say which GPU it sees is never meant to see all", None, allowed, SHARING_2021)
        return
    if "," in given or given == "all":
        message, fix = "one job can't be given more than one GPU, though several jobs can share one", "make a job for each GPU"
    elif "." in given:
        message, fix = "a job sees whole GPUs; fractions need MPS and active_thread_percentage", "write the index of a GPU"
    elif indexes is None and given.isdecimal():
        return
    elif indexes is None:
        message, fix = "this is no index of a GPU", "write 0 for the first"
    elif given not in indexes:
        message, fix = f"there is no GPU of this index; the device's Kubernetes has {gpus}", "write one of those allowed"
    else:
        return
    yield impossible(path, message, given, allowed, fix, SHARING_2021)


def _mps(job: EdgeJob, mps: bool) -> Iterator[Problem]:
    percentage = job.active_thread_percentage
    path = f"{job.path}.active_thread_percentage"
    if percentage is not None:
        words = SharingRequest(
            path=job.path, strategy=Strategy.MPS if mps else Strategy.NONE, active_thread_percentage=percentage
        )
        yield from gpu_sharing.check(words, None)
        if job.visible_devices == NO_GPU:
            yield impossible(path, "a job without a GPU has no share of one", percentage, "nothing", "leave it out", SHARING_2021)
    if mps and job.visible_devices != NO_GPU and not job.host_ipc:
        message = (
            "the jobs that Microsoft shows reach MPS through the host's interprocess communication, and this one hasn't got it"
        )
        yield _warning(f"{job.path}.host_ipc", message, False, "true", COMPANION)


def _warning(path: str, message: str, value: object, allowed: str, source: Source) -> Problem:
    return Problem(
        path=path,
        message=message,
        value=value,
        allowed=allowed,
        fix="write one of those allowed",
        source=str(source),
        code=Code.UNKNOWN,
        severity=Severity.WARNING,
    )
