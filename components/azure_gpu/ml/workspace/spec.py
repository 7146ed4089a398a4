"""The resolved Azure ML workspace, `MlWorkspaceSpec`, its computes, and what the workspace offers to endpoints."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import date
from typing import Any

from azure_gpu.catalog.prices.hourly_cost import HourlyCost
from azure_gpu.catalog.services.machine_learning.compute import DEDICATED
from azure_gpu.catalog.size_use import SizeUse
from azure_gpu.formats.arm_ids import ArmId
from azure_gpu.ml.dependencies import AssetOfEndpoint, ComputeOfEndpoint, WorkspaceOfEndpoint
from azure_gpu.ml.workspace.args import (
    ComputeArgs,
    ExtensionArgs,
    ManagedNetwork,
    MlWorkspaceSettings,
    Network,
    OutboundRuleArgs,
    Replace,
)
from azure_gpu.ml.workspace.assets import Assets, AssetSpec
from azure_gpu.ml.workspace.immutable import compute_name
from azure_gpu.shared.context import Context, Tags

PATH = "ml_workspace"  # in a stack file


@dataclass(frozen=True, slots=True, kw_only=True)
class ComputeSpec:
    """A compute. An attached virtual machine has no more than this."""

    name: str  # in the stack file
    path: str
    settings: ComputeArgs
    tags: Tags

    @property
    def cluster(self) -> str:
        """The attached cluster's name in the stack file; empty: none."""
        return str(self.settings.get("cluster", ""))

    @property
    def vm(self) -> str:
        """The attached machine's name in the stack file; empty: none."""
        return str(self.settings.get("vm", ""))


@dataclass(frozen=True, slots=True, kw_only=True)
class KubernetesSpec(ComputeSpec):
    """An attached cluster of the stack."""

    namespace: str
    default_instance_type: str  # empty: none
    extension: ExtensionArgs | None  # None: another compute of the cluster has it

    @property
    def gpus(self) -> dict[str, int]:
        """Of a pod, by instance type."""
        return {name: int(each.get("gpus", 0)) for name, each in self.settings.get("instance_types", {}).items()}


@dataclass(frozen=True, slots=True, kw_only=True)
class MachinesSpec(ComputeSpec):
    """Machines of the workspace."""

    size: str  # as the catalog spells it
    min_nodes: int
    max_nodes: int
    idle_minutes: int
    priority: str
    public_addresses: bool
    replace: Replace
    expires_at: str | None
    use: SizeUse
    cost: HourlyCost  # with the maximum number of machines
    idle_cost: HourlyCost  # with the minimum number of machines

    @property
    def kept(self) -> dict[str, object]:
        """Properties that the service can't change, by the paths of `ml.workspace.immutable`; the subnet is wired."""
        return {
            "vmSize": self.size.lower(),
            "vmPriority": self.priority if self.priority != DEDICATED else "",
            "without public addresses": not self.public_addresses,
        }

    def azure_name(self, subnet_id: str) -> str:
        """Its name in the workspace."""
        return compute_name(self.name, self.replace, self.kept, subnet_id)


@dataclass(frozen=True, slots=True, kw_only=True)
class MlWorkspaceSpec:
    """A resolved workspace, created or existing. Wired values stay in the arguments."""

    context: Context
    settings: MlWorkspaceSettings
    name: str  # empty: the provider generates one
    existing: ArmId | None
    location: str
    network: Network
    managed_network: ManagedNetwork
    outbound_rules: dict[str, OutboundRuleArgs]
    vault: ArmId | None  # an existing one; None: created
    insights: ArmId | None  # the same
    assets: Assets
    tags: Tags
    day: date
    computes: dict[str, ComputeSpec] = field(default_factory=dict[str, ComputeSpec])
    uses: frozenset[str] = frozenset()  # of an existing one: its registry and storage account, by their names in lower case

    @property
    def path(self) -> str:
        return self.context.path(PATH)

    @property
    def location_path(self) -> str:
        return f"{self.path}.location" if "location" in self.settings else self.context.own_path("location")

    @property
    def reached_privately(self) -> bool:
        """Whether it has a private endpoint; true if unknown."""
        return self.existing is not None or self.network == "private" or "private_endpoint" in self.settings

    @property
    def in_managed_network(self) -> bool:
        """Whether its machines are in a network that Azure manages."""
        return self.managed_network != "none"

    @property
    def machines(self) -> dict[str, MachinesSpec]:
        """Computes that are machines of the workspace."""
        return {name: spec for name, spec in self.computes.items() if isinstance(spec, MachinesSpec)}

    @property
    def has_firewall(self) -> bool:
        """Whether a rule has a host name, which requires a firewall."""
        return any("fqdn" in rule for rule in self.outbound_rules.values())

    @property
    def firewall(self) -> str:
        return self.settings.get("firewall", "basic")


def offer(spec: MlWorkspaceSpec) -> WorkspaceOfEndpoint:
    """The plain values that the workspace offers to endpoints."""
    return WorkspaceOfEndpoint(
        name=spec.name,
        id="",
        resource_group_name="",
        location=spec.location,
        existing=spec.existing is not None,
        uses=spec.uses,
        public=spec.network != "private",
        reached_privately=spec.reached_privately,
        managed_network=spec.in_managed_network,
        computes={name: _compute_offered(each) for name, each in spec.computes.items()},
        models=_offered(spec.assets.models),
        environments=_offered(spec.assets.environments),
        code=_offered(spec.assets.code),
    )


def _offered(specs: Mapping[str, AssetSpec[Any]]) -> dict[str, AssetOfEndpoint]:
    """Assets by their names in the stack file, and by name and version where those are known."""
    found: dict[str, AssetOfEndpoint] = {}
    for key, each in specs.items():
        found[key] = each.offered
        if each.version:
            found[f"{each.name}:{each.version}"] = found[key]
    return found


def _compute_offered(spec: ComputeSpec) -> ComputeOfEndpoint:
    if isinstance(spec, KubernetesSpec):
        return ComputeOfEndpoint(id="", kind="Kubernetes", gpus=spec.gpus, default_instance_type=spec.default_instance_type)
    kind = "AmlCompute" if isinstance(spec, MachinesSpec) else "VirtualMachine"
    return ComputeOfEndpoint(id="", kind=kind, gpus={}, default_instance_type="")
