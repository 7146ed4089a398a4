"""Validates a cluster at the edge and its jobs.

The limits of a device and its jobs are in `catalog.services.stack_edge` and `stack_edge_jobs`.
"""

from collections.abc import Iterator, Mapping, Sequence
from datetime import date

from azure_gpu.catalog.problems import Problem
from azure_gpu.catalog.refusals import refused
from azure_gpu.catalog.services import gpu_sharing, stack_edge
from azure_gpu.catalog.services.gpu_sharing import SharingRequest
from azure_gpu.catalog.services.stack_edge import DeviceRequest, EdgeJob
from azure_gpu.edge.args import (
    DEFAULT_GPU,
    DEFAULT_GPU_COUNT,
    DEFAULT_MODEL,
    EdgeDeviceArgs,
    EdgeJobSettings,
    EdgeSharingSettings,
)
from azure_gpu.kubernetes import jobs as kubernetes_jobs
from azure_gpu.shared.wording import give_secret, is_in_program


def device_request(args: EdgeDeviceArgs, path: str) -> DeviceRequest:
    """The device, for the catalog's rules."""
    return DeviceRequest(
        path=path,
        model=args.get("model", DEFAULT_MODEL),
        gpu=args.get("gpu", DEFAULT_GPU),
        gpu_count=int(args.get("gpu_count", DEFAULT_GPU_COUNT)),
        gpu_vms=int(args.get("gpu_vms", 0)),
        kubernetes_first=args.get("kubernetes_first", False),
        managed_iot_edge=args.get("managed_iot_edge", False),
    )


def gpus_of(device: DeviceRequest | None) -> int | None:
    """Number of GPUs of the device's Kubernetes; None for other clusters, whose number is unknown."""
    if device is None:
        return None
    return stack_edge.claims(device.gpu_count, max(device.gpu_vms, 0), device.kubernetes_first).kubernetes


def problems_of(
    args: EdgeSharingSettings,
    jobs: Mapping[str, EdgeJobSettings],
    device: DeviceRequest | None,
    sharing: SharingRequest,
    requests: Sequence[EdgeJob],
    path: str,
    day: date,
) -> Iterator[Problem]:
    """All problems on that day. `jobs` are the settings merged with those of their files."""
    yield from _kubeconfig(args, path)
    yield from kubernetes_jobs.name_problems(args["namespace"], f"{path}.namespace")
    if device is not None:
        yield from stack_edge.device_problems(device, day)
    wrong = [problem for problem in gpu_sharing.check(sharing, None) if sharing.strategy in ("none", "mps")]
    yield from wrong
    seen = {problem.path for problem in wrong}
    for problem in stack_edge.job_problems(requests, sharing, gpus_of(device)):
        if problem.path not in seen:
            yield problem
    for name, job in jobs.items():
        at = f"{path}.jobs.{name}"
        percentage = f"{at}.active_thread_percentage"  # validated by the rules on jobs
        yield from (one for one in kubernetes_jobs.mps_problems(job, sharing, None, at) if one.path != percentage)
        if "workload" in job and "pull_from" not in args:
            yield refused("edge.no_login", f"{at}.workload", str(job["workload"]))


def _kubeconfig(args: EdgeSharingSettings, path: str) -> Iterator[Problem]:
    if ("kubeconfig" in args) == ("kubeconfig_file" in args):
        here = f"{path}.kubeconfig"
        give = give_secret(here) if is_in_program(path) else f"{give_secret(here)} < kubeconfig"
        fix = "remove one of the two" if "kubeconfig" in args else f"{give}, or add kubeconfig_file"
        yield refused("edge.one_kubeconfig", here, fix=fix)
