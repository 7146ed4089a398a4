"""Facts about Azure Stack Edge devices with GPUs: models, GPUs, sizes, and systems of virtual machines.

The rules are in `stack_edge` and `stack_edge_jobs`, the device's commands in `stack_edge_commands`.
"""

from datetime import date
from typing import NamedTuple

from azure_gpu.catalog.lifecycle import Lifecycle
from azure_gpu.catalog.sources import Dated, Source

_ARTICLES = "Microsoft Learn, articles/databox-online"
SHARING_2021 = Source(f"{_ARTICLES}/azure-stack-edge-gpu-sharing.md", Dated.OBSERVED, date(2021, 3, 5))
COMPANION = Source(f"{_ARTICLES}/azure-stack-edge-gpu-deploy-kubernetes-gpu-sharing.md", Dated.OBSERVED, date(2021, 3, 12))
VM_PAGE_2022 = Source(f"{_ARTICLES}/azure-stack-edge-gpu-deploy-gpu-virtual-machine.md", Dated.OBSERVED, date(2022, 6, 24))
VM_PAGE = Source(f"{_ARTICLES}/azure-stack-edge-gpu-overview-gpu-virtual-machines.md", Dated.OBSERVED, date(2024, 8, 16))
_FPGA_PAGE = f"{_ARTICLES}, troubleshooting of Azure Stack Edge Pro FPGA"
_IOT_EDGE = "Azure/EOL, service_list.json: managed IoT Edge on Azure Stack Edge"

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
            seen=Source(_FPGA_PAGE, Dated.OBSERVED, date(2024, 2, 1)),
            end=Source(f"{_FPGA_PAGE}: end of life in February 2024, last day taken", Dated.VALID_FROM, date(2024, 2, 29)),
        ),
    ),
}
MANAGED_IOT_EDGE = Lifecycle(seen=SHARING_2021, end=Source(_IOT_EDGE, Dated.VALID_FROM, date(2024, 3, 31)))
GPUS = {"T4": Lifecycle(seen=SHARING_2021), "A2": Lifecycle(seen=VM_PAGE_2022)}
GPU_SIZES = {"Standard_NC4as_T4_v3": Lifecycle(seen=VM_PAGE_2022)}  # those of devices with A2 were found nowhere

EXTENSION_SYSTEMS = (  # on which the GPU extension runs; source: `VM_PAGE`
    "Windows Server 2016 Core",
    "Windows Server 2019 Core",
    "Red Hat Enterprise Linux 7.4",
)
EXTENSION_DEPRECATED = "Ubuntu 18.04"  # of the same source
