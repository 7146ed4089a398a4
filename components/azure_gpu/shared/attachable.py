"""Data of clusters and virtual machines that an Azure ML workspace can attach."""

from typing import TypedDict

import pulumi


class AttachableVm(pulumi.ComponentResource):
    """Base class of the virtual machine component, `GpuVm`."""

    KIND = "GpuVm"
    of_workspace: "VmOfWorkspace"
    """The machine as an Azure Machine Learning workspace attaches it. Not an output."""


class AttachableCluster(pulumi.ComponentResource):
    """Base class of the cluster component, `GpuCluster`."""

    KIND = "GpuCluster"
    of_workspace: "ClusterOfWorkspace"
    """The cluster as an Azure Machine Learning workspace attaches it. Not an output."""


class VmOfWorkspace(TypedDict):
    """A virtual machine for a workspace to attach."""

    id: pulumi.Input[str]
    """Wired: its ARM id."""
    address: pulumi.Input[str]
    """Wired: its IP address, the public one where it has one."""
    size: str
    """Plain: its size."""
    location: str
    """Plain: its region."""
    os_type: str
    """Plain: Linux or Windows."""
    ubuntu: bool
    """Plain: true where its image is known to be Ubuntu."""
    admin_user: str
    """Plain: the user for SSH logins."""
    open_to_service: bool
    """Plain: whether SSH is open to the addresses of Azure Machine Learning."""


class ClusterOfWorkspace(TypedDict):
    """An AKS cluster for a workspace to attach."""

    id: pulumi.Input[str]
    """Wired: its ARM id, known once everything that the stack puts onto it exists."""
    name: pulumi.Input[str]
    """Wired: its name in Azure."""
    resource_group_name: pulumi.Input[str]
    """Wired: the resource group that it is in."""
    path: str
    """Plain: its path in the stack file."""
    existing: bool
    """Plain: true where the stack didn't create it; then little is known about it."""
    namespace: str
    """Plain: the namespace of its jobs; empty where the stack puts nothing onto it."""
    local_accounts: bool
    """Plain: whether local accounts are enabled."""
    open_to_everybody: bool
    """Plain: whether its API server accepts every address."""
    nodes: int
    """Plain: the number of nodes without a GPU."""
    vcpus: int
    """Plain: their vCPUs in total; 0: not known."""
    gpus: dict[str, int]
    """Plain: by GPU pool, the most GPUs, or shares of GPUs, that a pod can get on one of its nodes; 0: not known."""
    taints: dict[str, list[str]]
    """Plain: the taints by GPU pool."""
