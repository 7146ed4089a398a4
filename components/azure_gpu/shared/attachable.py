"""What clusters and virtual machines offer to an Azure ML workspace that attaches them."""

from typing import TypedDict

import pulumi


class AttachableVm(pulumi.ComponentResource):
    """A component that is a virtual machine: a `GpuVm`."""

    KIND = "GpuVm"
    of_workspace: "VmOfWorkspace"
    """The machine as an Azure Machine Learning workspace attaches it. Not an output."""


class AttachableCluster(pulumi.ComponentResource):
    """A component that is a cluster: a `GpuCluster`."""

    KIND = "GpuCluster"
    of_workspace: "ClusterOfWorkspace"
    """The cluster as an Azure Machine Learning workspace attaches it. Not an output."""


class VmOfWorkspace(TypedDict):
    """A virtual machine that the workspace may attach."""

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
    """Plain: the user that one signs on as by SSH."""
    open_to_service: bool
    """Plain: whether Azure Machine Learning's own addresses reach it by SSH."""


class ClusterOfWorkspace(TypedDict):
    """An AKS cluster that the workspace may attach."""

    id: pulumi.Input[str]
    """Wired: its ARM id, known once everything that the stack puts onto it is there."""
    name: pulumi.Input[str]
    """Wired: its name in Azure."""
    resource_group_name: pulumi.Input[str]
    """Wired: the resource group that it is in."""
    path: str
    """Plain: where it is written in the stack file."""
    existing: bool
    """Plain: true where it isn't the stack's own; then little is known of it."""
    namespace: str
    """Plain: the namespace of its jobs; empty where the stack puts nothing onto it."""
    local_accounts: bool
    """Plain: whether AKS's local administrator may log in."""
    open_to_everybody: bool
    """Plain: whether its API answers to every address."""
    nodes: int
    """Plain: how many nodes without a GPU stay."""
    vcpus: int
    """Plain: how many vCPUs these have together; 0: not known."""
    gpus: dict[str, int]
    """Plain: by GPU pool, how many GPUs, or shares of GPUs, a pod can get on one of its nodes; 0: not known."""
    taints: dict[str, list[str]]
    """Plain: by GPU pool, what keeps pods without a toleration away."""
