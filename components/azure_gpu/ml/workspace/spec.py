"""The resolved Azure ML workspace, `MlWorkspaceSpec`, and what the workspace offers to endpoints."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import date

from azure_gpu.formats.arm_ids import ArmId
from azure_gpu.ml.dependencies import (
    CodeOfEndpoint,
    ComputeOfEndpoint,
    EnvironmentOfEndpoint,
    ModelOfEndpoint,
    WorkspaceOfEndpoint,
)
from azure_gpu.ml.workspace.args import Firewall, ManagedNetwork, Network, OutboundRuleArgs
from azure_gpu.ml.workspace.assets import Assets
from azure_gpu.ml.workspace.attached import KubernetesSpec, MachineSpec
from azure_gpu.ml.workspace.computes import ComputeSpec, MachinesSpec
from azure_gpu.shared.context import Context, Tags

PATH = "ml_workspace"  # in a stack file


@dataclass(frozen=True, slots=True, kw_only=True)
class KeyVault:
    """Resolved `KeyVaultArgs`."""

    existing: ArmId | None
    purge_protection: bool
    retention_days: int


@dataclass(frozen=True, slots=True, kw_only=True)
class MlWorkspaceSpec:
    """A resolved workspace, created or existing. Wired values stay in the arguments."""

    context: Context
    name: str  # empty: the provider generates one
    existing: ArmId | None
    location: str
    location_path: str
    network: Network
    reached_privately: bool  # by a private endpoint; true if unknown
    managed_network: ManagedNetwork
    outbound_rules: dict[str, OutboundRuleArgs]
    firewall: Firewall
    key_vault: KeyVault
    insights: ArmId | None  # an existing one; None: created
    high_business_impact: bool
    friendly_name: str
    description: str
    computes: dict[str, ComputeSpec]
    assets: Assets
    tags: Tags
    day: date
    uses: frozenset[str] = frozenset()  # of an existing one: its registry and storage account, by their names in lower case

    @property
    def machines(self) -> dict[str, MachinesSpec]:
        """Computes that are machines of the workspace."""
        return {name: spec for name, spec in self.computes.items() if isinstance(spec, MachinesSpec)}

    @property
    def kubernetes(self) -> dict[str, KubernetesSpec]:
        """Computes that are clusters of the stack."""
        return {name: spec for name, spec in self.computes.items() if isinstance(spec, KubernetesSpec)}

    @property
    def attached(self) -> dict[str, MachineSpec]:
        """Computes that are virtual machines of the stack."""
        return {name: spec for name, spec in self.computes.items() if isinstance(spec, MachineSpec)}

    @property
    def has_firewall(self) -> bool:
        """Whether a rule has a host name, which requires a firewall."""
        return any("fqdn" in rule for rule in self.outbound_rules.values())

    @property
    def hourly_cost(self) -> float | None:
        """List price in USD an hour with the maximum number of machines; None if one is unknown."""
        return _sum(spec.hourly_cost for spec in self.machines.values())

    @property
    def idle_cost(self) -> float | None:
        """The same with the minimum number of machines."""
        return _sum(spec.idle_hourly_cost for spec in self.machines.values())


def _sum(costs: Iterable[float | None]) -> float | None:
    known = list(costs)
    return sum(cost for cost in known if cost is not None) if None not in known else None


def offer(spec: MlWorkspaceSpec) -> WorkspaceOfEndpoint:
    """The plain values that the workspace offers to endpoints."""
    computes = {name: _compute_offered(each) for name, each in spec.computes.items()}
    models: dict[str, ModelOfEndpoint] = {}
    for key, model in spec.assets.models.items():
        models[key] = models[f"{model.name}:{model.version}"] = ModelOfEndpoint(id="", type=model.settings.get("type", "custom"))
    environments: dict[str, EnvironmentOfEndpoint] = {}
    for key, each in spec.assets.environments.items():
        offered = EnvironmentOfEndpoint(id="", gpu=each.gpu, serves=each.routes is not None, needs_model=each.needs_model)
        environments[key] = offered
        if each.version:
            environments[f"{each.name}:{each.version}"] = offered
    code: dict[str, CodeOfEndpoint] = {}
    for key, each in spec.assets.code.items():
        code[key] = code[f"{each.name}:{each.version}"] = CodeOfEndpoint(id="")
    return WorkspaceOfEndpoint(
        name=spec.name,
        id="",
        resource_group_name="",
        location=spec.location,
        existing=spec.existing is not None,
        uses=spec.uses,
        public=spec.network != "private",
        reached_privately=spec.reached_privately,
        managed_network=spec.managed_network != "none",
        computes=computes,
        models=models,
        environments=environments,
        code=code,
    )


def _compute_offered(spec: ComputeSpec) -> ComputeOfEndpoint:
    if isinstance(spec, KubernetesSpec):
        return ComputeOfEndpoint(
            id="",
            kind="Kubernetes",
            gpus=spec.gpus,
            default_instance_type=spec.default_instance_type,
        )
    kind = "AmlCompute" if isinstance(spec, MachinesSpec) else "VirtualMachine"
    return ComputeOfEndpoint(id="", kind=kind, gpus={}, default_instance_type="")
