"""What the parts of Azure Machine Learning offer each other: machines and clusters to the workspace, the workspace to endpoints.

Plain values are known before anything is created, so that a stack file can be validated with them; wired values are empty until
then.
"""

from typing import Literal, NotRequired, TypedDict

import pulumi

ComputeKind = Literal["AmlCompute", "Kubernetes", "VirtualMachine"]
"""The kinds of compute that a workspace has here, as Azure spells them."""


class ComputeOfEndpoint(TypedDict):
    """A compute of the workspace."""

    id: pulumi.Input[str]
    """Wired: its ARM id."""
    kind: ComputeKind
    """Plain: its kind. Endpoints run only on Kubernetes, or on machines that Azure manages."""
    gpus: dict[str, int]
    """Plain: the GPUs per pod, by instance type, only with Kubernetes."""
    default_instance_type: str
    """Plain: the default instance type; empty: none, and Azure's own has no GPU."""


class AssetOfEndpoint(TypedDict):
    """A version of a model, of an environment or of code in the workspace."""

    id: pulumi.Input[str]
    """Wired: its ARM id."""
    type: str
    """Plain: of a model: custom, triton or mlflow."""
    gpu: bool
    """Plain: true if it is an environment that requires a GPU."""
    serves: bool
    """Plain: true if it is an environment whose image has a server, with routes that it defines; then there is no code."""
    needs_model: bool
    """Plain: true if it serves and its image is known to have no model, so that a deployment has to set one."""


class WorkspaceOfEndpoint(TypedDict):
    """The workspace of an endpoint, with its content that the stack has created, by the names of the stack file."""

    name: pulumi.Input[str]
    """Wired: its name."""
    id: pulumi.Input[str]
    """Wired: its ARM id."""
    resource_group_name: pulumi.Input[str]
    """Wired: its resource group."""
    location: str
    """Plain: its region; empty while unknown."""
    located: NotRequired[pulumi.Input[str]]
    """Wired: its region. Default: `location`."""
    existing: bool
    """Plain: true if the stack hasn't created it, and others may have endpoints in it."""
    provider: NotRequired[pulumi.ProviderResource | None]
    """Wired: the provider of its subscription, if that is another. Default: the endpoint's own."""
    uses: NotRequired[frozenset[str]]
    """Plain: names of the registry and the storage account of an existing one, in lower case. Default: none."""
    public: bool
    """Plain: false if the workspace is reachable only through private endpoints."""
    reached_privately: bool
    """Plain: false if it has no private endpoint, as far as the stack knows."""
    managed_network: bool
    """Plain: true if the workspace has a network that Azure manages, which can restrict egress of deployments."""
    computes: dict[str, ComputeOfEndpoint]
    models: dict[str, AssetOfEndpoint]
    environments: dict[str, AssetOfEndpoint]
    code: dict[str, AssetOfEndpoint]


class MlDependencies(TypedDict):
    """What a workspace offers to the endpoints in it."""

    ml_workspace: NotRequired[WorkspaceOfEndpoint]
    """The workspace. Required."""
