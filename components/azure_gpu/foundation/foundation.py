"""The foundation of a stack: resource group, identities, network, registry with image builds, log workspace, storage account.

Each part is created, or an existing one is used, which is looked up and never changed or deleted. Not included: key
vault, budget. Use one foundation per stack, as its parts are named after the stack.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Literal, Unpack, cast, overload

import pulumi
from pulumi_azure_native import containerregistry, managedidentity, operationalinsights, resources, storage

from azure_gpu.catalog import roles
from azure_gpu.catalog.problems import Problem
from azure_gpu.catalog.refusals import refused
from azure_gpu.catalog.services.private_networks import BLOB_ZONE, FILE_ZONE, REGISTRY_ZONE
from azure_gpu.formats import arm_ids, azure_types
from azure_gpu.foundation import builds, purge
from azure_gpu.foundation.args import FoundationArgs, FoundationWiring
from azure_gpu.foundation.existing import FoundationLookup, look_up
from azure_gpu.foundation.spec import PARTS, FoundationSpec, Key, resolve
from azure_gpu.shared import (
    brakes,
    overrides,
    private_link_scope,
    private_network,
    program,
    retry_hooks,
    role_command,
    role_of_identity,
)
from azure_gpu.shared.component import Component, OnlyInPython
from azure_gpu.shared.context import (
    Context,
    CustomerKey,
    Dependencies,
    LogsArgs,
    RegistryArgs,
    ServingArgs,
    StorageArgs,
    after,
    check_region,
    declared,
)
from azure_gpu.shared.look_up import AskedBy
from azure_gpu.shared.part import Part, name_of
from azure_gpu.shared.principals import SERVICE_PRINCIPAL, Principal
from azure_gpu.shared.program import Around, Described
from azure_gpu.shared.validation import written
from azure_gpu.shared.wired import Wired
from azure_gpu.shared.workloads import Workload

# Deleted blobs and containers can be restored during this time; overwritten ones keep older versions. Microsoft Learn,
# articles/storage/blobs/soft-delete-blob-overview.md (1 to 365 days, 7 where the portal turns it on) and versioning-overview.md,
# which recommends both together.
BLOB_RETENTION_DAYS = 7
LOG_RETENTION_DAYS = 30  # the service's default, made explicit


# Keys that become arguments of the stack.
_OF_STACK = frozenset({"team", "tags", "protect_data", "lock_data", "other_subscriptions"})
_HOLDING_DATA = {"registry": "registry", "log_workspace": "logs", "storage": "storage"}  # their ends of the logical name
_Spec = tuple[FoundationSpec, FoundationLookup]
_Wired = Wired[FoundationWiring, _Spec]


class Foundation(Component[FoundationArgs, FoundationWiring, _Spec]):
    """The foundation of a stack. Raises `Refused` for invalid arguments."""

    resource_group_name: pulumi.Output[str]
    """The resource group of the stack."""
    identity_id: pulumi.Output[str] | None
    """ARM id of the identity; None without one."""
    identity_name: pulumi.Output[str] | None
    """Its name in Azure; None without one."""
    identity_principal_id: pulumi.Output[str] | None
    """Object id of the identity, which roles are assigned to; None without one."""
    identity_client_id: pulumi.Output[str] | None
    """Client id of the identity, by which programs that run as it name it; None without one."""
    serving_identity_id: pulumi.Output[str] | None
    """ARM id of the serving identity; None without one."""
    serving_identity_name: pulumi.Output[str] | None
    """Its name in Azure; None without one."""
    serving_identity_principal_id: pulumi.Output[str] | None
    """Object id of the serving identity, which roles are assigned to; None without one."""
    serving_identity_client_id: pulumi.Output[str] | None
    """Client id of the serving identity, by which programs that run as it name it; None without one."""
    registry_id: pulumi.Output[str] | None
    """ARM id of the registry; None without one."""
    registry_name: pulumi.Output[str] | None
    """Its name in Azure; None without one."""
    registry_server: pulumi.Output[str] | None
    """Login server of the registry; None without one."""
    workload_images: dict[str, pulumi.Output[str]]
    """The images that the registry builds, by workload."""
    log_workspace_id: pulumi.Output[str] | None
    """ARM id of the log workspace; None without one."""
    log_workspace_name: pulumi.Output[str] | None
    """Its name in Azure; None without one."""
    storage_account_id: pulumi.Output[str] | None
    """ARM id of the storage account; None without one."""
    storage_account_name: pulumi.Output[str] | None
    """Its name in Azure; None without one."""
    dependencies: OnlyInPython[Dependencies]
    """The same as arguments of other components."""
    around: OnlyInPython[Around]
    """Context and dependencies for components of a program that get this foundation."""

    @overload
    def __init__(self, name: str, args: FoundationArgs | _Wired, opts: pulumi.ResourceOptions | None = None) -> None: ...

    @overload
    def __init__(self, name: str, *, opts: pulumi.ResourceOptions | None = None, **kw: Unpack[FoundationArgs]) -> None: ...

    def __init__(self, *args: Any, **kw: Any) -> None:
        super().__init__(*args, **kw)

    @staticmethod
    def _wire(described: Described) -> _Wired:
        group = arm_ids.parse(described.args.get("resource_group", {}).get("existing", ""))
        stack = program.stack_of(described, None, program.location_of(group.name if group else None, described.asked_by))
        if "tags" in described.args:
            stack["tags"] = described.args["tags"]
        if not stack["location"] and "location" not in described.args and group is None:
            described.problems.append(refused("foundation.no_location", f"{described.component}.location"))
        writes = {"write_blobs": described.args.get("write_blobs", True), "share_files": described.args.get("share_files", False)}
        return program.wired(described, _OF_STACK, writes, stack)

    def _resolve(self, args: FoundationWiring, context: Context) -> tuple[_Spec, list[Problem]]:
        spec, problems = resolve(args, context)
        problems += check_region(cast("pulumi.Input[str] | None", args.get("location")), context.own_path("location"))
        return (spec, FoundationLookup(image_tags={})), problems

    def _look_up(self, spec: _Spec, asked_by: AskedBy) -> tuple[_Spec, list[Problem]]:
        foundation, _ = spec
        found, problems = look_up(foundation, asked_by)
        return (foundation, found), problems

    def _declare(self, spec: _Spec) -> None:
        self._spec, self._found = spec
        self._new_roles = retry_hooks.NewRoles(self) if self._spec.key else None
        waits = self._spec.workloads or self._spec.key or self._spec.link_scope
        self._again = retry_hooks.hooks(self, self._new_roles) if waits else None
        self.resource_group_name = self._resource_group()
        self.dependencies = {
            "resource_group_name": self.resource_group_name,
            "resource_group": self._spec.resource_group.name,
            "assign_roles": self._spec.assign_roles,
        }
        self._network()
        self._own_identity(self._spec.identity)
        self._customer_key()
        self.registry_id, self.registry_server = self._registry(self._spec.registry)
        self.log_workspace_id = self._log_workspace(self._spec.log_workspace)
        self.storage_account_id = self._storage(self._spec.storage)
        self._serving_identity(self._spec.serving_identity)
        self._names()
        self.around = Around(context=self._spec.context, dependencies=self.dependencies)
        commands = [] if self._spec.assign_roles else role_commands(self._spec, self._found.pull_role)
        if commands:
            pulumi.log.info("\n".join(["an administrator has to run:", *commands]), self)

    def _names(self) -> None:
        spec = self._spec
        self.identity_name = name_of(self.identity_id, spec.identity)
        self.serving_identity_name = name_of(self.serving_identity_id, spec.serving_identity)
        self.registry_name = name_of(self.registry_id, spec.registry)
        self.log_workspace_name = name_of(self.log_workspace_id, spec.log_workspace)
        self.storage_account_name = name_of(self.storage_account_id, spec.storage)
        images = self.dependencies["registry"]["workload_images"] if "registry" in self.dependencies else {}
        self.workload_images = {workload: pulumi.Output.from_input(image) for workload, image in images.items()}

    def _location(self) -> pulumi.Input[str] | None:
        return declared(self._spec.context.location, cast("pulumi.Input[str] | None", self._args.get("location")))

    def _with(self, part: Key, *new_alone: str) -> pulumi.ResourceOptions:
        """Returns the options of a created part, with its overrides; one that holds data is protected. `new_alone`: properties
        that one that exists keeps as they are."""
        # pyrefly: ignore[bad-assignment, bad-specialization]
        settings: Mapping[str, Any] = written(self._args.get(part, {}))
        return pulumi.ResourceOptions(
            parent=self,
            protect=self._protected(part),
            ignore_changes=overrides.left_alone(new_alone, settings.get("overrides")),
            transformations=overrides.applied(settings.get("overrides"), self),
        )

    def _protected(self, part: Key) -> bool | None:
        context, planned = self._spec.context, cast("Part | None", getattr(self._spec, part))
        if part not in _HOLDING_DATA or planned is None:
            return None
        logical = f"{self._name}-{_HOLDING_DATA[part]}"
        return brakes.protect(context, PARTS[part][0], logical, planned.name, context.location)

    def _resource_group(self) -> pulumi.Output[str]:
        part = self._spec.resource_group
        if part.existing:
            return pulumi.Output.from_input(part.name)
        group = resources.ResourceGroup(
            f"{self._name}-resource-group",
            resource_group_name=part.name,
            location=self._location(),
            tags=self._spec.context.tags(),
            opts=self._with("resource_group"),
        )
        return group.name

    @property
    def _surroundings(self) -> private_network.Surroundings:
        return private_network.Surroundings(
            name=self._name,
            resource_group_name=self.resource_group_name,
            location=self._location(),
            tags=self._spec.context.tags(),
            parent=self,
        )

    def _network(self) -> None:
        """Adds the private network to the dependencies."""
        if self._spec.network is not None:
            self.dependencies["private_network"] = private_network.declare(self._spec.network, self._surroundings)

    def _private(self, part: str, of: pulumi.Output[str], zones: Mapping[str, str]) -> list[pulumi.Resource]:
        """Declares the private endpoints of a part. `zones`: by the part of the resource that has a name in them."""
        found: list[pulumi.Resource] = []
        if "private_network" not in self.dependencies:
            return found
        for group, zone in zones.items():
            suffix = part if part == group else f"{part}-{group}"
            name = self._spec.context.name(azure_types.PRIVATE_ENDPOINT.arm_type, suffix)
            target = private_network.Target(id=of, group=group, connection=suffix)
            settings = private_network.endpoint_keys(self.dependencies["private_network"], [zone])
            found += private_network.endpoint(f"{self._name}-{suffix}", name, target, settings, self._surroundings)
        return found

    def _own_identity(self, part: Part | None) -> None:
        """Adds the identity to the dependencies."""
        found = self._identity("identity", part, self._found.identity)
        self.identity_id, self.identity_principal_id, self.identity_client_id = found or (None, None, None)
        if part is not None and found is not None:
            self.dependencies["identity_id"], self.dependencies["identity_name"] = found[0], self._spec.identity_name
            self.dependencies["identity_principal_id"], self.dependencies["identity_client_id"] = found[1:]
            self.dependencies["identity_is_own"] = part.existing is None

    def _customer_key(self) -> None:
        """Adds the key that encrypts data to the dependencies. Its users wait for the identity's role on it, which is protected
        as the data is: that can't be read without it."""
        found, key = self._found.key, self._spec.key
        if key is None or found is None or self.identity_id is None:
            return
        opts = pulumi.ResourceOptions(
            parent=self, protect=self._spec.context.protect, hooks=self._new_roles.hooks if self._new_roles else None
        )
        assigned = self._assigned("key-role", pulumi.Output.from_input(key.text), opts)
        self.dependencies["customer_managed_key"] = CustomerKey(
            id=key.text,
            vault_id=key.scope,
            location=found.location,
            identity_id=self.identity_id,
            uri=after(found.uri, assigned),
            uri_with_version=after(found.uri_with_version, assigned),
        )

    def _encrypted(self, *replacing: str) -> pulumi.ResourceOptions:
        """Returns the options of what the key encrypts; none without one. `replacing`: what only a new resource gets."""
        if "customer_managed_key" not in self.dependencies:
            return pulumi.ResourceOptions()
        return pulumi.ResourceOptions(hooks=self._again, replace_on_changes=list(replacing))

    def _serving_identity(self, part: Part | None) -> None:
        """Adds the serving identity to the dependencies; its users wait for its roles.

        These are on the whole account: a single container would be a valid scope too, but an endpoint also reads the container of
        the workspace's default datastore, which Azure Machine Learning creates, and code at an address of the user's. Sources:
        Microsoft Learn, storage/blobs/assign-azure-role-data-access; MicrosoftDocs/azure-ai-docs,
        concept-endpoints-online-auth.md (2023-12-15), by which Azure assigns no role to a user-assigned identity of an endpoint.
        """
        found = self._identity("serving_identity", part, self._found.serving_identity)
        self.serving_identity_id, principal_id, client_id = found or (None, None, None)
        self.serving_identity_principal_id, self.serving_identity_client_id = principal_id, client_id
        if part is not None and found is not None:
            assigned = self._assigned("serving-pull-role", self.registry_id)
            assigned += self._assigned("serving-blob-role", self.storage_account_id)
            self.dependencies["serving"] = ServingArgs(
                id=after(found[0], assigned),
                name=self._spec.serving_identity_name,
                client_id=found[2],
                principal_id=found[1],
                is_own=part.existing is None,
            )

    def _identity(
        self,
        key: Literal["identity", "serving_identity"],
        part: Part | None,
        found: managedidentity.GetUserAssignedIdentityResult | None,
    ) -> tuple[pulumi.Output[str], pulumi.Output[str], pulumi.Output[str]] | None:
        """Returns ARM id, principal id and client id."""
        if part is None:
            return None
        identity = found or managedidentity.UserAssignedIdentity(
            f"{self._name}-{key.replace('_', '-')}",
            resource_name_=part.name,
            **self._surroundings.common,
            opts=self._with(key),
        )
        known = pulumi.Output.from_input
        return known(identity.id), known(identity.principal_id), known(identity.client_id)

    def _registry(self, part: Part | None) -> tuple[pulumi.Output[str], pulumi.Output[str]] | tuple[None, None]:
        """Returns ARM id and login server. Adds the registry, with the images built in it, to the dependencies."""
        if part is None:
            return None, None
        found, new = self._found.registry, None
        if found:
            registry_id, server = pulumi.Output.from_input(found.id), pulumi.Output.from_input(found.login_server)
        else:
            new = self._new_registry(part)
            registry_id, server = new.id, new.login_server
        before_pulling, pull_role = self._assigned("pull-role", registry_id), self._found.pull_role
        if new is not None:
            before_pulling += self._private("registry", new.id, {"registry": REGISTRY_ZONE})
        images = self._images(new, before_pulling) if new is not None else {}
        if new is not None and self._spec.purges:
            self._purge(new)
        # Users of the registry wait for the role, for any image.
        pulled_from = after(server, before_pulling)
        offered = RegistryArgs(name=part.name, id=registry_id, server=pulled_from, workload_images=images, pull_role=pull_role)
        if part.existing:
            offered["existing_id"] = part.existing.text
            if part.existing.subscription.lower() != self._spec.context.subscription_id.lower():
                offered["subscription_id"] = part.existing.subscription
        self.dependencies["registry"] = offered
        return registry_id, server

    def _new_registry(self, part: Part) -> containerregistry.Registry:
        key = self.dependencies.get("customer_managed_key")
        registry = containerregistry.Registry(
            f"{self._name}-registry",
            registry_name=part.name,
            **self._surroundings.common,
            # The cheapest one that can be private, or have a key.
            sku=containerregistry.SkuArgs(
                name=containerregistry.SkuName.PREMIUM if self._spec.registry_is_premium else containerregistry.SkuName.BASIC
            ),
            identity=containerregistry.IdentityPropertiesArgs(
                type=containerregistry.ResourceIdentityType.USER_ASSIGNED,
                user_assigned_identities=pulumi.Output.from_input(key["identity_id"]).apply(
                    lambda of_key: {of_key: containerregistry.UserIdentityPropertiesArgs()}
                ),
            )
            if key
            else None,
            encryption=containerregistry.EncryptionPropertyArgs(
                status=containerregistry.EncryptionStatus.ENABLED,
                key_vault_properties=containerregistry.KeyVaultPropertiesArgs(
                    identity=self.identity_client_id, key_identifier=key["uri"]
                ),
            )
            if key
            else None,
            public_network_access=containerregistry.PublicNetworkAccess.DISABLED if self._spec.network else None,
            # Images leave it by its private endpoint alone, not by `az acr import`.
            policies=containerregistry.PoliciesArgs(
                export_policy=containerregistry.ExportPolicyArgs(status=containerregistry.ExportPolicyStatus.DISABLED)
            )
            if self._spec.network
            else None,
            admin_user_enabled=False,  # a shared password; the identity pulls instead
            opts=pulumi.ResourceOptions.merge(self._with("registry"), self._encrypted("encryption")),
        )
        brakes.lock(self._spec.context, f"{self._name}-registry", registry.id, self)
        return registry

    def _purge(self, registry: containerregistry.Registry) -> None:
        containerregistry.Task(
            f"{self._name}-purge",
            task_name=self._spec.context.name(azure_types.TASK.arm_type, "purge"),
            registry_name=registry.name,
            **self._surroundings.common,
            platform=containerregistry.PlatformPropertiesArgs(os=containerregistry.OS.LINUX),
            step=purge.step(self._found.image_tags),
            trigger=containerregistry.TriggerPropertiesArgs(
                timer_triggers=[containerregistry.TimerTriggerArgs(name="weekly", schedule=purge.SCHEDULE)]
            ),
            opts=pulumi.ResourceOptions(parent=self, deleted_with=registry),
        )

    def _images(
        self, registry: containerregistry.Registry, before_pulling: list[pulumi.Resource]
    ) -> dict[str, pulumi.Input[str]]:
        """Builds the images. A reference is known before its image is built; its users wait for image and role."""
        images: dict[str, pulumi.Input[str]] = {}
        built = {each: self._build(each, registry) for each in self._spec.workloads}
        for workload, (build, image) in built.items():
            images[workload] = pulumi.Output.concat(after(registry.login_server, [build, *before_pulling]), "/", image)
        return images

    def _assigned(
        self, end: str, scope: pulumi.Output[str] | None, opts: pulumi.ResourceOptions | None = None
    ) -> list[pulumi.Resource]:
        """Assigns a role of the spec on a part, whose id is `scope`, unless an administrator assigns roles, or it is assigned
        already."""
        rows = self._spec.assignments(self._found.pull_role) if self._spec.assign_roles else ()
        row = next((each for each in rows if each.end == end), None)
        if row is None or scope is None:
            return []
        serves = row.who is self._spec.serving_identity
        if end in self._found.assigned:
            has = f"{'serving identity' if serves else 'identity'} already has the role {roles.NAMES[row.role]}"
            if isinstance(row.who, Part):
                pulumi.log.info(f"the {has} on {row.part.name}, assigned outside of this stack", self)
            return []
        own = self.serving_identity_principal_id if serves else self.identity_principal_id
        principal_id, kind = row.who if isinstance(row.who, Principal) else (cast("pulumi.Output[str]", own), SERVICE_PRINCIPAL)
        assignment = role_of_identity.assign(
            f"{self._name}-{end}",
            role=row.role,
            scope=scope,
            principal_id=principal_id,
            kind=kind,
            subscription_id=row.part.existing.subscription if row.part.existing else self._spec.context.subscription_id,
            opts=opts or self._child,
        )
        return [assignment]

    def _build(self, workload: Workload, registry: containerregistry.Registry) -> tuple[resources.Deployment, str]:
        """Declares the registry's build of one workload; returns it with repository and tag. It runs again when the sources
        change."""
        tag = self._found.image_tags[workload]
        run, made_at = self._spec.context.name(azure_types.TASK_RUN.arm_type, workload), registry.creation_date
        builds_before: pulumi.ResourceHookBinding | None = None
        if self._spec.uploads:
            template = builds.mark(f"{workload}:{tag}", made_at)
            builds_before = builds.hooks(self, workload, tag, registry)
        else:
            template = builds.template(
                workload,
                tag=tag,
                source=self._spec.image_source,
                name=run,
                registry=registry.name,
                made_at=made_at,
                location=self._location(),
            )
        build = resources.Deployment(
            f"{self._name}-build-{workload}",
            deployment_name=run,
            resource_group_name=self.resource_group_name,
            properties=resources.DeploymentPropertiesArgs(mode=resources.DeploymentMode.INCREMENTAL, template=template),
            opts=pulumi.ResourceOptions.merge(
                pulumi.ResourceOptions.merge(self._child, pulumi.ResourceOptions(hooks=self._again)),
                pulumi.ResourceOptions(hooks=builds_before),
            ),
        )
        return build, f"{workload}:{tag}"

    def _log_workspace(self, part: Part | None) -> pulumi.Output[str] | None:
        """Returns the ARM id. Adds the workspace to the dependencies."""
        if part is None:
            return None
        found, scope = self._found.log_workspace, self._spec.link_scope
        if found:
            workspace_id = pulumi.Output.from_input(found.id)
        else:
            public = operationalinsights.PublicNetworkAccessType.DISABLED if scope else None
            workspace = operationalinsights.Workspace(
                f"{self._name}-logs",
                workspace_name=part.name,
                **self._surroundings.common,
                sku=operationalinsights.WorkspaceSkuArgs(name=operationalinsights.WorkspaceSkuNameEnum.PER_GB2018),
                retention_in_days=LOG_RETENTION_DAYS,
                features=operationalinsights.WorkspaceFeaturesArgs(disable_local_auth=True),  # nothing sends logs by a key
                public_network_access_for_ingestion=public,
                public_network_access_for_query=public,
                opts=self._with("log_workspace", "features", "features.disableLocalAuth"),
            )
            workspace_id = workspace.id
            brakes.lock(self._spec.context, f"{self._name}-logs", workspace_id, self)
        self.dependencies["logs"] = LogsArgs(workspace_arm_id=workspace_id)
        # pyrefly: ignore[bad-specialization, missing-attribute]
        if written(self._args.get("log_workspace", {})).get("diagnostics") == "policy":
            self.dependencies["logs"]["settings_by_policy"] = True
        if scope is not None:
            at, of = replace(self._surroundings, hooks=self._again), self.dependencies["private_network"]
            context, asked_by = self._spec.context, self._asked_by
            group = self._spec.resource_group.name
            linked = private_link_scope.declare(scope, workspace_id, at, of, asked_by, context, group)
            self.dependencies["logs"]["private_link_scope"] = linked
        return workspace_id

    def _storage(self, part: Part | None) -> pulumi.Output[str] | None:
        """Returns the ARM id. Adds the account to the dependencies; its users wait for the identity's role on it, and nothing of
        the stack for those of people and programs."""
        if part is None:
            return None
        storage_id = pulumi.Output.from_input(part.existing.text) if part.existing else self._new_storage(part)
        before: list[pulumi.Resource] = []
        if part.existing is None:
            before = self._private("storage", storage_id, {"blob": BLOB_ZONE, "file": FILE_ZONE})
        before += self._assigned("blob-role", storage_id)
        for each in self._spec.assignments():
            if isinstance(each.who, Principal):
                self._assigned(each.end, storage_id)
        self.dependencies["storage"] = StorageArgs(name=part.name, id=after(storage_id, before), is_own=part.existing is None)
        if part.existing is None:
            self.dependencies["storage"]["resource_group_name"] = self.resource_group_name
        return storage_id

    def _key_of_storage(self) -> dict[str, Any]:
        """The account follows the key to later versions, and a later key."""
        key, of_key, found = self.dependencies.get("customer_managed_key"), self._spec.key, self._found.key
        if key is None or of_key is None or found is None:
            return {}
        return {
            "encryption_identity": storage.EncryptionIdentityArgs(encryption_user_assigned_identity=key["identity_id"]),
            "key_vault_properties": storage.KeyVaultPropertiesArgs(
                key_name=of_key.name, key_vault_uri=pulumi.Output.from_input(key["uri"]).apply(lambda _: found.vault_uri)
            ),
        }

    def _new_storage(self, part: Part) -> pulumi.Output[str]:
        key = self.dependencies.get("customer_managed_key")
        account = storage.StorageAccount(
            f"{self._name}-storage",
            account_name=part.name,
            **self._surroundings.common,
            kind=storage.Kind.STORAGE_V2,
            sku=storage.SkuArgs(name=storage.SkuName.STANDARD_LRS),  # the cheapest
            allow_shared_key_access=False,  # a key gives full access; identities are used instead
            allow_blob_public_access=False,  # prevents public containers
            public_network_access=storage.PublicNetworkAccess.DISABLED if self._spec.network else None,
            minimum_tls_version=storage.MinimumTlsVersion.TLS1_2,  # older versions are broken
            enable_https_traffic_only=True,  # Azure's default, made explicit
            **self._guarded(),
            identity=storage.IdentityArgs(type=storage.IdentityType.USER_ASSIGNED, user_assigned_identities=[key["identity_id"]])
            if key
            else None,
            # A second layer, which costs nothing and only a new account can get. Source: Microsoft Learn,
            # storage/common/infrastructure-encryption-enable.
            encryption=storage.EncryptionArgs(
                key_source=storage.KeySource.MICROSOFT_KEYVAULT if key else storage.KeySource.MICROSOFT_STORAGE,
                require_infrastructure_encryption=True,
                **self._key_of_storage(),
            ),
            opts=pulumi.ResourceOptions.merge(
                self._with("storage", *([] if key else ["encryption"]), "encryption.requireInfrastructureEncryption"),
                self._encrypted(),
            ),
        )
        self._blob_service(account)
        brakes.lock(self._spec.context, f"{self._name}-storage", account.id, self)
        return account.id

    def _guarded(self) -> dict[str, Any]:
        """Returns what guardrails of a landing zone ask of a private account and what costs nothing: the rows of
        Enforce-GR-Storage in `catalog/policies.csv`. Azure Machine Learning needs the exception for Azure's services.
        Source: Microsoft Learn, machine-learning/how-to-secure-workspace-vnet."""
        if self._spec.network is None:
            return {}
        return {
            "network_rule_set": storage.NetworkRuleSetArgs(
                bypass=storage.Bypass.AZURE_SERVICES, default_action=storage.DefaultAction.DENY
            ),
            "allowed_copy_scope": storage.AllowedCopyScope.AAD,
            "allow_cross_tenant_replication": False,
            "is_local_user_enabled": False,
        }

    def _blob_service(self, account: storage.StorageAccount) -> None:
        """Declared in both cases: a protected resource can be changed, but not removed."""
        keeps = self._spec.context.protect_data
        kept, kept_whole = (
            storage.DeleteRetentionPolicyArgs(enabled=each, days=BLOB_RETENTION_DAYS if each else None)
            for each in (keeps, keeps or self._spec.network is not None)
        )
        storage.BlobServiceProperties(
            f"{self._name}-blob-service",
            blob_services_name="default",  # the only name there is
            account_name=account.name,
            resource_group_name=self.resource_group_name,
            is_versioning_enabled=keeps,  # an overwritten blob stays as an older version
            delete_retention_policy=kept,
            container_delete_retention_policy=kept_whole,
            # Pulumi deletes it by writing defaults, which a guardrail denies; it goes with a private account.
            opts=pulumi.ResourceOptions(
                parent=self, protect=self._spec.context.protect, deleted_with=account if self._spec.network else None
            ),
        )


def role_commands(spec: FoundationSpec, pull_role: str) -> list[str]:
    """Returns the commands in place of the role assignments, complete before anything exists. `pull_role`: for the registry."""

    def of(who: Part | Principal) -> Principal:
        if isinstance(who, Principal):
            return who
        identity = spec.id_of(azure_types.USER_ASSIGNED_IDENTITY, who)
        return Principal(role_command.principal_of(identity), SERVICE_PRINCIPAL)

    required = [(each, of(each.who)) for each in spec.assignments(pull_role)]
    return [
        role_command.command(each.role, scope=each.scope, principal_id=who.object_id, kind=who.kind) for each, who in required
    ]
