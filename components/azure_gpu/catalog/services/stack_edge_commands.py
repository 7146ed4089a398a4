"""The commands of an Azure Stack Edge device's own PowerShell interface, and what else is done beside ARM there.

`COMMANDS` and `FACTS`, for the documentation. ARM can't declare namespaces, users or the Multi-Process Service.
"""

from datetime import date
from typing import NamedTuple

from azure_gpu.catalog.facts import Fact
from azure_gpu.catalog.services.stack_edge_facts import COMPANION, SHARING_2021
from azure_gpu.catalog.sources import Dated, Source

_CLUSTER = "Microsoft Learn, articles/databox-online/azure-stack-edge-gpu-create-kubernetes-cluster.md"
_CLUSTER_PAGE = Source(_CLUSTER, Dated.OBSERVED, date(2026, 11, 20))
_PROVIDER = Source("pulumi-azure-native 3.29.0, databoxedge 2023-07-01", Dated.OBSERVED, date(2026, 11, 20))


class Command(NamedTuple):
    """One command. `also_spelt`: as another page writes it."""

    name: str
    does: str
    source: Source
    parameters: tuple[str, ...] = ()
    also_spelt: str = ""


COMMANDS: tuple[Command, ...] = (
    Command(
        name="Start-HcsGpuMPS",
        does="starts the Multi-Process Service: the GPUs take one process at a time, and the service nvidia-mps is that one",
        source=COMPANION,
    ),
    Command(
        name="Get-HcsGpuNvidiaSmi",
        does="shows the use of the GPUs and of their memory",
        also_spelt="Get-HcsNvidiaSmi",  # by `SHARING_2021`
        source=COMPANION,
    ),
    Command(name="New-HcsKubernetesNamespace", parameters=("-Namespace",), does="makes a namespace", source=_CLUSTER_PAGE),
    Command(
        name="New-HcsKubernetesUser",
        parameters=("-UserName",),
        does="makes a user and prints a kubeconfig, to be kept as a file named config, without extension, in .kube",
        source=_CLUSTER_PAGE,
    ),
    Command(
        name="Grant-HcsKubernetesNamespaceAccess",
        parameters=("-Namespace", "-UserName"),
        does="gives the user the namespace",
        source=_CLUSTER_PAGE,
    ),
    Command(name="Get-HcsKubernetesUserConfig", does="prints a user's kubeconfig again", source=_CLUSTER_PAGE),
)

FACTS: tuple[Fact, ...] = (
    Fact("driver of software 2102", "460.32.03 with CUDA 11.2", COMPANION),
    Fact(
        "sample job",
        "batch/v1 Job of nvidia/samples:nbody, /tmp/nbody -benchmark -i=1000 (10000 in its output)",
        COMPANION,
    ),
    Fact("sample job's settings", "hostPID, hostIPC, NVIDIA_VISIBLE_DEVICES 0, restartPolicy Never, backoffLimit 1", COMPANION),
    Fact("sample job's limits", "neither volumes nor resource limits", COMPANION),
    Fact("limit of a program's share", "the variable CUDA_MPS_ACTIVE_THREAD_PERCENTAGE of its container", SHARING_2021),
    Fact("the cluster's API", "its name has to be in the hosts file of whoever calls it", _CLUSTER_PAGE),
    Fact("namespace of IoT Edge", "iotedge", _CLUSTER_PAGE),
    Fact("API version", "2023-07-01 of databoxedge, the provider's default", _PROVIDER),
    Fact("what ARM declares", "neither namespaces nor users nor the Multi-Process Service", _PROVIDER),
)
