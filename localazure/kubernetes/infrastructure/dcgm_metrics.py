"""The metrics of NVIDIA's DCGM exporter: the default set, how a list of them is parsed, and their text for Prometheus. Pure.

The text is that of `/metrics`. Metrics beyond the default set are passed over.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from azure_gpu.catalog.services.aks.dcgm import PROFILING, PROFILING_CAPABILITY
from localazure.kubernetes import gpu_usage, nvidia_smi


class Metric(NamedTuple):
    name: str
    kind: str  # gauge or counter
    help: str


DEFAULT = (  # etc/default-counters.csv of 4.5.3-4.8.2, those that a GPU of a virtual machine has a value for
    Metric("DCGM_FI_DEV_SM_CLOCK", "gauge", "SM clock frequency (in MHz)."),
    Metric("DCGM_FI_DEV_MEM_CLOCK", "gauge", "Memory clock frequency (in MHz)."),
    Metric("DCGM_FI_DEV_MEMORY_TEMP", "gauge", "Memory temperature (in C)."),
    Metric("DCGM_FI_DEV_GPU_TEMP", "gauge", "GPU temperature (in C)."),
    Metric("DCGM_FI_DEV_POWER_USAGE", "gauge", "Power draw (in W)."),
    Metric("DCGM_FI_DEV_TOTAL_ENERGY_CONSUMPTION", "counter", "Total energy consumption since boot (in mJ)."),
    Metric("DCGM_FI_DEV_PCIE_REPLAY_COUNTER", "counter", "Total number of PCIe retries."),
    Metric("DCGM_FI_DEV_GPU_UTIL", "gauge", "GPU utilization (in %)."),
    Metric("DCGM_FI_DEV_MEM_COPY_UTIL", "gauge", "Memory utilization (in %)."),
    Metric("DCGM_FI_DEV_ENC_UTIL", "gauge", "Encoder utilization (in %)."),
    Metric("DCGM_FI_DEV_DEC_UTIL", "gauge", "Decoder utilization (in %)."),
    Metric("DCGM_FI_DEV_XID_ERRORS", "gauge", "Value of the last XID error encountered."),
    Metric("DCGM_FI_DEV_FB_FREE", "gauge", "Framebuffer memory free (in MiB)."),
    Metric("DCGM_FI_DEV_FB_USED", "gauge", "Framebuffer memory used (in MiB)."),
    Metric("DCGM_FI_DEV_VGPU_LICENSE_STATUS", "gauge", "vGPU License status"),
    Metric("DCGM_FI_DEV_UNCORRECTABLE_REMAPPED_ROWS", "counter", "Number of remapped rows for uncorrectable errors"),
    Metric("DCGM_FI_DEV_CORRECTABLE_REMAPPED_ROWS", "counter", "Number of remapped rows for correctable errors"),
    Metric("DCGM_FI_DEV_ROW_REMAP_FAILURE", "gauge", "Whether remapping of rows has failed"),
    Metric("DCGM_FI_PROF_GR_ENGINE_ACTIVE", "gauge", "Ratio of time the graphics engine is active."),
    Metric("DCGM_FI_PROF_PIPE_TENSOR_ACTIVE", "gauge", "Ratio of cycles the tensor (HMMA) pipe is active."),
    Metric(
        "DCGM_FI_PROF_DRAM_ACTIVE", "gauge", "Ratio of cycles the device memory interface is active sending or receiving data."
    ),
)
_KNOWN = {one.name: one for one in DEFAULT}
_KINDS = ("gauge", "counter", "histogram", "label")


class Holder(NamedTuple):
    """A container that has a GPU, an instance or a replica of one."""

    device: str  # its id, without a replica's number
    replica: str  # "" where it isn't one
    namespace: str
    pod: str
    container: str


class CountersError(Exception):
    """The exporter doesn't start; the text is what it says."""


def read(text: str, told: Callable[[str], None]) -> list[Metric]:
    """The metrics of a list as the exporter takes it. `told` hears of those that are passed over."""
    chosen: list[Metric] = []
    for number, line in enumerate(text.splitlines(), start=1):
        cells = [cell.strip() for cell in line.split(",", 2)]
        if not cells[0] or cells[0].startswith("#"):
            continue
        if len(cells) != 3:
            raise CountersError(f"Malformed CSV record; err: failed to parse line {number} (`{line}`), expected 3 fields")
        if cells[1] not in _KINDS:
            raise CountersError(f"Could not find Prometheus metric type '{cells[1]}'")
        if cells[0] in _KNOWN:
            chosen.append(Metric(*cells))
        else:
            told(f"Skipping line {number} ('{cells[0]}'): metric not enabled")
    return chosen


def text(
    metrics: Sequence[Metric],
    state: Mapping[str, Any],
    found: Sequence[Any],
    holders: Sequence[Holder],
    host: str,
    *,
    pods: bool,
    replicas: bool,
) -> str:
    """`/metrics`. `pods`: with the pods that have the GPUs; `replicas`: a row for each replica, not one for the GPU."""
    lines: list[str] = []
    for metric in metrics:
        rows = [
            row for gpu in state["gpus"] for row in _rows(metric, gpu, state, found, holders, host, pods=pods, replicas=replicas)
        ]
        if rows:
            lines += [f"# HELP {metric.name} {metric.help}", f"# TYPE {metric.name} {metric.kind}", *rows]
    return "\n".join([*lines, ""])


def _rows(
    metric: Metric,
    gpu: Mapping[str, Any],
    state: Mapping[str, Any],
    found: Sequence[Any],
    holders: Sequence[Holder],
    host: str,
    *,
    pods: bool,
    replicas: bool,
) -> list[str]:
    if metric.name.startswith(PROFILING) and not _has_profiling(gpu):
        return []
    rows: list[str] = []
    for instance in gpu["instances"] or [None]:
        labels = {
            "gpu": str(gpu["index"]),
            "UUID": gpu["uuid"],
            "pci_bus_id": nvidia_smi._bus(gpu),
            "device": f"nvidia{gpu['index']}",
            "modelName": gpu["name"],
            **({"GPU_I_PROFILE": instance["profile"], "GPU_I_ID": str(instance["index"] + 7)} if instance else {}),
            "Hostname": host,
            "DCGM_FI_DRIVER_VERSION": state["driver_version"],
        }
        value = _value(metric, gpu, instance, state, found)
        device = instance["uuid"] if instance else gpu["uuid"]
        own = [one for one in holders if one.device == device] if pods else []
        if not replicas:
            own = own[-1:]  # one row a GPU, with the last of its pods
        for holder in own:
            of_pod = {"container": holder.container, "namespace": holder.namespace, "pod": holder.pod}
            virtual = {"vgpu": holder.replica} if replicas and holder.replica else {}
            rows.append(_row(metric.name, {**labels, **of_pod, **virtual}, value))
        if not own:
            rows.append(_row(metric.name, labels, value))
    return rows


def _row(name: str, labels: Mapping[str, str], value: str) -> str:
    inner = ",".join(f'{label}="{text}"' for label, text in labels.items())
    return f"{name}{{{inner}}} {value}"


def _value(metric: Metric, gpu: Any, instance: Any, state: Mapping[str, Any], found: Sequence[Any]) -> str:
    busy, used = gpu_usage.of_gpu(gpu, state["containers"], found)
    total = gpu["memory_mib"]
    if instance:
        used, total = gpu_usage.of_instance(instance, state["containers"], found), instance["memory_mib"]
    values: dict[str, float] = {
        "DCGM_FI_DEV_GPU_UTIL": busy,
        "DCGM_FI_DEV_MEM_COPY_UTIL": min(busy, 100 * used // total if total else 0),
        "DCGM_FI_DEV_FB_USED": used,
        "DCGM_FI_DEV_FB_FREE": total - used,
        "DCGM_FI_DEV_GPU_TEMP": nvidia_smi.celsius(busy),
        "DCGM_FI_DEV_POWER_USAGE": nvidia_smi.watts(gpu, busy),
    }
    if metric.name == "DCGM_FI_PROF_GR_ENGINE_ACTIVE":
        return f"{busy / 100:.6f}"
    if metric.name == "DCGM_FI_DEV_POWER_USAGE":
        return f"{values[metric.name]:.6f}"
    return str(values.get(metric.name, 0))


def _has_profiling(gpu: Mapping[str, Any]) -> bool:
    major, _, minor = str(gpu["compute_capability"]).partition(".")
    return major.isdigit() and minor.isdigit() and (int(major), int(minor)) >= PROFILING_CAPABILITY
