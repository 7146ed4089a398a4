"""The inventory of a stack from its plan, without requests to Azure."""

from dataclasses import dataclass, replace
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING

from azure_gpu.catalog import providers, regions
from azure_gpu.catalog.problems import Problem
from azure_gpu.catalog.size_use import Service, SizeUse
from azure_gpu.formats import azure_types
from azure_gpu_operations import planned
from azure_gpu_operations.preflight.needs import NamedKind, RequestedName

if TYPE_CHECKING:  # it loads all components, and `--help` needs none
    from azure_gpu.stack import inventory
    from azure_gpu.stack.inventory import EnvironmentUse, MachinesUse, PackageUse

_KINDS = {
    azure_types.STORAGE_ACCOUNT.arm_type: NamedKind.STORAGE,
    azure_types.REGISTRY.arm_type: NamedKind.REGISTRY,
    azure_types.BATCH_ACCOUNT.arm_type: NamedKind.BATCH,
    azure_types.KEY_VAULT.arm_type: NamedKind.VAULT,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Inventory:
    """`group` is the name of an existing resource group; empty if the stack creates one."""

    day: date
    region: str
    problems: tuple[Problem, ...] = ()
    unchecked: tuple[str, ...] = ()  # what the file insists on, as `unchecked: [region]`
    uses: tuple[SizeUse, ...] = ()
    system_pools: "tuple[MachinesUse, ...]" = ()  # of the clusters that it creates
    ml_machines: "tuple[MachinesUse, ...]" = ()  # of managed endpoints and computes; with the fifth that is kept for upgrades
    environments: "tuple[EnvironmentUse, ...]" = ()  # of Container Apps, with the GPUs that jobs use there
    names: tuple[RequestedName, ...] = ()
    namespaces: tuple[str, ...] = ()  # of the resource providers that it needs
    batch_account: str = ""  # the name of the account that its pools are in
    batch_account_id: str = ""  # its ARM id where it is an existing one
    packages: "tuple[PackageUse, ...]" = ()
    log_workspace: str = ""  # ARM id of the one that is created; empty where none is
    assigns_roles: bool = True
    locks_data: bool = False
    key: str = ""  # ARM id of the key on which its identity gets a role
    group: str = ""
    makes_budget: bool = False
    budget_of_subscription: bool = False  # else it is the resource group's

    @property
    def draws(self) -> bool:
        """Whether it needs anything of a quota."""
        return bool(self.uses or self.system_pools or self.ml_machines or self.environments)

    def beyond(self, before: "Inventory") -> "Inventory":
        """What needs more than before of a quota."""
        return replace(
            self,
            uses=tuple(each for each in self.uses if each not in before.uses),
            system_pools=tuple(each for each in self.system_pools if each not in before.system_pools),
            ml_machines=tuple(each for each in self.ml_machines if each not in before.ml_machines),
            environments=tuple(each for each in self.environments if each not in before.environments),
        )


def take(project_folder: Path, file: Path, stack: str, as_of: str) -> Inventory:
    """The inventory of the stack; `as_of` empty is the stack's own day. `planned.UnreadableStackFileError`."""
    return of(planned.inventory(project_folder, file, stack, as_of))


def of(taken: "inventory.Inventory") -> Inventory:
    """What the library has taken of a stack, with the names and registrations that preflight asks about."""
    namespaces = {name.arm_type.split("/")[0] for name in taken.names}
    namespaces |= {namespace for use in taken.uses for namespace in providers.OF_SERVICE[use.service]}
    if providers.MACHINE_LEARNING in namespaces:  # a workspace, and what it can't be without
        namespaces |= set(providers.OF_SERVICE[Service.ML_COMPUTE])
    if providers.LOGS in namespaces:  # what sends logs there does so by a diagnostic setting
        namespaces.add(providers.INSIGHTS)
    namespaces |= set(providers.OF_SERVICE[Service.AKS]) if taken.system_pools or taken.clusters else set()
    namespaces |= {providers.POLICY} if taken.azure_policy else set()
    return Inventory(
        day=taken.day,
        # What can't be a region has its problem; asked of Azure it would only fail again.
        region=taken.location if regions.may_be(taken.location) else "",
        problems=taken.problems,
        unchecked=taken.unchecked,
        uses=taken.uses,
        system_pools=taken.system_pools,
        ml_machines=taken.ml_machines,
        environments=taken.environments,
        names=tuple(
            RequestedName(_KINDS[name.arm_type], name.name, taken.location, name.kept)
            for name in taken.names
            if name.arm_type in _KINDS
        ),
        namespaces=tuple(sorted(namespaces - set(providers.ALWAYS_REGISTERED))),
        batch_account=taken.batch_account,
        batch_account_id=taken.batch_account_id,
        packages=taken.packages,
        log_workspace=taken.log_workspace,
        assigns_roles=taken.assigns_roles,
        locks_data=taken.locks_data,
        key=taken.key,
        group=taken.group,
        makes_budget=taken.budget_in_azure,
        budget_of_subscription=taken.budget_of_subscription,
    )
