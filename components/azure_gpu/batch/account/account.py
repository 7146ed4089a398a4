"""A Batch account for GPU and RDMA pools, with applications whose packages are installed on their nodes.

It is created with the stack's storage account and without shared keys, or an existing one is used, which is looked up and never
changed. The account and its nodes access the storage as the stack's identity. Not included: accounts in user subscription mode,
and packages, which a program can't declare completely: upload them with `az batch application package create`.
"""

from __future__ import annotations

from typing import Any, Unpack, cast, overload

import pulumi
from pulumi_azure_native import batch

from azure_gpu.batch.account.args import AccountFacts, AccountOfPool, BatchAccountArgs, BatchAccountWiring, BatchDependencies
from azure_gpu.batch.account.existing import look_up
from azure_gpu.batch.account.spec import PATH, BatchAccountSpec, missing_dependencies, resolve
from azure_gpu.catalog.problems import Problem
from azure_gpu.catalog.refusals import refused
from azure_gpu.formats import azure_types
from azure_gpu.formats.arm_ids import ArmId
from azure_gpu.foundation import common
from azure_gpu.shared import brakes, log_settings, overrides, private_network, retry_hooks
from azure_gpu.shared.component import Component, OnlyInPython
from azure_gpu.shared.context import Context, StorageArgs, declared, dependencies_of
from azure_gpu.shared.look_up import AskedBy
from azure_gpu.shared.program import Around
from azure_gpu.shared.wired import Wired

# Audit events, and events of pools, jobs and tasks. Source: Microsoft Learn, azure-monitor/reference/supported-logs,
# Microsoft.Batch/batchAccounts; its third category, ServiceLogs, is marked as deprecated there.
LOG_CATEGORIES = ("AuditLog", "ServiceLog")
# Source: hashicorp/terraform-provider-azurerm, batch_account_resource.go, which replaces the account when one of them changes.
REPLACING = ["location", "poolAllocationMode"]

_Spec = tuple[BatchAccountSpec, AccountFacts]


class BatchAccount(Component[BatchAccountArgs, BatchAccountWiring, _Spec]):
    """A Batch account. Raises `Refused` for invalid arguments."""

    account_id: pulumi.Output[str]
    """ARM id of the account."""
    account_name: pulumi.Output[str]
    """Its name in Azure."""
    dependencies: OnlyInPython[BatchDependencies]
    """The same as arguments of its pools."""
    around: OnlyInPython[Around]
    """Context and dependencies for its pools in a program."""

    @overload
    def __init__(
        self, name: str, args: BatchAccountArgs | Wired[BatchAccountWiring, _Spec], opts: pulumi.ResourceOptions | None = None
    ) -> None: ...

    @overload
    def __init__(self, name: str, *, opts: pulumi.ResourceOptions | None = None, **kw: Unpack[BatchAccountArgs]) -> None: ...

    def __init__(self, *args: Any, **kw: Any) -> None:
        super().__init__(*args, **kw)

    _wire = staticmethod(common.wire)

    def _resolve(self, args: BatchAccountWiring, context: Context) -> tuple[_Spec, list[Problem]]:
        spec, problems = resolve(args, context)
        if spec.existing is None:
            problems += missing_dependencies(spec, identity="identity_id" in args, storage="storage" in args)
            problems += _other_identity(args, context)
        return (spec, spec.assumed), problems

    def _look_up(self, spec: _Spec, asked_by: AskedBy) -> tuple[_Spec, list[Problem]]:
        account, _ = spec
        facts, problems = look_up(account, asked_by)
        return (account, facts), problems

    def _declare(self, spec: _Spec) -> None:
        account, facts = spec
        of_pool = self._existing(account, facts) if account.existing else self._created(account, facts)
        self.dependencies = BatchDependencies(account=of_pool)
        self.account_name = pulumi.Output.from_input(of_pool["name"])
        self.around = Around(context=account.context, dependencies=dependencies_of(self._args))

    def _existing(self, spec: BatchAccountSpec, facts: AccountFacts) -> AccountOfPool:
        found = cast(ArmId, spec.existing)
        self.account_id = pulumi.Output.from_input(found.text)
        provider = self._asked_by.provider_at(found, spec.context.subscription_id)
        return AccountOfPool(name=spec.name, resource_group_name=found.resource_group, facts=facts, provider=provider)

    def _created(self, spec: BatchAccountSpec, facts: AccountFacts) -> AccountOfPool:
        group = self._args["resource_group_name"]
        account = self._account(spec, self._args)
        log_settings.declare(self._name, account.id, self._args.get("logs"), LOG_CATEGORIES, self._child)
        applications = self._applications(spec, account, group)
        self.account_id = account.id
        endpoints = self._private_endpoints(spec, account)
        # A pool waits for the applications, whose packages it may use, and for the addresses that its nodes use.
        ready = pulumi.Output.all(account.name, *(each.urn for each in [*applications, *endpoints])).apply(
            lambda values: values[0]
        )
        return AccountOfPool(name=ready, resource_group_name=group, facts=facts, id=account.id)

    def _account(self, spec: BatchAccountSpec, args: BatchAccountWiring) -> batch.BatchAccount:
        identity, key = args.get("identity_id", ""), args.get("customer_managed_key")
        return batch.BatchAccount(
            f"{self._name}-account",
            account_name=spec.name,
            resource_group_name=args["resource_group_name"],
            location=declared(spec.location, args.get("location")),
            pool_allocation_mode=batch.PoolAllocationMode.BATCH_SERVICE,
            # No shared keys, which give access to all jobs. A task can still authenticate itself while it runs.
            allowed_authentication_modes=[
                batch.AuthenticationMode.AAD,
                batch.AuthenticationMode.TASK_AUTHENTICATION_TOKEN,
            ],
            auto_storage=batch.AutoStorageBasePropertiesArgs(
                storage_account_id=cast(StorageArgs, args.get("storage"))["id"],
                authentication_mode=batch.AutoStorageAuthenticationMode.BATCH_ACCOUNT_MANAGED_IDENTITY,
                node_identity_reference=batch.ComputeNodeIdentityReferenceArgs(resource_id=identity),
            ),
            identity=batch.BatchAccountIdentityArgs(
                type=batch.ResourceIdentityType.USER_ASSIGNED, user_assigned_identities=[identity]
            ),
            # Only a new account gets one: MicrosoftDocs/azure-docs, articles/batch/batch-customer-managed-key.md (2020-06-02).
            # Without a version it follows the key: hashicorp/terraform-provider-azurerm pull request 21677 (2023-05-09).
            encryption=batch.EncryptionPropertiesArgs(
                key_source=batch.KeySource.MICROSOFT_KEY_VAULT,
                key_vault_properties=batch.KeyVaultPropertiesArgs(key_identifier=key["uri"]),
            )
            if key
            else None,
            # For submitting jobs; the default, made explicit.
            public_network_access=batch.PublicNetworkAccessType.DISABLED
            if "private_endpoint" in args
            else batch.PublicNetworkAccessType.ENABLED,
            tags=spec.context.tags(),
            # Its name is fixed, so the old one must be deleted before its replacement is created.
            opts=pulumi.ResourceOptions(
                parent=self,
                protect=brakes.protect(
                    spec.context, azure_types.BATCH_ACCOUNT, f"{self._name}-account", spec.name, spec.location
                ),
                replace_on_changes=[*REPLACING, *(["encryption"] if key else [])],
                delete_before_replace=True,
                transformations=overrides.applied(args.get("overrides"), self),
                hooks=retry_hooks.hooks(self),
            ),
        )

    def _private_endpoints(self, spec: BatchAccountSpec, account: batch.BatchAccount) -> list[pulumi.CustomResource]:
        """Declares the endpoints of people and of nodes. Source: Microsoft Learn, batch/private-connectivity, read 2026-11-29."""
        settings = self._args.get("private_endpoint")
        if settings is None:
            return []
        at = private_network.Surroundings(
            name=self._name,
            resource_group_name=self._args["resource_group_name"],
            location=declared(spec.location, self._args.get("location")),
            tags=spec.context.tags(),
            parent=self,
        )
        found: list[pulumi.CustomResource] = []
        nodes = private_network.of_nodes(settings, self._args.get("private_network"))
        for group, suffix, of in (("batchAccount", "account", settings), ("nodeManagement", "nodes", nodes)):
            name = spec.context.name(azure_types.PRIVATE_ENDPOINT.arm_type, f"{self._name}-{suffix}")
            target = private_network.Target(id=account.id, group=group, connection=suffix)
            found += private_network.endpoint(f"{self._name}-{suffix}", name, target, of, at)
        return found

    def _applications(
        self, spec: BatchAccountSpec, account: batch.BatchAccount, resource_group_name: pulumi.Input[str]
    ) -> list[batch.Application]:
        # Azure can't delete an application with packages, which the stack doesn't manage; the account's deletion includes all.
        opts = pulumi.ResourceOptions(parent=self, deleted_with=account)
        return [
            batch.Application(
                f"{self._name}-application-{name}",
                application_name=name,
                account_name=account.name,
                resource_group_name=resource_group_name,
                display_name=settings.get("display_name", name),
                default_version=settings.get("default_version"),
                allow_updates=False,  # versions are immutable
                opts=opts,
            )
            for name, settings in spec.applications.items()
        ]


def _other_identity(args: BatchAccountWiring, context: Context) -> list[Problem]:
    """Rejects another identity than the one that may use the key of the foundation: an account has one for everything."""
    key = args.get("customer_managed_key")
    if key is None or "identity_id" not in args or args["identity_id"] is key["identity_id"]:
        return []
    return [refused("account.other_identity", f"{context.path(PATH)}.identity_id")]
