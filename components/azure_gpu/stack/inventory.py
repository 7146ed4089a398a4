"""Inventory of the resources that a stack file requests, for `preflight`, made without declaring them or reading Azure."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from datetime import date

from azure_gpu.aks.spec import ClusterSpec
from azure_gpu.batch.account.spec import BatchAccountSpec
from azure_gpu.budget.spec import BudgetSpec
from azure_gpu.catalog.problems import Problem
from azure_gpu.catalog.services.aks import clusters
from azure_gpu.catalog.size_use import SizeUse
from azure_gpu.formats import azure_types
from azure_gpu.foundation.spec import FoundationSpec
from azure_gpu.ml.endpoint.spec import identity_of
from azure_gpu.shared.part import Part
from azure_gpu.stack import other_stacks
from azure_gpu.stack.kinds import KINDS
from azure_gpu.stack.look_ups import ASSUMED
from azure_gpu.stack.own_source import no_source
from azure_gpu.stack.plan import Plan, plan as make_plan
from azure_gpu.stack.requests import EnvironmentUse, MachinesUse, Name, PackageUse, Requesting
from azure_gpu.stack.secret_values import NOTHING_ENCRYPTED, Encrypted
from azure_gpu.stack.settings import Settings, read


@dataclass(frozen=True, slots=True, kw_only=True)
class Inventory:
    day: date  # at which the stack is evaluated
    location: str = ""
    subscription_id: str = ""
    problems: tuple[Problem, ...] = ()
    unchecked: tuple[str, ...] = ()  # what the file insists on
    uses: tuple[SizeUse, ...] = ()
    system_pools: tuple[MachinesUse, ...] = ()  # of clusters that are created
    ml_machines: tuple[MachinesUse, ...] = ()  # of computes and managed deployments, whose upgrades reserve 20 % more
    environments: tuple[EnvironmentUse, ...] = ()
    names: tuple[Name, ...] = ()  # of what is created
    batch_account: str = ""  # name of the account of the pools; empty where there is none
    batch_account_id: str = ""  # ARM id of an existing one; empty where it is created
    packages: tuple[PackageUse, ...] = ()
    log_workspace: str = ""  # ARM id of the one that is created; empty where none is
    assigns_roles: bool = True
    locks_data: bool = False
    key: str = ""  # ARM id of the key that encrypts data and on which a role is assigned; empty without one
    link_scope: str = ""  # ARM id of an existing private link scope, which resources are added to; empty without one
    azure_policy: bool = False  # whether a cluster has AKS's add-on for Azure Policy
    clusters: tuple[str, ...] = ()  # ARM ids of existing ones
    group: str = ""  # name of the existing resource group; empty where one is created
    ml_workspace: str = ""  # ARM id of an existing one; empty where it is created, or there is none
    monthly_budget: float | None = None  # USD; None: the stack has no budget
    budget_in_azure: bool = False  # whether a budget is created in Azure
    budget_of_subscription: bool = False  # whether the budget is the subscription's; else it is the resource group's


def take(
    configuration: Mapping[str, str],
    project: str,
    stack: str,
    today: str,
    encrypted: Encrypted = NOTHING_ENCRYPTED,
    outputs_of: other_stacks.Reader = other_stacks.unavailable,
    own_source: Callable[[], str] = no_source,
) -> Inventory:
    """Returns the inventory of a stack with this configuration. `encrypted`: which of its values are secrets; `outputs_of` reads
    other stacks, `own_source` finds the sources of the workloads."""
    settings = read(configuration, today, encrypted, project, outputs_of=outputs_of, own_source=own_source)
    return of_plan(settings, make_plan(settings, ASSUMED, project, stack))


def of_plan(settings: Settings, plan: Plan) -> Inventory:
    """Returns the inventory of a plan."""
    foundation = plan.foundation
    clusters: list[ClusterSpec] = [spec.cluster for spec, _ in plan.parts["clusters"].values()]
    accounts: list[BatchAccountSpec] = [spec for spec, _ in plan.parts["batch_account"].values()]
    budgets: list[BudgetSpec] = [*plan.parts["budget"].values()]
    items = [
        item
        for kind in KINDS
        if kind.section not in settings.planned_only
        for name, spec in plan.parts[kind.section].items()
        for item in kind.requests(Requesting(name, settings.parts, plan.parts, plan.context), spec)
    ]
    kept = {(part.azure_type.arm_type, part.name) for part in plan.kept}
    return Inventory(
        day=plan.context.day,
        location=plan.context.location,
        subscription_id=plan.context.subscription_id,
        problems=plan.problems,
        unchecked=tuple(settings.unchecked),
        uses=tuple(each for each in items if isinstance(each, SizeUse)),
        system_pools=tuple(_system_pool(spec) for spec in clusters if spec.existing is None),
        ml_machines=tuple(each for each in items if isinstance(each, MachinesUse)),
        environments=tuple(each for each in items if isinstance(each, EnvironmentUse)),
        names=tuple(replace(each, kept=(each.arm_type, each.name) in kept) for each in items if isinstance(each, Name)),
        batch_account="".join(account.name for account in accounts),
        batch_account_id="".join(account.existing.text for account in accounts if account.existing),
        packages=tuple(each for each in items if isinstance(each, PackageUse)),
        log_workspace=_log_workspace(plan),
        assigns_roles=_assigns_roles(plan),
        locks_data=plan.foundation.context.lock_data,
        key=foundation.key.text if foundation.key is not None and foundation.assign_roles else "",
        link_scope=_link_scope(foundation),
        azure_policy=any(spec.settings.get("azure_policy") for spec in clusters),
        clusters=tuple(spec.existing.text for spec in clusters if spec.existing is not None),
        group=foundation.resource_group.name if foundation.resource_group.existing else "",
        ml_workspace="".join(each.existing.text for each in plan.parts["ml_workspace"].values() if each.existing),
        monthly_budget=budgets[0].monthly_usd if budgets else None,
        budget_in_azure=bool(budgets) and "budget" not in settings.planned_only,
        budget_of_subscription=any(budget.of_subscription for budget in budgets),
    )


def _system_pool(spec: ClusterSpec) -> MachinesUse:
    return MachinesUse(
        size=spec.system.size,
        region=spec.location,
        nodes=max(spec.system.nodes, spec.system.most_nodes),
        family=clusters.family(spec.system.size),
        vcpus=clusters.vcpus(spec.system.size),
        path=f"{spec.path}.system_pool.size",
    )


def _assigns_roles(plan: Plan) -> bool:
    """Whether an identity that the stack creates gets roles: the stack's, a cluster's, a workspace's, or that of machines and
    endpoints which don't use the stack's."""
    foundation = plan.foundation
    has_one = foundation.identity is not None or foundation.serving_identity is not None
    speaking = {identity_of(endpoint, stack_has_one=has_one) for endpoint in plan.parts["ml_endpoints"].values()}
    return foundation.assign_roles and (
        any(isinstance(each.who, Part) for each in foundation.assignments())
        or bool(plan.parts["clusters"])
        or any(workspace.existing is None for workspace in plan.parts["ml_workspace"].values())
        or "system" in speaking
        or (bool(plan.parts["vms"]) and foundation.identity is None)
    )


def _link_scope(foundation: FoundationSpec) -> str:
    scope = foundation.link_scope
    return scope.part.existing.text if scope is not None and scope.part.existing is not None else ""


def _log_workspace(plan: Plan) -> str:
    spec = plan.foundation
    if spec.log_workspace is None or spec.log_workspace.existing is not None:
        return ""
    return spec.id_of(azure_types.LOG_WORKSPACE, spec.log_workspace)
