"""An Azure Machine Learning workspace with its computes, models, environments and code, or an existing one with additions.

The workspace keeps its data in the stack's storage account, without keys, and its secrets in a vault with Azure RBAC. It has a
separate identity; work on its computes uses the stack's. Machines scale from zero, without user logins, and have a last day.
Clusters and virtual machines of the stack are attached; versions of models, environments and code never change. Deleted
workspaces and vaults keep their names for days, so these names get a random suffix. Left out: compute instances, registries of
models, feature stores, custom encryption keys, private DNS zones.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Literal, Unpack, cast, overload

import pulumi
from pulumi_azure_native import applicationinsights, keyvault, machinelearningservices as ml, managedidentity

from azure_gpu.catalog import roles
from azure_gpu.catalog.problems import Problem
from azure_gpu.catalog.services import private_link_scopes
from azure_gpu.catalog.services.private_networks import VAULT_ZONE
from azure_gpu.formats import azure_types
from azure_gpu.formats.azure_types import AzureType
from azure_gpu.foundation import common
from azure_gpu.ml.dependencies import MlDependencies, WorkspaceOfEndpoint
from azure_gpu.ml.workspace import (
    children as workspace_children,
    existing as workspace_existing,
    inputs,
    roles as workspace_roles,
)
from azure_gpu.ml.workspace.args import InsightsArgs, KeyVaultArgs, MlWorkspaceArgs, MlWorkspaceWiring, OutboundRuleArgs
from azure_gpu.ml.workspace.attached import extract_attached
from azure_gpu.ml.workspace.children import WorkspaceTarget, storage_id
from azure_gpu.ml.workspace.immutable import REPLACING_COMPUTE, REPLACING_WORKSPACE
from azure_gpu.ml.workspace.resolve import resolve
from azure_gpu.ml.workspace.roles import Scopes
from azure_gpu.ml.workspace.rules import missing_dependencies
from azure_gpu.ml.workspace.spec import MlWorkspaceSpec, offer
from azure_gpu.shared import brakes, log_settings, overrides, private_link_scope, private_network, retry_hooks
from azure_gpu.shared.component import Component, OnlyInPython
from azure_gpu.shared.context import (
    Context,
    LinkScope,
    LogsArgs,
    after,
    as_serving,
    declared,
    dependencies_of,
    known,
    pull_role_of,
)
from azure_gpu.shared.look_up import AskedBy
from azure_gpu.shared.program import Around, Described
from azure_gpu.shared.validation import written
from azure_gpu.shared.wired import Wired
from azure_gpu.shared.workloads import not_built

__all__ = ["HOW_REPLACED", "REPLACING", "MlWorkspace"]

REPLACING = [*REPLACING_WORKSPACE, *(f"{path} (of machines)" for path in REPLACING_COMPUTE)]
HOW_REPLACED = (
    "of the\nworkspace with all that is in it, beside the old one where its name isn't set, or only of the one compute, as its"
    "\n`replace` says"
)
# Events of machines and jobs, and GPU utilization, all without a price on export. Source: Microsoft Learn,
# azure-monitor/reference/supported-logs, Microsoft.MachineLearningServices/workspaces.
LOG_CATEGORIES = ("AmlComputeClusterEvent", "AmlComputeCpuGpuUtilization", "AmlComputeJobEvent", "AmlRunStatusChangedEvent")
VAULT_LOG_CATEGORIES = ("AuditEvent",)  # reads of secrets

_Wired = Wired[MlWorkspaceWiring, MlWorkspaceSpec]


class MlWorkspace(Component[MlWorkspaceArgs, MlWorkspaceWiring, MlWorkspaceSpec]):
    """A workspace. Raises `Refused` if its arguments are invalid."""

    workspace_id: pulumi.Output[str]
    """ARM id of the workspace."""
    workspace_name: pulumi.Output[str]
    """Its name in Azure."""
    identity_principal_id: pulumi.Output[str] | None
    """Object id of its identity; None for an existing workspace."""
    computes: dict[str, pulumi.Output[str]]
    """ARM ids of its computes by their names in the stack file, which stay when a compute is replaced."""
    models: dict[str, pulumi.Output[str]]
    """ARM ids of its models' versions, by their names in the stack file."""
    environments: dict[str, pulumi.Output[str]]
    """ARM ids of its environments' versions, by their names in the stack file."""
    code: dict[str, pulumi.Output[str]]
    """ARM ids of its code's versions, by their names in the stack file."""
    expires_at: dict[str, str | None]
    """By compute with machines: when they should be deleted, RFC 3339 in UTC."""
    hourly_cost: dict[str, float | None]
    """By compute with machines: list price in USD an hour with the maximum number. None if unknown, which doesn't mean free."""
    idle_cost: dict[str, float | None]
    """The same with the minimum number."""
    dependencies: OnlyInPython[MlDependencies]
    """The workspace as arguments of its endpoints."""
    around: OnlyInPython[Around]
    """Context for endpoints that a program creates in it."""

    @overload
    def __init__(self, name: str, args: MlWorkspaceArgs | _Wired, opts: pulumi.ResourceOptions | None = None) -> None: ...

    @overload
    def __init__(self, name: str, *, opts: pulumi.ResourceOptions | None = None, **kw: Unpack[MlWorkspaceArgs]) -> None: ...

    def __init__(self, *args: Any, **kw: Any) -> None:
        super().__init__(*args, **kw)

    @staticmethod
    def _wire(described: Described) -> _Wired:
        attached = extract_attached(described.args.get("computes", {}), str(described.component))
        described.args.update(clusters=attached.clusters, vms=attached.vms)
        return common.wire(described)

    def _resolve(self, args: MlWorkspaceWiring, context: Context) -> tuple[MlWorkspaceSpec, list[Problem]]:
        spec, problems = resolve(args, context, args.get("clusters", {}), args.get("vms", {}))
        missing = missing_dependencies(
            spec, identity="identity_id" in args, storage="storage" in args, logs="logs" in args, registry="registry" in args
        )
        return spec, [*problems, *missing, *_unbuilt(spec, args)]

    def _look_up(self, spec: MlWorkspaceSpec, asked_by: AskedBy) -> tuple[MlWorkspaceSpec, list[Problem]]:
        return workspace_existing.look_up(spec, asked_by)

    def _declare(self, spec: MlWorkspaceSpec) -> None:
        self._as_set = self._spec = spec
        self._spec = spec = self._with_rule("id")
        self.identity_principal_id = None
        target = self._existing() if spec.existing else self._created()
        self.workspace_id = target.workspace_id
        self.workspace_name = target.workspace
        self._roles_of_endpoints()
        self._children(target)
        self.expires_at = {key: each.expires_at for key, each in spec.machines.items()}
        self.hourly_cost = {key: each.cost.number for key, each in spec.machines.items()}
        self.idle_cost = {key: each.idle_cost.number for key, each in spec.machines.items()}
        self.dependencies = MlDependencies(ml_workspace=self._offered(target))
        self.around = Around(context=spec.context, dependencies=dependencies_of(self._args))
        self._announce()

    @property
    def _link_scope(self) -> LinkScope | None:
        """The scope in which Application Insights are created; None: they have public addresses."""
        if self._spec.existing is not None or self._spec.insights is not None or "logs" not in self._args:
            return None
        return self._args["logs"].get("private_link_scope")

    def _with_rule(self, key: Literal["id", "known_id"]) -> MlWorkspaceSpec:
        """Adds the rule by which a managed network, which isn't the stack's, reaches Application Insights in a scope. `key`: of
        the scope's id. Source: `private_link_scopes.MANAGED_PAGE`."""
        spec, scope = self._as_set, self._link_scope
        if scope is None or not spec.in_managed_network:
            return spec
        rule = OutboundRuleArgs(resource_id=scope[key], subresource=private_link_scopes.GROUP)
        return replace(spec, outbound_rules={"monitor": rule, **spec.outbound_rules})

    def _children(self, target: WorkspaceTarget) -> None:
        spec, args = self._spec, self._args
        computes = workspace_children.computes(spec, args, target)
        store = workspace_children.model_store(spec, args, target)
        models = workspace_children.models(spec, args, target, store)
        environments = workspace_children.environments(spec, args, target)
        code = workspace_children.code(spec, target)
        self.computes = {key: each.id for key, each in computes.items()}
        self.models = {key: each.id for key, each in models.items()}
        self.environments = {key: each.id for key, each in environments.items()}
        self.code = {key: each.id for key, each in code.items()}

    def _existing(self) -> WorkspaceTarget:
        found = self._spec.existing
        assert found is not None
        # Resources in it wait for the roles of the stack's identity.
        waited = pulumi.Output.from_input(self._args["storage"]["id"] if "storage" in self._args else "")
        return WorkspaceTarget(
            path=self._spec.path,
            name=self._name,
            workspace=waited.apply(lambda _: found.name),
            workspace_id=pulumi.Output.from_input(found.text),
            group=found.resource_group,
            declared=None,
            parent=self,
            provider=self._asked_by.provider_at(found, self._spec.context.subscription_id),
        )

    def _created(self) -> WorkspaceTarget:
        args, identity = self._args, self._identity()
        self._new_roles = retry_hooks.NewRoles(self)
        self._again = retry_hooks.hooks(self, self._new_roles)
        self.identity_principal_id = identity.principal_id
        scopes = Scopes(
            storage=storage_id(args),
            vault=self._vault(identity.tenant_id),
            registry=args["registry"]["id"] if "registry" in args else None,
            insights=self._insights(),
            known=self._known_names(),
            pulling=self._roles_for_pulling(),
        )
        workspace = self._workspace(identity, scopes)
        ready: list[pulumi.Input[Any]] = [workspace.name]
        if args.get("assign_roles", True):
            needed = workspace_roles.on_workspace(self._name, workspace.id)
            on_itself = workspace_roles.assign(needed, self._spec, identity.principal_id, self._child)
            ready += [each.urn for each in on_itself]
        else:
            self._print_commands()
        log_settings.declare(self._name, workspace.id, args.get("logs"), LOG_CATEGORIES, self._child)
        self._private_endpoint(workspace)
        return WorkspaceTarget(
            path=self._spec.path,
            name=self._name,
            workspace=pulumi.Output.all(*ready).apply(lambda values: str(values[0])),
            workspace_id=workspace.id,
            group=args["resource_group_name"],
            declared=workspace,
            parent=self,
        )

    def _identity(self) -> managedidentity.UserAssignedIdentity:
        return managedidentity.UserAssignedIdentity(
            f"{self._name}-identity",
            resource_name_=self._identity_name,
            resource_group_name=self._args["resource_group_name"],
            location=declared(self._spec.location, self._args.get("location")),
            tags=self._spec.tags,
            opts=self._child,
        )

    def _workspace(self, identity: managedidentity.UserAssignedIdentity, scopes: Scopes) -> ml.Workspace:
        """Declares the workspace, after the roles that its identity requires before."""
        spec, args, new_roles = self._spec, self._args, self._new_roles
        encrypted = "customer_managed_key" in args
        of_roles = pulumi.ResourceOptions(parent=self, hooks=new_roles.hooks)
        needed = workspace_roles.before_workspace(self._name, spec, scopes) if args.get("assign_roles", True) else ()
        return ml.Workspace(
            f"{self._name}-workspace",
            workspace_name=declared(spec.name, args.get("workspace_name")),
            resource_group_name=args["resource_group_name"],
            **inputs.workspace(spec, scopes, identity.id, args.get("customer_managed_key")),
            tags=spec.tags,
            opts=pulumi.ResourceOptions(
                parent=self,
                depends_on=workspace_roles.assign(needed, spec, identity.principal_id, of_roles),
                protect=brakes.protect(
                    spec.context, azure_types.ML_WORKSPACE, f"{self._name}-workspace", spec.name or None, spec.location
                ),
                replace_on_changes=[*REPLACING_WORKSPACE, *(["encryption"] if encrypted else [])],
                # The version of its creation.
                ignore_changes=["encryption.keyVaultProperties.keyIdentifier"] if encrypted else None,
                # A fixed name has to be free, which it is 14 days after the old one's deletion: Azure reports that.
                delete_before_replace="workspace_name" in args,
                transformations=overrides.applied(args.get("overrides"), self),
                hooks=self._again,
            ),
        )

    def _roles_of_endpoints(self) -> None:
        """Assigns the roles once for all endpoints. An existing identity may already have them on an existing workspace, and
        Azure rejects a duplicate."""
        args, spec = as_serving(self._args), self._spec
        new = spec.existing is None or args.get("identity_is_own", False)
        if "identity_principal_id" not in args or not args.get("identity_name"):
            return
        if new and args.get("assign_roles", True):
            workspace = spec.existing.text if spec.existing else self.workspace_id
            needed = workspace_roles.of_endpoints(self._name, workspace)
            workspace_roles.assign(needed, spec, args["identity_principal_id"], self._child)
            return
        needed = workspace_roles.of_endpoints(self._name, self._id_for_commands)
        commands = workspace_roles.commands(needed, self._identity_of_endpoints)
        pulumi.log.info("\n".join(["so that endpoints can write metrics, an administrator has to run:", *commands]), self)

    def _roles_for_pulling(self) -> tuple[str, ...]:
        """Beside Contributor: a registry with conditions for repositories honours no role for pulling but its own."""
        role = pull_role_of(self._args["registry"]) if "registry" in self._args else roles.ACR_PULL
        return () if role == roles.ACR_PULL else (role,)

    def _known_names(self) -> frozenset[str]:
        names = [(known(self._args["storage"]["name"]) or "") if "storage" in self._args else ""]
        names += [self._args["registry"]["name"] if "registry" in self._args else ""]
        names += [self._spec.vault.name if self._spec.vault else ""]
        return frozenset(name.lower() for name in names)

    @property
    def _identity_name(self) -> str:
        return self._spec.context.name(azure_types.USER_ASSIGNED_IDENTITY.arm_type, self._name)

    @property
    def _vault_name(self) -> str:
        return f"{self._name}-vault"

    @property
    def _insights_name(self) -> str:
        return self._spec.context.name(azure_types.INSIGHTS_COMPONENT.arm_type, self._name)

    def _vault(self, tenant_id: pulumi.Input[str]) -> pulumi.Input[str]:
        spec, settings = self._spec, written(self._args.get("key_vault", KeyVaultArgs()))
        if spec.vault is not None:
            return spec.vault.text
        vault = keyvault.Vault(
            self._vault_name,
            resource_group_name=self._args["resource_group_name"],
            location=declared(spec.location, self._args.get("location")),
            properties=inputs.vault(spec, settings, tenant_id, public="private_network" not in self._args),
            tags=spec.tags,
            opts=pulumi.ResourceOptions(
                parent=self,
                protect=spec.context.protect,
                transformations=overrides.applied(settings.get("overrides"), self),
            ),
        )
        brakes.lock(spec.context, self._vault_name, vault.id, self)
        log_settings.declare(f"{self._name}-vault", vault.id, self._args.get("logs"), VAULT_LOG_CATEGORIES, self._child)
        return self._private_vault(vault)

    def _private_vault(self, vault: keyvault.Vault) -> pulumi.Output[str]:
        """Returns the id of the vault, which in a private network has an endpoint before it is used."""
        if "private_network" not in self._args:
            return vault.id
        name = self._spec.context.name(azure_types.PRIVATE_ENDPOINT.arm_type, f"{self._name}-vault")
        target = private_network.Target(id=vault.id, group="vault", connection="vault")
        settings = private_network.endpoint_keys(self._args["private_network"], [VAULT_ZONE])
        return after(vault.id, private_network.endpoint(self._vault_name, name, target, settings, self._surroundings))

    def _insights(self) -> pulumi.Input[str]:
        spec = self._spec
        if spec.insights is not None:
            return spec.insights.text
        own, scope = written(self._args.get("insights", InsightsArgs())).get("overrides"), self._link_scope
        public = applicationinsights.PublicNetworkAccessType.DISABLED if scope else None
        component = applicationinsights.Component(
            f"{self._name}-insights",
            resource_name_=self._insights_name,
            resource_group_name=self._args["resource_group_name"],
            location=declared(spec.location, self._args.get("location")),
            kind="web",
            application_type=applicationinsights.ApplicationType.WEB,
            ingestion_mode=applicationinsights.IngestionMode.LOG_ANALYTICS,
            workspace_resource_id=cast(LogsArgs, self._args.get("logs"))["workspace_arm_id"],
            disable_local_auth=True,  # metrics are written by an identity with a role
            public_network_access_for_ingestion=public,
            public_network_access_for_query=public,
            tags=spec.tags,
            opts=pulumi.ResourceOptions(
                parent=self,
                ignore_changes=overrides.left_alone(["disableLocalAuth"], own),
                transformations=overrides.applied(own, self),
            ),
        )
        if scope is not None:
            name = self._spec.context.name(azure_types.PRIVATE_LINK_SCOPED_RESOURCE.arm_type, f"{self._name}-insights")
            at, context = replace(self._surroundings, hooks=self._again), self._spec.context
            private_link_scope.link(f"{self._name}-insights", name, scope, component.id, at, self._asked_by, context)
        return component.id

    def _private_endpoint(self, workspace: ml.Workspace) -> None:
        settings = self._args.get("private_endpoint")
        if settings is None:
            return
        name = self._spec.context.name(azure_types.PRIVATE_ENDPOINT.arm_type, self._name)
        target = private_network.Target(id=workspace.id, group="amlworkspace", connection="workspace")
        private_network.endpoint(self._name, name, target, settings, self._surroundings)

    @property
    def _surroundings(self) -> private_network.Surroundings:
        return private_network.Surroundings(
            name=self._name,
            resource_group_name=self._args["resource_group_name"],
            location=declared(self._spec.location, self._args.get("location")),
            tags=self._spec.tags,
            parent=self,
        )

    def _offered(self, target: WorkspaceTarget) -> WorkspaceOfEndpoint:
        """The workspace as its endpoints use it, with wired values."""
        offered = offer(self._spec)
        offered["name"], offered["id"], offered["resource_group_name"] = target.workspace, target.workspace_id, target.group
        offered["provider"] = target.provider
        if not offered["location"] and target.declared is not None:
            offered["located"] = target.declared.location.apply(lambda location: location or "")
        for there, declared_there in (
            (offered["computes"], self.computes),
            (offered["models"], self.models),
            (offered["environments"], self.environments),
            (offered["code"], self.code),
        ):
            for key, found in declared_there.items():
                there[key]["id"] = found
        return offered

    def _print_commands(self) -> None:
        group = self._args.get("resource_group", "<resource-group>")
        spec, registry = self._with_rule("known_id"), self._args.get("registry")
        storage = known(self._args["storage"]["name"]) if "storage" in self._args else None
        scopes = Scopes(
            storage=_id_by_name("storage account show", storage or "<storage-account>"),
            vault=spec.vault.text if spec.vault else _id_by_prefix(group, azure_types.KEY_VAULT, self._vault_name),
            registry=_id_by_name("acr show", registry["name"], registry.get("subscription_id")) if registry is not None else None,
            insights=spec.insights.text if spec.insights else self._id_of(azure_types.INSIGHTS_COMPONENT, self._insights_name),
            known=self._known_names(),
            pulling=self._roles_for_pulling(),
        )
        identity = self._id_of(azure_types.USER_ASSIGNED_IDENTITY, self._identity_name)
        before = workspace_roles.commands(workspace_roles.before_workspace(self._name, spec, scopes), identity)
        once_there = workspace_roles.commands(workspace_roles.on_workspace(self._name, self._id_for_commands), identity)
        lines = ["an administrator has to run, before the workspace can be created:", *before, "and once it exists:", *once_there]
        pulumi.log.info("\n".join(lines), self)

    @property
    def _id_for_commands(self) -> str:
        """The workspace's id for commands, or a command that finds it."""
        spec, group = self._spec, self._args.get("resource_group", "<resource-group>")
        if spec.existing:
            return spec.existing.text
        if spec.name:
            return self._id_of(azure_types.ML_WORKSPACE, spec.name)
        return _id_by_prefix(group, azure_types.ML_WORKSPACE, f"{self._name}-workspace")

    @property
    def _identity_of_endpoints(self) -> str:
        """The ARM id of the identity of endpoints; if the stack has created it, only its group and name are known."""
        identity = as_serving(self._args).get("identity_name", "")
        group, _, name = identity.partition("/")
        if not group:
            return identity
        inputs = {"resourceGroupName": group, azure_types.USER_ASSIGNED_IDENTITY.name_parameter: name}
        return azure_types.USER_ASSIGNED_IDENTITY.id_of(self._spec.context.subscription_id, inputs)

    def _id_of(self, azure_type: AzureType, name: str) -> str:
        """The id of a resource in the workspace's resource group."""
        inputs = {"resourceGroupName": self._args.get("resource_group", "<resource-group>"), azure_type.name_parameter: name}
        return azure_type.id_of(self._spec.context.subscription_id, inputs)

    def _announce(self) -> None:
        """Shows the cost, only in a preview, since an update shows its preview first."""
        if not pulumi.runtime.is_dry_run():
            return
        spec = self._spec
        for each in spec.machines.values():
            most, idle = each.cost.text(spec.day), each.idle_cost.text(spec.day)
            machines = f"{each.max_nodes} machine{'' if each.max_nodes == 1 else 's'}"
            pulumi.log.info(f"{each.name} costs {most} with {machines}, and {idle} while idle", self)
        if spec.existing is None and spec.in_managed_network:
            firewall = f", and an Azure Firewall ({spec.firewall})" if spec.has_firewall else ""
            paid = f"the managed network has private endpoints{firewall}, billed by the hour; their prices aren't known here"
            pulumi.log.info(paid, self)


def _id_by_name(by: str, name: str, subscription: str | None = None) -> str:
    """A command that finds an id by a globally unique name."""
    return f"$(az {by} --name {name}{f' --subscription {subscription}' if subscription else ''} --query id --output tsv)"


def _id_by_prefix(group: str, azure_type: AzureType, begins: str) -> str:
    """A command that finds an id by the prefix of a generated name."""
    query = f"[?starts_with(name, '{begins}')].id | [0]"
    return f'$(az resource list --resource-group {group} --resource-type {azure_type.arm_type} --query "{query}" --output tsv)'


def _unbuilt(spec: MlWorkspaceSpec, args: MlWorkspaceWiring) -> list[Problem]:
    """Problems of environments whose workload's image isn't built."""
    images = args["registry"]["workload_images"] if "registry" in args else {}
    return [
        not_built(each.workload, images, f"{each.path}.workload")
        for each in spec.assets.environments.values()
        if each.workload is not None and each.workload not in images
    ]
