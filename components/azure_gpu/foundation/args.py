"""The arguments of a foundation, with their defaults."""

from typing import NotRequired, TypedDict

from azure_gpu.shared.context import StackArgs
from azure_gpu.shared.part import PartArgs
from azure_gpu.shared.workloads import Workload


class FoundationSettings(TypedDict):
    """The parts of a foundation, as a stack file says them."""

    resource_group: NotRequired[PartArgs]
    """The group that everything of the stack goes into. Default: create."""
    identity: NotRequired[PartArgs]
    """The user-assigned identity that containers run as and pull images as. Default: none."""
    registry: NotRequired[PartArgs]
    """The container registry; a created one builds the workloads, an existing one doesn't. Needs `identity`, which gets the role
    AcrPull on either while the stack is there, unless `assign_roles` is false. Default: none."""
    log_workspace: NotRequired[PartArgs]
    """The Log Analytics workspace that containers send their logs to. Default: none."""
    storage: NotRequired[PartArgs]
    """The storage account for data and models. Where the stack has a Batch account, an Azure Machine Learning workspace, virtual
    machines or a service on a cluster that fetches its model, the identity gets the role Storage Blob Data Contributor on it,
    unless `assign_roles` is false. Default: none."""


class FoundationArgs(FoundationSettings):
    """The parts of a foundation, and what the program adds."""

    stack: StackArgs
    """What all components of the stack share."""
    workloads: NotRequired[list[Workload]]
    """Plain: the workloads whose images the registry builds. Default: none."""
    image_source: NotRequired[str]
    """Plain: where the sources of `workloads` are: `https://…/repository.git#<commit>`. Default: nowhere."""
    assign_roles: NotRequired[bool]
    """Plain: false leaves the role assignments to an administrator and prints the commands. Default: true."""
    read_log_key: NotRequired[bool]
    """Plain: true reads the shared key of `log_workspace`, which container groups need and nothing else does. Default: false."""
    write_blobs: NotRequired[bool]
    """Plain: true gives the identity the role Storage Blob Data Contributor on the storage account, as Batch and Azure Machine
    Learning need it. Default: false."""
