"""A row of `prove`, and the workload reports that it is made of. Pure.

The last line of a workload's standard output is one JSON object (workloads/mnist/README.md, workloads/vector_add/README.md).
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from decimal import Decimal
from enum import StrEnum
from typing import Any, NamedTuple


class Service(StrEnum):
    """The services that can be tested, in the order of the table."""

    CONTAINER_GROUP = "container-group"
    JOB = "job"
    BATCH = "batch"
    AKS = "aks"
    ML_CLUSTER = "cluster"
    VM = "vm"
    ENDPOINT = "endpoint"

    @property
    # pyrefly: ignore[bad-override]
    def title(self) -> str:
        return ABOUT[self].title


class About(NamedTuple):
    """What is known of a service."""

    title: str
    section: str  # of a stack's file
    parts: str  # of the stack's view: ids by name
    option: str = ""  # of `run`, which names the part; "": it isn't tested by runs


ABOUT = {
    Service.CONTAINER_GROUP: About("container group", "container_groups", "groups"),
    Service.JOB: About("Container Apps job", "jobs", "jobs", "--job"),
    Service.BATCH: About("Batch pool", "pools", "pools", "--pool"),
    Service.AKS: About("AKS cluster", "clusters", "clusters", "--cluster"),
    Service.ML_CLUSTER: About("Azure ML compute", "ml_workspace.computes", "ml_computes", "--compute"),
    Service.VM: About("virtual machine", "vms", "vms", "--vm"),
    Service.ENDPOINT: About("Azure ML endpoint", "ml_endpoints", "endpoints"),
}
WITHOUT_GPU = 3  # exit code of a workload that requires a GPU and finds none


class Report(NamedTuple):
    """The report of one workload."""

    workload: str
    passed: bool
    on_gpu: bool | None = None  # None: not reported
    device: str = ""  # name; of a GPU also memory in GiB and the driver's CUDA version, if reported
    gb_per_second: float | None = None  # memory bandwidth of the vector addition
    images_per_second: float | None = None  # of the training
    problems: tuple[str, ...] = ()

    @property
    def measured(self) -> str:
        if self.gb_per_second is not None:
            return f"{self.gb_per_second:,.1f} GB/s"
        return f"{self.images_per_second:,.0f} images/s" if self.images_per_second is not None else ""


class Proof(NamedTuple):
    """One row: a service and its result."""

    service: Service
    place: str  # its name in the stack
    passed: bool
    device: str = ""  # "": not reported
    on_gpu: bool | None = None  # None: not reported
    measured: tuple[str, ...] = ()
    first_line_seconds: float | None = None  # from the start of its first run to that run's first line
    usd: Decimal | None = None  # of the runs; None: unknown
    why: tuple[str, ...] = ()  # the failure, with the output of `explain`


def failure(service: Service, place: str, *why: str) -> Proof:
    """The row of a service that failed. `why`: texts of one line or more."""
    return Proof(service, place, passed=False, why=tuple(line for text in why for line in text.splitlines()))


def report_of(lines: Sequence[str]) -> Report | None:
    """The report in the last line that is a workload's JSON object; None without one."""
    for line in reversed(lines):
        try:
            content = json.loads(line)
        except ValueError:
            continue
        if isinstance(content, dict) and "workload" in content and "passed" in content:
            return _report(content)
    return None


def without_gpu(workload: str) -> Report:
    """The report of a workload that ended as `WITHOUT_GPU` and whose output is gone, as with a removed Batch node."""
    return Report(workload, passed=False, on_gpu=False, problems=("it found no GPU, and --require-gpu is set",))


def _report(content: Mapping[str, Any]) -> Report:
    seconds = (content.get("seconds") or {}).get("training")
    images = int(content.get("steps") or 0) - int(content.get("resumed_from") or 0)
    rate = images * int(content.get("batch_size") or 0) / seconds if seconds else None
    device = str(content.get("device") or "").lower()
    return Report(
        workload=str(content["workload"]),
        passed=content["passed"] is True,
        on_gpu=False if content.get("exit_code") == WITHOUT_GPU else device in ("cuda", "gpu") if device else None,
        device=_device(content),
        gb_per_second=content.get("bandwidth_gb_per_s"),
        images_per_second=rate,
        problems=tuple(map(str, content.get("problems") or ())),
    )


def _device(content: Mapping[str, Any]) -> str:
    """`Tesla T4, 14.6 GiB, CUDA driver 12.9`; `CPU, AMD EPYC 7V12`."""
    name = str(content.get("device_name") or "")
    if str(content.get("device") or "").lower() == "cpu":
        return f"CPU, {name}" if name else "CPU"
    memory, driver = content.get("device_memory_mib"), content.get("cuda_driver")
    parts = [name, f"{memory / 1024:.1f} GiB" if memory else "", f"CUDA driver {driver}" if driver else ""]
    return ", ".join(part for part in parts if part)


def with_gpu_required(proof: Proof) -> Proof:
    """The row with --require-gpu: container groups and endpoints can't be told to reject the CPU, so it is checked here."""
    if not proof.passed or proof.on_gpu is not False:
        return proof
    return proof._replace(passed=False, why=("it computed on the CPU, and --require-gpu is set",))


def joined(service: Service, place: str, reports: Iterable[Report], **more: Any) -> Proof:
    """The row of several workloads on one service; passed if all have."""
    every = tuple(reports)
    devices = [each.device for each in every if each.device]
    gpus = [each.on_gpu for each in every if each.on_gpu is not None]
    return Proof(
        service,
        place,
        passed=bool(every) and all(each.passed for each in every),
        device=devices[0] if devices else "",
        on_gpu=all(gpus) if gpus else None,
        measured=tuple(each.measured for each in every if each.measured),
        **more,
    )
