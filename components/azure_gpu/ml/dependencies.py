"""What the parts of Azure Machine Learning offer each other: machines and clusters to the workspace, the workspace to endpoints.

Plain values are known before anything is created, so that a stack file can be validated with them; wired values are empty until
then.
"""

from enum import StrEnum
from typing import NotRequired, TypedDict

import pulumi


class ComputeKind(StrEnum):
    """The kinds of compute that a workspace has here, as Azure spells them."""

    CLUSTER = "AmlCompute"
    KUBERNETES = "Kubernetes"
    MACHINE = "VirtualMachine"


class ComputeOfEndpoint(TypedDict):
    """A compute of the workspace."""

    id: pulumi.Input[str]
    """Wired: its ARM id."""
    kind: ComputeKind
    """Plain: its kind. Endpoints run on Kubernetes alone, or on machines that Azure manages."""
    gpus: dict[str, int]
    """Plain: the GPUs that a pod gets, by instance type, with Kubernetes alone."""
    default_instance_type: str
    """Plain: the instance type of what names none; empty: there is none, and Azure's own has no GPU."""


class ModelOfEndpoint(TypedDict):
    """A version of a model in the workspace."""

    id: pulumi.Input[str]
    """Wired: its ARM id."""
    version: str
    """Plain: its version."""
    type: str
    """Plain: custom, triton or mlflow."""


class EnvironmentOfEndpoint(TypedDict):
    """A version of an environment in the workspace."""

    id: pulumi.Input[str]
    """Wired: its ARM id."""
    version: str
    """Plain: its version."""
    gpu: bool
    """Plain: true where it is made for a GPU and of no use without one."""
    serves: bool
    """Plain: true where its image answers requests by itself, by routes that it names; then there is no code."""
    port: int
    """Plain: the port that it is asked at; 0: it doesn't serve by itself."""
    needs_model: bool
    """Plain: true where its image serves by itself and is known to have no model, so that a deployment has to name one."""


class CodeOfEndpoint(TypedDict):
    """A version of code in the workspace."""

    id: pulumi.Input[str]
    """Wired: its ARM id."""
    version: str
    """Plain: its version."""


class WorkspaceOfEndpoint(TypedDict):
    """The workspace that an endpoint is in, with what the stack has put into it, all by the names of the stack file."""

    name: pulumi.Input[str]
    """Wired: its name."""
    id: pulumi.Input[str]
    """Wired: its ARM id."""
    resource_group_name: pulumi.Input[str]
    """Wired: the resource group that it is in."""
    location: str
    """Plain: its region; empty where it isn't known yet."""
    located: NotRequired[pulumi.Input[str]]
    """Wired: its region. Default: `location`."""
    existing: bool
    """Plain: true where it isn't the stack's own and others may have endpoints in it."""
    provider: NotRequired[pulumi.ProviderResource | None]
    """Wired: the provider of the subscription that it is in, where that is another. Default: the endpoint's own."""
    public: bool
    """Plain: false where the workspace is reached through private endpoints alone."""
    reached_privately: bool
    """Plain: false where it has no private endpoint, as far as the stack knows."""
    managed_network: bool
    """Plain: true where the workspace has a network that Azure manages, which egress of deployments can be kept in."""
    computes: dict[str, ComputeOfEndpoint]
    """Its computes."""
    models: dict[str, ModelOfEndpoint]
    """Its models."""
    environments: dict[str, EnvironmentOfEndpoint]
    """Its environments."""
    code: dict[str, CodeOfEndpoint]
    """Its code."""


class MlSurroundings(TypedDict):
    """What a workspace offers to the endpoints in it."""

    ml_workspace: NotRequired[WorkspaceOfEndpoint]
    """The workspace. Needed."""
