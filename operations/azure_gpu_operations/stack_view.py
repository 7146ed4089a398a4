"""A stack's outputs, connection and resources, read from its state without requests to Azure."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from azure_gpu.catalog import spelling
from azure_gpu_operations.connection import Connection, connection_of
from azure_gpu_operations.stack import EngineError, Stack

_ROOT_TYPE = "pulumi:pulumi:Stack"
_GROUP_TYPE = "azure-native:resources:ResourceGroup"
# Components by the one resource of theirs that a name means.
_MADE = {
    "azuregpu:index:MlEndpoint": "azure-native:machinelearningservices:OnlineEndpoint",
    "azuregpu:index:GpuVm": "azure-native:compute:VirtualMachine",
    "azuregpu:index:MlWorkspace": "azure-native:machinelearningservices:Workspace",
}
_NO_STACK = "no stack named"  # in the engine's message
Resource = Mapping[str, Any]


class StackView(NamedTuple):
    """The outputs of the stack, by the names in the stack file."""

    name: str
    connection: Connection
    resource_group: str = ""
    groups: Mapping[str, str] = {}  # container groups: ARM id by name
    jobs: Mapping[str, str] = {}  # Container Apps jobs: ARM id by name
    pools: Mapping[str, str] = {}  # Batch pools: ARM id by name
    clusters: Mapping[str, str] = {}  # AKS clusters: ARM id by name
    gpu_pools: Mapping[str, Mapping[str, Any]] = {}  # of clusters, by their name and the pool's: resource, tolerates, …
    edges: Mapping[str, str] = {}  # clusters given by kubeconfig: what they are called in it, by name
    namespaces: Mapping[str, str] = {}  # of clusters and edges, if configured
    registry: str = ""  # ARM id; "" where the stack has none
    batch_account: str = ""  # ARM id; "" where the stack has none
    storage: str = ""  # ARM id of its storage account; "" where it has none
    endpoints: Mapping[str, str] = {}  # online endpoints of Azure ML: ARM id by name
    vms: Mapping[str, str] = {}  # virtual machines: ARM id by name
    ml_workspace: str = ""  # ARM id; "" where the stack has none
    ml_computes: Mapping[str, str] = {}  # of the workspace: ARM id by name
    expires_at: Mapping[str, str | None] = {}  # RFC 3339; None: no end
    hourly_cost: Mapping[str, float | None] = {}  # USD; None: not known
    idle_cost: Mapping[str, float | None] = {}  # of clusters without a GPU node, of endpoints with the least instances

    @property
    def resources(self) -> dict[str, str]:
        """Everything that runs in Azure: ARM id by name."""
        first = self.ml_computes  # an attached cluster or machine has its own name, and is meant by it
        return {**first, **self.groups, **self.jobs, **self.pools, **self.clusters, **self.endpoints, **self.vms}

    def nearest(self, name: str) -> tuple[str, ...]:
        """Names of the stack that a misspelt one may have meant."""
        return spelling.nearest(name, sorted({**self.resources, **self.edges}), 2)


def view(stack: Stack) -> StackView:
    """The view of a stack that was brought up. EngineError where there is none, or where nothing of it is in Azure yet."""
    try:
        deployment = stack.deployment()
    except EngineError as error:
        if _NO_STACK in str(error):
            raise EngineError(f"stack {stack.name} doesn't exist; `pulumi stack ls` lists existing stacks") from error
        raise
    found = of_deployment(stack.name, deployment)
    if found is None:
        raise EngineError(f"stack {stack.name} isn't deployed yet; deploy it first: pulumi up --stack {stack.name}")
    return found


def of_deployment(name: str, deployment: Mapping[str, Any]) -> StackView | None:
    """The view that an exported deployment holds; None where it has no provider of Azure."""
    connection = connection_of(deployment)
    if connection is None:
        return None
    resources = deployment.get("resources") or []
    roots = [resource for resource in resources if resource["type"] == _ROOT_TYPE]
    outputs = (roots[-1].get("outputs") if roots else None) or {}
    # A stack whose first update failed has no outputs, but the group in which it failed.
    groups = [str(resource.get("id") or "").rsplit("/", 1)[-1] for resource in resources if resource["type"] == _GROUP_TYPE]
    endpoints, machines, workspaces = (_made(resources, component) for component in _MADE)
    there = {str(resource.get("id") or "").lower() for resource in resources}

    def parts(key: str) -> dict[str, str]:
        """Those of an output that are in the state: what `end` or a target has destroyed stays in outputs until the next `up`."""
        return {name: made for name, made in (outputs.get(key) or {}).items() if made.lower() in there}

    made: dict[str, Any] = {
        "resource_group": groups[0] if groups else "",
        "ml_workspace": next(iter(workspaces.values()), ""),
        **{key: value for key, value in outputs.items() if key in StackView._fields[2:] and value},
        "groups": parts("container_groups"),
        **{key: parts(key) for key in ("jobs", "pools", "ml_computes")},
        "edges": {name: str(context or "") for name, context in (outputs.get("edges") or {}).items()},
        "endpoints": {**endpoints, **parts("endpoints")},
        "vms": {**machines, **(outputs.get("vms") or {})},
    }
    return StackView(name, connection, **made)


def _made(resources: Iterable[Mapping[str, Any]], component: str) -> dict[str, str]:
    """ARM id by the component's name: of what is there although the update that made it failed, and so is in no output."""
    found: dict[str, str] = {}
    for resource in resources:
        around = str(resource.get("parent") or "")
        if resource["type"] == _MADE[component] and resource.get("id") and around.split("::")[-2:-1] == [component]:
            found[around.rsplit("::", 1)[-1]] = str(resource["id"])
    return found


def name_of(urn: object) -> str:
    """The logical name of a resource."""
    return str(urn).rsplit("::", 1)[-1]


def below(resources: Iterable[Resource], urn: str) -> list[Resource]:
    """A resource with all its descendants, in the order of the state (parents first)."""
    urns = {urn}
    found: list[Resource] = []
    for each in resources:
        if each["urn"] in urns or each.get("parent") in urns:
            urns.add(str(each["urn"]))
            found.append(each)
    return found


def references(resource: Resource) -> Iterator[str]:
    """The URNs that a resource depends on."""
    by_property: Mapping[str, Sequence[str] | None] = resource.get("propertyDependencies") or {}
    for urns in (resource.get("dependencies"), *by_property.values()):
        yield from map(str, urns or ())
    if resource.get("provider"):
        yield str(resource["provider"]).rpartition("::")[0]
    if resource.get("parent"):
        yield str(resource["parent"])
