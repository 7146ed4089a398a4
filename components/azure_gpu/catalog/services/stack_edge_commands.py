"""Commands of the PowerShell interface of an Azure Stack Edge device, for what ARM can't declare: namespaces, users, MPS.

For the documentation.
"""

from datetime import date
from typing import NamedTuple

from azure_gpu.catalog.services.stack_edge_facts import COMPANION
from azure_gpu.catalog.sources import Dated, Source

_CLUSTER = "Microsoft Learn, articles/databox-online/azure-stack-edge-gpu-create-kubernetes-cluster.md"
_CLUSTER_PAGE = Source(_CLUSTER, Dated.OBSERVED, date(2026, 11, 20))


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
